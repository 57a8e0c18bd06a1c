//! Who serves what: the workers that live, and ready work that none of them takes, with the remedy.

use std::collections::BTreeMap;

use towpath::core::Incarnation;
use towpath::core::State;
use towpath::core::store::{JobFilter, JobLine, Page, Versions, WorkerLine};
use towpath::{Client, Job as _, Kind, Queue, Timestamp};

use crate::error::CliError;
use crate::exec::Exec;
use crate::flow::flow_of;
use crate::{say, words};

/// The workers of a store at one moment.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) workers: Vec<WorkerLine>,
    /// Those whose process on this host is gone, whatever their lease says.
    gone: Vec<Incarnation>,
    pub(crate) now: Timestamp,
}

/// Why no living worker takes a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// None serves its queue.
    Queue,
    /// None that serves its queue has a handler for its kind.
    Kind,
    /// Those that have one take other versions, these of them.
    Version(Vec<Versions>),
}

impl Served {
    /// Looks at the workers.
    ///
    /// # Errors
    /// The store could not be asked.
    pub(crate) async fn look(client: &Client) -> Result<Self, CliError> {
        let workers = client.inspect().workers().await?;
        // Leases are on the store's clock, and every verb says what that reads; this one changes nothing. A store that
        // may only be read does not carry it out.
        let now = client.store().signal(Vec::new()).await.map_or_else(|_| words::here_and_now(), |answer| answer.now);
        Ok(Self { workers, gone: client.workers_gone().await?, now })
    }

    /// Whether a worker's lease has not ended, and its process is not known to be gone.
    pub(crate) fn lives(&self, worker: &WorkerLine) -> bool {
        worker.lease_until > self.now && !self.gone.contains(&worker.worker)
    }

    /// The living workers of a queue.
    pub(crate) fn of_queue<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = &'a WorkerLine> {
        self.workers.iter().filter(move |w| self.lives(w) && w.queues.iter().any(|q| q == queue.as_str()))
    }

    /// Why nobody takes such a job, if nobody does. A worker that does not say what it serves is taken to serve all.
    pub(crate) fn lack(&self, queue: &Queue, kind: &Kind, version: u16) -> Option<Lack> {
        let workers: Vec<&WorkerLine> = self.of_queue(queue).collect();
        if workers.is_empty() {
            return Some(Lack::Queue);
        }
        if workers.iter().any(|w| w.kinds.is_empty()) {
            return None;
        }
        let mut taken: Vec<Versions> = workers.iter().filter_map(|w| w.kinds.get(kind)).cloned().collect();
        if taken.iter().any(|versions| versions.has(version)) {
            return None;
        }
        taken.sort();
        taken.dedup();
        Some(if taken.is_empty() { Lack::Kind } else { Lack::Version(taken) })
    }

    /// Why nobody takes a job, if it could be claimed now.
    pub(crate) fn lack_of(&self, line: &JobLine) -> Option<Lack> {
        if line.is_claimable(self.now) { self.lack(&line.queue, &line.kind, line.version) } else { None }
    }

    /// Says what nobody takes, a line for each queue and kind, with the remedy.
    pub(crate) fn tell(&self, jobs: &[JobLine], store_option: &str) {
        let mut groups: BTreeMap<Unserved<'_>, (Lack, usize)> = BTreeMap::new();
        for line in jobs {
            if let Some(lack) = self.lack_of(line) {
                groups.entry((&line.queue, &line.kind, line.version)).or_insert((lack, 0)).1 += 1;
            }
        }
        if !groups.is_empty() {
            say::remark("");
        }
        for ((queue, kind, version), (lack, count)) in groups {
            let of = if matches!(lack, Lack::Version(_)) { format!(" v{version}") } else { String::new() };
            let what = if kind.as_str() == Exec::KIND { "ready command" } else { "ready node" };
            let jobs = format!("{} of kind {kind}{of}", words::count(count, "ready job", "ready jobs"));
            match flow_of(queue) {
                Some(graph) => say::remark(format_args!(
                    "nobody runs {}: carry on with `towpath resume{store_option} {graph}`",
                    words::count(count, what, &format!("{what}s"))
                )),
                None => say::remark(format_args!(
                    "{}: {jobs}; {}",
                    self.what(queue, kind, &lack),
                    self.remedy(queue, kind, &lack)
                )),
            }
        }
    }

    /// What is lacking, in words.
    pub(crate) fn what(&self, queue: &Queue, kind: &Kind, lack: &Lack) -> String {
        match lack {
            Lack::Queue => format!("no living worker serves the queue {queue}"),
            Lack::Kind => format!("no living worker of the queue {queue} has a handler for {kind}"),
            Lack::Version(taken) => {
                let taken: Vec<String> = taken.iter().map(Versions::to_string).collect();
                format!("the living workers take {kind} {}", taken.join(", or "))
            }
        }
    }

    /// What to do about it.
    pub(crate) fn remedy(&self, queue: &Queue, kind: &Kind, lack: &Lack) -> String {
        let able = self.workers.iter().find(|w| self.lives(w) && w.kinds.contains_key(kind));
        match (lack, able) {
            (Lack::Queue, Some(able)) => {
                format!("{} has a handler for {kind}: let it serve the queue, .queue(\"{queue}\", 20)", able.name)
            }
            (Lack::Queue, None) => {
                format!("start a worker with a handler for {kind} that serves the queue, .queue(\"{queue}\", 20)")
            }
            (Lack::Kind, _) => format!("register a handler for {kind} in a worker of the queue, or cancel them"),
            (Lack::Version(taken), _) if taken.iter().all(|versions| matches!(versions, Versions::UpTo(_))) => {
                "start a worker of the newer release".to_owned()
            }
            (Lack::Version(_), _) => "start a worker that has this version too, until its runs have ended".to_owned(),
        }
    }
}

/// Jobs that nobody takes for the same reason: queue, kind, version.
type Unserved<'a> = (&'a Queue, &'a Kind, u16);

/// The newest ready jobs: those among which to look for what nobody serves.
///
/// # Errors
/// The store could not be asked.
pub(crate) async fn ready(client: &Client) -> Result<Vec<JobLine>, CliError> {
    let filter = JobFilter { state: Some(State::Ready), ..JobFilter::default() };
    Ok(client.inspect().jobs(filter, Page { after: None, limit: 1_000 }).await?)
}
