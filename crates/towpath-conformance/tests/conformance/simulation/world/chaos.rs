//! What happens to workers and the store while it is not calm: work comes, and everything goes wrong.

use std::time::Duration;

use towpath_core::dispatch::{Command, Event};
use towpath_core::store::{Arrival, Change, Changed, Enqueue, Item, JobFilter, Order, Page};
use towpath_core::{
    GraphId, JobId, Label, NewJob, Payload, State, StopReason, Store, cancel_graph, cancel_job, settle_stopped,
};

use super::super::script::{self, up_to};
use super::{Sabotage, Verdict, What, World, at_once};

impl World {
    pub(super) fn chaos(&mut self) -> Verdict {
        if self.is_calm() {
            return Ok(());
        }
        let next = up_to(&mut self.chance, 1_500);
        self.at(next, What::Chaos);
        let up: Vec<usize> = (0..self.workers.len()).filter(|at| self.workers[*at].is_up).collect();
        let some = self.chance.pick(&up).copied();
        match (self.chance.below(100), some) {
            (0..55, _) => self.enqueue(),
            (55..62, _) => self.append(),
            (62..67, Some(worker)) if up.len() > 1 => {
                self.tally.kills += 1;
                let it = &mut self.workers[worker];
                it.is_up = false;
                it.handlers.clear();
                self.watch.excused.insert(it.id);
                Ok(())
            }
            (67..72, _) => {
                self.join();
                Ok(())
            }
            (72..75, Some(worker)) => {
                self.tally.stalls += 1;
                let it = &mut self.workers[worker];
                it.stalled_until = self.now + Duration::from_secs(12) + up_to(&mut self.chance, 8_000);
                self.watch.excused.insert(it.id);
                Ok(())
            }
            (75..77, _) => {
                self.tally.outages += 1;
                self.outage_until = self.now + up_to(&mut self.chance, 20_000);
                Ok(())
            }
            (77..80, Some(worker)) if up.len() > 1 => self.tell(worker, Event::Command(Command::Shutdown)),
            (80..84, Some(worker)) => {
                let wish = if self.chance.percent(50) { Command::Quiet } else { Command::Resume };
                self.tell(worker, Event::Command(wish))
            }
            (84..89, _) => self.cancel(),
            (89..94, _) => self.signal(),
            _ => self.recount(),
        }
    }

    fn enqueue(&mut self) -> Verdict {
        let now = self.instant();
        let (items, ids, graph) = script::items(&mut self.chance, now);
        self.note_runs(&items);
        let placed = at_once(self.store.enqueue(Enqueue { items })).map_err(|error| error.to_string())?;
        if let Some(refused) = placed.items.iter().find_map(|placed| placed.as_ref().err()) {
            return Err(format!("new work is refused: {refused}"));
        }
        self.jobs.extend(ids);
        self.graphs.extend(graph);
        self.hint(&Event::Hint)
    }

    fn append(&mut self) -> Verdict {
        let now = self.instant();
        let Some(graph) = self.chance.pick(&self.graphs).copied() else { return Ok(()) };
        let (item, ids) = script::append(&mut self.chance, now, graph);
        self.note_runs(std::slice::from_ref(&item));
        let placed = at_once(self.store.enqueue(Enqueue::one(item))).map_err(|error| error.to_string())?;
        // A stopped graph takes nothing.
        if placed.items.iter().all(Result::is_ok) {
            self.jobs.extend(ids);
        }
        self.hint(&Event::Hint)
    }

    /// Hints are lossy: some hear it.
    fn hint(&mut self, hint: &Event) -> Verdict {
        for worker in 0..self.workers.len() {
            if self.chance.percent(50) {
                let event = if matches!(hint, Event::Hint) { Event::Hint } else { Event::CancelHint };
                self.tell(worker, event)?;
            }
        }
        Ok(())
    }

    fn cancel(&mut self) -> Verdict {
        self.tally.cancels += 1;
        if self.chance.percent(50)
            && let Some(graph) = self.chance.pick(&self.graphs).copied()
        {
            self.apply(cancel_graph(graph, "ann", ""))?;
            loop {
                let jobs = at_once(self.store.settleable(graph, 512)).map_err(|error| error.to_string())?;
                self.apply(settle_stopped(graph, StopReason::Cancel, &jobs, Duration::ZERO, ("ann", "")))?;
                if jobs.is_empty() {
                    break;
                }
            }
        } else {
            let jobs: Vec<JobId> = self.jobs.iter().copied().collect();
            if let Some(job) = self.chance.pick(&jobs) {
                self.apply(cancel_job(*job, "ann", ""))?;
            }
        }
        self.hint(&Event::CancelHint)
    }

    /// Signals a run that has not ended: what comes for others is kept for nobody.
    fn signal(&mut self) -> Verdict {
        let jobs: Vec<JobId> = self.jobs.iter().copied().collect();
        let Some(job) = self.chance.pick(&jobs) else { return Ok(()) };
        let detail = at_once(self.store.inspect().job(*job)).map_err(|error| error.to_string())?;
        let is_open = detail.is_some_and(|detail| !matches!(detail.line.state, State::Ended(_)));
        let Some(run) = self.runs.get(job).filter(|_| is_open) else { return Ok(()) };
        let arrival = Arrival::new(run.clone(), Label::from_stored("go"), Payload::default());
        at_once(self.store.signal(vec![arrival])).map_err(|error| error.to_string())?;
        self.tally.signals += 1;
        self.hint(&Event::Hint)
    }

    fn note_runs(&mut self, items: &[Item]) {
        for item in items {
            let jobs: Vec<&NewJob> = match item {
                Item::Job(job) => vec![job],
                Item::Graph(graph) => graph.nodes().iter().map(|node| &node.job).collect(),
                Item::Append(append) => append.nodes().iter().map(|node| &node.job).collect(),
                _ => Vec::new(),
            };
            self.runs.extend(jobs.into_iter().filter_map(|job| Some((job.id, job.run.clone()?))));
        }
    }

    fn apply(&mut self, order: Order) -> Result<Vec<Changed>, String> {
        Ok(at_once(self.store.apply(order)).map_err(|error| error.to_string())?.changes)
    }

    pub(super) fn recount(&mut self) -> Verdict {
        // One in three: all of them would be most of the work.
        let some: Vec<GraphId> = self.graphs.iter().copied().filter(|_| self.chance.percent(33)).collect();
        for graph in if self.is_calm() { self.graphs.clone() } else { some } {
            let spoilt = self.sabotage == Sabotage::SpoilACounter && !self.is_spoilt;
            if spoilt && let Some(job) = self.waiting_node(graph)? {
                self.is_spoilt = self.store.corrupt(job, 1, 0);
            }
            let change = Change::Recount { graph };
            let order = Order { actor: "sweeper".into(), reason: String::new(), changes: vec![change] };
            for changed in self.apply(order)? {
                if let Changed::Recounted { repaired } = changed
                    && repaired > 0
                {
                    return Err(format!("a recount of {graph} repaired {repaired}"));
                }
            }
        }
        Ok(())
    }

    fn waiting_node(&self, graph: GraphId) -> Result<Option<JobId>, String> {
        let filter = JobFilter { state: Some(State::Waiting), graph: Some(graph), ..JobFilter::default() };
        let jobs = at_once(self.store.inspect().jobs(filter, Page::default())).map_err(|error| error.to_string())?;
        Ok(jobs.first().map(|line| line.id))
    }
}
