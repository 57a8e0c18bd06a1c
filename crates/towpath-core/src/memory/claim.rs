//! Gives a worker what it asked for: decisions first, then jobs by queue, priority and arrival.

use crate::limits;
use crate::store::{Claim, Counters, QueueClaim};

use super::Transaction;
use super::place::Holder;
use super::tables::{Key, Slot, With};

impl Transaction<'_> {
    pub(super) fn claim(&mut self, claim: &Claim, holder: &mut Holder) {
        self.promote();
        let mut room = usize::from(claim.decisions_max.min(limits::DECISIONS_MAX));
        room -= self.claim_undecided(room, holder);
        self.claim_overdue(room, holder);
        let mut room = claim.most.min(limits::CLAIM_MAX);
        for queue in &claim.queues {
            room -= self.claim_queue(queue, room, holder);
        }
    }

    /// Moves jobs whose time has come to the head, as if they arrived now.
    fn promote(&mut self) {
        for _ in 0..limits::CLAIM_MAX {
            let Some((due, job)) = self.tables.later.keys().next().copied().filter(|(due, _)| *due <= self.now) else {
                return;
            };
            self.tables.later_by_job.remove(&job);
            if let Some(row) = self.tables.later.remove(&(due, job)) {
                self.make_ready(job, row.counters);
            }
        }
    }

    /// Answers how many it gave.
    fn claim_undecided(&mut self, room: usize, holder: &mut Holder) -> usize {
        let jobs: Vec<Key> = self.tables.undecided.iter().take(room).copied().collect();
        for job in &jobs {
            self.tables.undecided.remove(job);
            self.decide_by(*job, holder);
        }
        jobs.len()
    }

    /// Takes jobs whose deadline has passed before anybody claimed them. A waiting or running one is
    /// left: whoever claims it later sees its deadline.
    fn claim_overdue(&mut self, room: usize, holder: &mut Holder) {
        let due: Vec<_> = self.tables.deadline.range(..=(self.now, Key::MAX)).take(room).copied().collect();
        for (at, job) in due {
            self.tables.deadline.remove(&(at, job));
            if let Some(counters) = self.take_idle(job) {
                self.hold(job, With::Deadline, counters, holder);
            }
        }
    }

    /// Answers how many it gave, at most `room`.
    fn claim_queue(&mut self, queue: &QueueClaim, room: u16, holder: &mut Holder) -> u16 {
        let tables = &*self.tables;
        if tables.pause.contains_key(&queue.queue) {
            return 0;
        }
        let served = queue.serves.iter();
        let mut lanes: Vec<Key> = served.flat_map(|served| tables.lanes_served(&queue.queue, served)).collect();
        lanes.sort_unstable();
        lanes.dedup();
        for given in 0..queue.limit.min(room) {
            let heads = lanes.iter().filter_map(|lane| self.first_of(*lane));
            let Some(slot) = heads.min_by_key(|(_, turnout, seq)| (*turnout, *seq)) else { return given };
            self.claim_slot(slot, holder);
        }
        queue.limit.min(room)
    }

    fn first_of(&self, lane: Key) -> Option<Slot> {
        self.tables
            .ready
            .range((lane, i32::MIN, Key::MIN)..)
            .next()
            .map(|(slot, _)| *slot)
            .filter(|slot| slot.0 == lane)
    }

    /// Gives the job to its handler, or for a decision if its graph is stopped. A run that has begun is cancelled by its
    /// handler.
    fn claim_slot(&mut self, slot: Slot, holder: &mut Holder) {
        let Some(row) = self.tables.ready.remove(&slot) else { return };
        self.tables.ready_by_job.remove(&row.job);
        let obeys = self.tables.has_begun(row.job) && self.tables.cancelled_by(row.job).is_some();
        if self.tables.held_back(row.job).is_some() && !obeys {
            self.hold(row.job, With::Stopped, row.counters, holder);
        } else {
            let counters = Counters { attempt: row.counters.attempt + 1, ..row.counters };
            self.hold(row.job, With::Handler, counters, holder);
        }
    }
}
