//! Looking things up for a request: ids from texts, filters from queries, pages from cursors.

pub(crate) mod child;
pub(crate) mod list;
pub(crate) mod tallies;
pub(crate) mod versions;

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use towpath::core::schedule::StoredSchedule;
use towpath::core::store::{
    AuditLine, GraphFilter, GraphStanding, JobDetail, JobFilter, JobLine, JobShape, Page, QueueLine, Showing, Shown,
    Tombstone, WorkerLine,
};
use towpath::core::{GraphName, Incarnation, RunId, State};
use towpath::{Client, GraphEnd, GraphId, JobId, Kind, Queue, Timestamp};

use crate::problem::{Code, Problem};
use crate::shape::instant;

/// Lines of a list, if not asked otherwise, and at most.
pub(crate) const LIMIT: u32 = 50;
pub(crate) const LIMIT_MAX: u32 = 500;

/// Which part of a list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PageQuery {
    pub(crate) after: String,
    pub(crate) limit: String,
}

impl PageQuery {
    pub(crate) fn page(&self) -> Result<Page, Problem> {
        Ok(Page { after: self.after()?, limit: self.limit()? })
    }

    /// The key after which to go on.
    pub(crate) fn after(&self) -> Result<Option<i64>, Problem> {
        if self.after.is_empty() {
            return Ok(None);
        }
        let key = self.after.parse().map_err(|_| {
            Problem::invalid(format!("after: {:?} is no cursor", self.after)).help("pass on `next` as it came")
        })?;
        Ok(Some(key))
    }

    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        if self.limit.is_empty() {
            return Ok(LIMIT);
        }
        self.limit
            .parse()
            .ok()
            .filter(|limit| (1..=LIMIT_MAX).contains(limit))
            .ok_or_else(|| Problem::invalid(format!("limit: {:?} is no number from 1 to {LIMIT_MAX}", self.limit)))
    }
}

/// Which part of the audit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuditQuery {
    /// What it was done to; empty for all.
    pub(crate) target: String,
    pub(crate) after: String,
    pub(crate) limit: String,
}

impl AuditQuery {
    pub(crate) fn page(&self) -> Result<Page, Problem> {
        PageQuery { after: self.after.clone(), limit: self.limit.clone() }.page()
    }
}

/// What operators have done, newest first.
pub(crate) async fn audit(client: &Client, query: &AuditQuery) -> Result<Vec<AuditLine>, Problem> {
    let (target, page) = (&query.target, query.page()?);
    if target.chars().any(char::is_control) {
        return Err(Problem::invalid(format!(
            "target: {target:?} holds a control character, and nothing is called so"
        )));
    }
    let inspect = client.inspect();
    Ok(if target.is_empty() { inspect.audit(page).await? } else { inspect.audit_of(target.clone(), page).await? })
}

/// Which part of a list that goes by names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NamedQuery {
    pub(crate) after: String,
    pub(crate) limit: String,
}

impl NamedQuery {
    /// The name after which to go on.
    pub(crate) fn name<N, E: std::fmt::Display>(
        &self,
        parse: impl FnOnce(&str) -> Result<N, E>,
    ) -> Result<Option<N>, Problem> {
        (!self.after.is_empty()).then(|| parse(&self.after)).transpose().map_err(in_field("after"))
    }

    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        PageQuery { after: String::new(), limit: self.limit.clone() }.limit()
    }
}

/// Which jobs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobQuery {
    pub(crate) state: String,
    pub(crate) queue: String,
    pub(crate) kind: String,
    pub(crate) graph: String,
    /// One, or several with commas.
    pub(crate) tag: String,
    /// Not said by a query: a page is of jobs or of runs.
    #[serde(skip)]
    pub(crate) shape: JobShape,
}

