//! Which jobs: the options that lists and bulks share, and what a bulk says.

use clap::{Args, ValueEnum};
use serde_json::json;
use towpath::core::store::{JobFilter, JobShape};
use towpath::core::{SkipKind, State};
use towpath::{BulkChange, Client, End, GraphId, Kind, Queue};

use crate::error::CliError;
use crate::{exit, say, words};

/// Which jobs. Everything that is given must hold.
#[derive(Clone, Debug, Args)]
pub(super) struct FilterArgs {
    /// Only those in this state. What is shown as scheduled, retrying, sleeping or parked is `ready`.
    #[arg(long, value_name = "STATE")]
    state: Option<StateWord>,
    /// Only those of this queue.
    #[arg(long, value_name = "NAME")]
    queue: Option<Queue>,
    /// Only those of this kind.
    #[arg(long, value_name = "NAME")]
    kind: Option<Kind>,
    /// Only those of this graph.
    #[arg(long, value_name = "GRAPH-ID")]
    graph: Option<GraphId>,
    /// Only those with this tag, a label or key=value; several must all be there.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only runs.
    #[arg(long)]
    runs: bool,
}

/// A bulk of what the filter finds.
#[derive(Clone, Debug, Args)]
pub(super) struct BulkArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only says how many jobs it would be.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StateWord {
    Waiting,
    Ready,
    Blocked,
    Running,
    Succeeded,
    Dead,
    Quarantined,
    Cancelled,
    Skipped,
}

impl StateWord {
    /// The states of this word: both kinds of skipped read the same.
    fn states(self) -> Vec<State> {
        let end = |end| vec![State::Ended(end)];
        match self {
            Self::Waiting => vec![State::Waiting],
            Self::Ready => vec![State::Ready],
            Self::Blocked => vec![State::Blocked],
            Self::Running => vec![State::Running],
            Self::Succeeded => end(End::Succeeded),
            Self::Dead => end(End::Dead),
            Self::Quarantined => end(End::Quarantined),
            Self::Cancelled => end(End::Cancelled),
            Self::Skipped => [SkipKind::Untaken, SkipKind::Upstream].map(|k| State::Ended(End::Skipped(k))).to_vec(),
        }
    }
}

impl FilterArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.of(self.states().first().copied()) == JobFilter::default()
    }

    /// The states of the word that was given; none if there was none.
    pub(super) fn states(&self) -> Vec<State> {
        self.state.map(StateWord::states).unwrap_or_default()
    }

    /// With one of the states.
    pub(super) fn of(&self, state: Option<State>) -> JobFilter {
        let shape = if self.runs { JobShape::Run } else { JobShape::Any };
        let (queue, kind, tags) = (self.queue.clone(), self.kind.clone(), self.tags.clone());
        JobFilter { state, queue, kind, graph: self.graph, shape, tags, above: None }
    }
}

impl BulkArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.filter.is_empty() && !self.dry_run
    }

    /// Refuses jobs by id and a filter at once, and neither of them.
    pub(super) fn check(&self, ids: usize) -> Result<(), CliError> {
        let help = "name jobs, or find them with --state, --queue, --kind, --graph and --tag";
        match (ids, self.is_empty()) {
            (0, true) => Err(CliError::usage("which jobs is not said".to_owned(), help)),
            (0, false) if self.filter.is_empty() => {
                Err(CliError::usage("--dry-run is of a filter, and there is none".to_owned(), help))
            }
            (0, false) | (_, true) => Ok(()),
            (_, false) => Err(CliError::usage("jobs are named and a filter is given too".to_owned(), help)),
        }
    }

    pub(super) async fn run(
        &self,
        client: &Client,
        change: &BulkChange,
        (actor, reason): (&str, &str),
        json: bool,
    ) -> Result<u8, CliError> {
        let states = self.filter.states();
        let states = if states.is_empty() { vec![None] } else { states.into_iter().map(Some).collect() };
        let (mut matched, mut changed) = (0, 0);
        for state in states {
            let bulk = client.bulk(self.filter.of(state));
            if self.dry_run {
                matched += bulk.count(change).await?;
            } else {
                let done = bulk.apply(change, actor, reason).await?;
                matched += done.matched;
                changed += done.changed;
            }
        }
        let verb = match change {
            BulkChange::Cancel => "cancelled or asked to stop",
            BulkChange::Edit(_) => "edited",
            _ => "requeued",
        };
        let jobs = words::count(usize::try_from(matched).unwrap_or(usize::MAX), "job", "jobs");
        if json {
            say::json(
                &json!({ "dry_run": self.dry_run, "matched": matched, "changed": changed, "left": matched - changed }),
            )?;
        } else if self.dry_run {
            say::line(format_args!("{jobs} would be {verb}, unless they move on"));
        } else {
            say::line(format_args!("{jobs}: {changed} {verb}, {} left as they are", matched - changed));
        }
        Ok(exit::SUCCEEDED)
    }
}
