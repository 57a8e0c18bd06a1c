//! Puts signals into the inboxes of runs, and wakes those that are parked.

use crate::defaults;
use crate::limits;
use crate::name::{Label, RunId};
use crate::payload::Payload;
use crate::store::{Arrival, CancelNote, Delivery, Refusal, Signalled, StoreResult};

use super::Transaction;
use super::tables::{ArrivalRow, Key};

impl Transaction<'_> {
    pub(super) fn signal(&mut self, arrivals: Vec<Arrival>) -> StoreResult<Signalled> {
        Arrival::check_batch(&arrivals)?;
        let items = arrivals.into_iter().map(|arrival| self.deliver(arrival)).collect();
        Ok(Signalled { now: self.now, items })
    }

    pub(super) fn deliver(&mut self, arrival: Arrival) -> Result<Delivery, Refusal> {
        arrival.check()?;
        let Arrival { run, name, dedup, payload } = arrival;
        let key = dedup.clone().map(|dedup| (run.clone(), dedup));
        if key.as_ref().is_some_and(|key| self.tables.arrival_by_dedup.contains(key)) {
            return Ok(Delivery::Duplicate);
        }
        let job = self.tables.run_by_id.get(&run).copied();
        let was_pruned = job.is_none() && self.tables.tombstone.contains_key(&run);
        if was_pruned || job.is_some_and(|job| self.tables.ended.contains_key(&job)) {
            return Ok(Delivery::Ended);
        }
        if self.tables.arrivals_of(&run).count() >= limits::INBOX_MAX as usize {
            return Err(Refusal::InboxFull { run, max: limits::INBOX_MAX });
        }
        self.keep_arrival(Arrival { run, name, dedup, payload });
        Ok(if job.is_some() { Delivery::Delivered } else { Delivery::Kept })
    }

    fn keep_arrival(&mut self, arrival: Arrival) {
        let Arrival { run, name, dedup, payload } = arrival;
        self.tables.arrival_by_dedup.extend(dedup.clone().map(|dedup| (run.clone(), dedup)));
        let seq = self.tables.draw();
        self.wake(&run);
        self.news.signalled.push(run.clone());
        let prune_at = (!self.tables.run_by_id.contains_key(&run)).then(|| self.now + defaults::KEEP_ARRIVAL);
        self.tables.arrival_prune_at.extend(prune_at.map(|at| (at, seq, run.clone())));
        self.tables.arrival.insert((run, seq), ArrivalRow { name, dedup, payload, at: self.now, prune_at });
    }

    /// Puts an arrival of our own into an inbox, however full it is, unless its dedup key is there.
    pub(super) fn tell(&mut self, arrival: Arrival) {
        let is_same = |key: &String| self.tables.arrival_by_dedup.contains(&(arrival.run.clone(), key.clone()));
        if !arrival.dedup.as_ref().is_some_and(is_same) {
            self.keep_arrival(arrival);
        }
    }

    /// Tells a run that it is cancelled, however full its inbox is. One that is paused goes on, to obey.
    pub(super) fn tell_of_cancel(&mut self, job: Key, note: &CancelNote) {
        let Some(run) = self.tables.run.get(&job).map(|row| row.id.clone()) else { return };
        self.lift_pause(job);
        self.tell(Arrival::cancel(run, note));
    }

    /// Forgets an arrival that was taken. Of one with a dedup key of its own the key stays.
    pub(super) fn forget_arrival(&mut self, run: &RunId, seq: Key) {
        let place = (run.clone(), seq);
        let Some(row) = self.tables.arrival.get_mut(&place) else { return };
        match &row.dedup {
            Some(key) if key != row.name.as_str() => {
                (row.name, row.payload) = (Label::from_stored(Arrival::TAKEN), Payload::default());
            }
            _ => self.delete_arrival(run.clone(), seq),
        }
    }

    /// Tells those runs of a graph that have begun and that its stop cancels.
    pub(super) fn tell_runs_of(&mut self, graph: Key, note: &CancelNote) {
        let is_told = |job: &Key| self.tables.has_begun(*job) && self.tables.cancelled_by(*job).is_some();
        let told: Vec<Key> = self.tables.nodes_of(graph).filter(is_told).collect();
        told.into_iter().for_each(|job| self.tell_of_cancel(job, note));
    }

    /// Makes a parked run ready.
    fn wake(&mut self, run: &RunId) {
        let Some(job) = self.tables.run_by_id.get(run).copied() else { return };
        let Some(due) = self.tables.later_by_job.get(&job).copied() else { return };
        if let Some(row) = self.tables.later.get(&(due, job)).filter(|row| row.parked) {
            let counters = row.counters;
            self.take_idle(job);
            self.make_ready(job, counters);
        }
    }
}
