//! How a run ends: all work is over as it was reported, every worker leaves, and no row is left.

use std::time::Duration;

use towpath_core::dispatch::{Command, Event};
use towpath_core::store::{JobFilter, Page, StoreResult};
use towpath_core::{End, GraphId, JobId, State, Store};

use super::super::watch;
use super::{Sabotage, Verdict, World, at_once};

impl World {
    fn open(&self, state: State) -> StoreResult<usize> {
        let filter = JobFilter { state: Some(state), ..JobFilter::default() };
        Ok(at_once(self.store.inspect().jobs(filter, Page { after: None, limit: 5 }))?.len())
    }

    pub(super) fn is_over(&self) -> bool {
        let states = [State::Running, State::Ready, State::Waiting, State::Blocked];
        states.iter().all(|state| self.open(*state).is_ok_and(|open| open == 0)) && self.graphs_open().is_empty()
    }

    fn graphs_open(&self) -> Vec<GraphId> {
        let is_open = |graph: &&GraphId| {
            let detail = at_once(self.store.inspect().graph(**graph));
            detail.is_ok_and(|detail| detail.is_some_and(|detail| detail.line.end.is_none()))
        };
        self.graphs.iter().filter(is_open).copied().collect()
    }

    pub(super) fn everything_has_ended(&mut self) -> Verdict {
        if let Some(graph) = self.graphs_open().first() {
            return Err(format!("{graph} has not ended by {:?}", self.now));
        }
        self.tally.jobs = self.jobs.len() as u64;
        let first = self.jobs.iter().find(|id| self.watch.failures_of(**id) > 0).copied();
        if let Some(id) = first.filter(|_| self.spoils(Sabotage::HideAFailure)) {
            self.watch.failures.remove(&id);
        }
        for id in &self.jobs {
            let job = at_once(self.store.inspect().job(*id)).map_err(|error| error.to_string())?;
            let Some(line) = job.map(|job| job.line) else { return Err(format!("{id} is lost")) };
            let State::Ended(end) = line.state else {
                return Err(format!("{id} has not ended by {:?}: {:?}", self.now, line.state));
            };
            let has_succeeded = end == End::Succeeded;
            if has_succeeded != self.watch.has_succeeded(*id) {
                return Err(format!("{id} ended {end:?}, which no worker was told"));
            }
            let expected = self.watch.failures_of(*id);
            if line.counters.failures != expected {
                return Err(format!("{id} has {} failures, {expected} were reported", line.counters.failures));
            }
            self.journal_is_whole(*id)?;
            self.tally.successes += u64::from(has_succeeded);
            self.tally.failures += u64::from(expected);
        }
        self.recount()
    }

    /// The journal of a run has what the store has taken for it, in that order, and nothing else.
    fn journal_is_whole(&self, id: JobId) -> Verdict {
        let taken = self.watch.journals.get(&id).map(Vec::as_slice).unwrap_or_default();
        let stored = at_once(self.store.entries(id, 1, 0, 1_000)).map_err(|error| error.to_string())?;
        let stored: Vec<_> = stored.into_iter().map(|entry| entry.payload).collect();
        if stored == taken { Ok(()) } else { Err(format!("{id} has the journal {stored:?}, it was given {taken:?}")) }
    }

    pub(super) fn everybody_leaves(&mut self) -> Verdict {
        let up: Vec<usize> = (0..self.workers.len()).filter(|at| self.workers[*at].is_up).collect();
        for (at, worker) in up.iter().enumerate() {
            if at == 0 && self.spoils(Sabotage::StopAClock) {
                self.workers[*worker].hears = false;
            }
            if at == 0 && self.spoils(Sabotage::KeepAWorker) {
                self.workers[*worker].is_up = false;
                continue;
            }
            self.tell(*worker, Event::Command(Command::Shutdown))?;
        }
        self.go_on(self.now + watch::LEAVE_MAX, |world| world.workers.iter().all(|worker| !worker.is_up))?;
        match self.workers.iter().find(|worker| worker.is_up) {
            Some(worker) => Err(format!("{} has not left", worker.id)),
            None => Ok(()),
        }
    }

    pub(super) fn nothing_is_left(&mut self) -> Verdict {
        self.clock.advance(Duration::from_secs(60 * 86_400));
        loop {
            let pruned = at_once(self.store.prune(1_000)).map_err(|error| error.to_string())?;
            if pruned.is_empty() {
                break;
            }
        }
        let left = at_once(self.store.inspect().workers()).map_err(|error| error.to_string())?;
        let left: Vec<_> = left.iter().map(|worker| &worker.name).collect();
        let census = at_once(self.store.inspect().census()).map_err(|error| error.to_string())?;
        watch::is_empty(&census).map_err(|what| format!("{what}, workers {left:?}"))
    }
}