impl JobQuery {
    /// The filters that together are what is asked: both kinds of skipped read the same, so that word is two.
    pub(crate) fn filters(&self) -> Result<Vec<JobFilter>, Problem> {
        let states = states(&self.state)?;
        let base = JobFilter {
            state: None,
            queue: (!self.queue.is_empty()).then(|| Queue::new(&self.queue)).transpose().map_err(in_field("queue"))?,
            kind: (!self.kind.is_empty()).then(|| Kind::new(&self.kind)).transpose().map_err(in_field("kind"))?,
            graph: (!self.graph.is_empty())
                .then(|| self.graph.parse::<GraphId>())
                .transpose()
                .map_err(in_field("graph"))?,
            shape: self.shape,
            tags: self.tag.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect(),
            above: None,
        };
        Ok(states.into_iter().map(|state| JobFilter { state, ..base.clone() }).collect())
    }
}

fn in_field<E: std::fmt::Display>(field: &'static str) -> impl Fn(E) -> Problem {
    move |problem| Problem::invalid(format!("{field}: {problem}"))
}

/// The words of states that a filter takes.
pub(crate) const STATE_WORDS: [&str; 9] =
    ["waiting", "ready", "blocked", "running", "succeeded", "dead", "quarantined", "cancelled", "skipped"];

/// The states of a word; of none, all.
fn states(word: &str) -> Result<Vec<Option<State>>, Problem> {
    if word.is_empty() {
        return Ok(vec![None]);
    }
    let of_word: Vec<Option<State>> = State::ALL.into_iter().filter(|state| state.word() == word).map(Some).collect();
    if of_word.is_empty() {
        let known = STATE_WORDS.join(", ");
        return Err(Problem::invalid(format!("state: {word:?} is no state")).help(format!("one of {known}")));
    }
    Ok(of_word)
}

/// Which graphs; what is empty says nothing.
pub(crate) fn graph_filter(name: &str, state: &str) -> Result<GraphFilter, Problem> {
    let name = (!name.is_empty()).then(|| GraphName::new(name)).transpose().map_err(in_field("name"))?;
    Ok(GraphFilter { name, standing: standing(state)? })
}

fn standing(word: &str) -> Result<GraphStanding, Problem> {
    Ok(match word {
        "" => GraphStanding::Any,
        "open" => GraphStanding::Open,
        "succeeded" => GraphStanding::Ended(GraphEnd::Succeeded),
        "failed" => GraphStanding::Ended(GraphEnd::Failed),
        "cancelled" => GraphStanding::Ended(GraphEnd::Cancelled),
        other => {
            return Err(Problem::invalid(format!("state: {other:?} is no state of a graph"))
                .help("one of open, succeeded, failed, cancelled"));
        }
    })
}

pub(crate) fn graph_id(text: &str) -> Result<GraphId, Problem> {
    text.parse().map_err(|_| Problem::not_found("graph", text))
}

/// A job by its id, with everything about it.
pub(crate) async fn job(client: &Client, text: &str) -> Result<JobDetail, Problem> {
    let unknown = || Problem::not_found("job", text);
    let id: JobId = text.parse().map_err(|_| unknown())?;
    client.inspect().job(id).await?.ok_or_else(unknown)
}

/// A run by its own id, or by that of its job.
pub(crate) async fn run(client: &Client, text: &str) -> Result<JobDetail, Problem> {
    let unknown = || Problem::not_found("run", text);
    let id = RunId::new(text).ok();
    let found = match &id {
        Some(id) => client.inspect().run(id.clone()).await?,
        None => None,
    };
    let job = found.or_else(|| text.parse().ok()).ok_or_else(unknown)?;
    if let Some(detail) = client.inspect().job(job).await?.filter(|detail| detail.run.is_some()) {
        return Ok(detail);
    }
    let left = match id {
        Some(id) => client.inspect().tombstone(id).await?,
        None => None,
    };
    Err(left.map_or_else(unknown, |left| pruned(&left)))
}

/// What is told of a run whose id alone is left.
fn pruned(left: &Tombstone) -> Problem {
    let (state, at) = (State::Ended(left.end), instant(left.ended_at).unwrap_or_default());
    Problem::new(Code::NotFound, format!("the run {} was {state} at {at} and has been pruned", left.run)).help(format!(
        "its id stays taken until {}; a start that replaces what has ended begins anew",
        instant(left.until).unwrap_or_default()
    ))
}

