//! `towpath jobs`: a list.

use clap::{Args, ValueEnum};
use towpath::core::SkipKind;
use towpath::core::State;
use towpath::core::store::{JobFilter, JobLine, JobShape, Page};
use towpath::{Client, End, GraphId, Kind, Queue};

use super::{ViewArgs, json, tell_of_more};
use crate::error::CliError;
use crate::served::Served;
use crate::table::Table;
use crate::{exit, say, words};

/// List jobs, newest first
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// Only those in this state.
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
    /// Only runs.
    #[arg(long)]
    runs: bool,
    /// Most lines, 1 to 1000.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StateWord {
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

impl Jobs {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let jobs = self.list(&client).await?;
        let served = Served::look(&client).await?;
        if self.view.json {
            say::json(&jobs.iter().map(|line| json::job_line(line, &served)).collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["job", "kind", "queue", "state", "attempts", "node", "enqueued"]);
        for line in &jobs {
            table.row(vec![
                line.id.to_string(),
                line.kind.to_string(),
                words::short(line.queue.as_str()),
                if served.lack_of(line).is_some() {
                    format!("{}, unserved", line.state)
                } else {
                    line.state.to_string()
                },
                line.counters.attempt.to_string(),
                line.node.as_ref().map_or_else(|| "-".into(), |n| n.name.to_string()),
                words::instant(line.enqueued_at),
            ]);
        }
        table.print_or("no jobs");
        tell_of_more(jobs.len(), self.limit);
        served.tell(&jobs, &location.option());
        Ok(exit::SUCCEEDED)
    }

    async fn list(&self, client: &Client) -> Result<Vec<JobLine>, CliError> {
        let page = Page { after: None, limit: self.limit };
        let shape = if self.runs { JobShape::Run } else { JobShape::Any };
        let filter =
            |state| JobFilter { state, queue: self.queue.clone(), kind: self.kind.clone(), graph: self.graph, shape };
        let Some(word) = self.state else { return Ok(client.inspect().jobs(filter(None), page).await?) };
        let mut jobs = Vec::new();
        for state in word.states() {
            jobs.extend(client.inspect().jobs(filter(Some(state)), page).await?);
        }
        jobs.sort_by_key(|line| std::cmp::Reverse(line.key));
        jobs.truncate(self.limit as usize);
        Ok(jobs)
    }
}