/// A schedule by its name, and the store's clock.
pub(crate) async fn schedule(client: &Client, name: &str) -> Result<(StoredSchedule, Timestamp), Problem> {
    let unknown = || Problem::new(Code::NotFound, format!("there is no schedule {name}")).help("they are in the list");
    let row = client.schedules().get(name).await.map_err(|_| unknown())?.ok_or_else(unknown)?;
    Ok((row, client.store().schedules(None, 1).await?.now))
}

/// The workers, and which of them live.
pub(crate) struct Workers {
    pub(crate) lines: Vec<WorkerLine>,
    gone: Vec<Incarnation>,
    pub(crate) now: Timestamp,
}

impl Workers {
    pub(crate) async fn look(client: &Client) -> Result<Self, Problem> {
        let lines = client.inspect().workers().await?;
        // Leases are on the store's clock, and every verb says what that reads; this one changes nothing. A store that
        // may only be read does not carry it out.
        let now = client.store().signal(Vec::new()).await.map_or_else(|_| here_and_now(), |answer| answer.now);
        Ok(Self { lines, gone: client.workers_gone().await?, now })
    }

    /// Whether a worker's lease has not ended, and its process is not known to be gone.
    pub(crate) fn lives(&self, worker: &WorkerLine) -> bool {
        worker.lease_until > self.now && !self.gone.contains(&worker.worker)
    }

    /// How many living workers serve a queue.
    pub(crate) fn of_queue(&self, queue: &str) -> usize {
        self.living_of(queue).count()
    }

    /// The queues that living workers serve, each as often as that.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &str> {
        let living = self.lines.iter().filter(|worker| self.lives(worker));
        living.flat_map(|worker| worker.queues.iter().map(String::as_str))
    }

    /// The kinds that living workers serve, by name.
    pub(crate) fn kinds(&self) -> BTreeSet<&Kind> {
        let living = self.lines.iter().filter(|worker| self.lives(worker));
        living.flat_map(|worker| worker.kinds.keys()).filter(|kind| !kind.is_reserved()).collect()
    }

    fn living_of<'a>(&'a self, queue: &'a str) -> impl Iterator<Item = &'a WorkerLine> {
        self.lines.iter().filter(move |worker| self.lives(worker) && worker.queues.iter().any(|q| q == queue))
    }

    /// Whether a job could be claimed now, and no living worker takes it.
    pub(crate) fn miss(&self, line: &JobLine) -> bool {
        line.is_claimable(self.now) && !self.serve(line)
    }

    /// Whether a living worker takes such a job. One that does not say what it serves is taken to serve all.
    fn serve(&self, line: &JobLine) -> bool {
        self.living_of(line.queue.as_str()).any(|worker| {
            worker.kinds.is_empty() || worker.kinds.get(&line.kind).is_some_and(|taken| taken.has(line.version))
        })
    }
}

/// Up to how many ready jobs of a kind are counted, for people to whom more is just many.
const COUNTED: u32 = 10_000;

/// Queues with live work, those that are paused, and those that living workers serve, by name.
pub(crate) async fn queues(client: &Client, workers: &Workers) -> Result<Vec<QueueLine>, Problem> {
    let mut lines = client.inspect().queues(COUNTED).await?;
    let known: BTreeSet<String> = lines.iter().map(|line| line.queue.to_string()).collect();
    let served = workers.queues().filter(|queue| !known.contains(*queue)).filter_map(|queue| Queue::new(queue).ok());
    lines.extend(served.collect::<BTreeSet<_>>().into_iter().map(idle));
    lines.sort_by(|a, b| a.queue.cmp(&b.queue));
    Ok(lines)
}

/// A queue in which nothing stands.
pub(crate) fn idle(queue: Queue) -> QueueLine {
    QueueLine { queue, ready: 0, later: 0, running: 0, blocked: 0, paused: None }
}

/// What the clock here says.
pub(crate) fn here_and_now() -> Timestamp {
    Timestamp::ZERO + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What a job has published last, if it is a run that has.
pub(crate) async fn published(client: &Client, detail: &JobDetail) -> Result<Option<Shown>, Problem> {
    match &detail.run {
        Some(run) => Ok(client.store().shown(run.id.clone(), Showing::PUBLISHED.into()).await?),
        None => Ok(None),
    }
}
