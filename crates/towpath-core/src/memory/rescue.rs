//! Gives what dead workers held to the worker that asks.

use crate::store::{Rescue, RescueReply, StoreResult};

use super::Transaction;
use super::tables::Key;
use super::turn::Exchange;

impl Transaction<'_> {
    pub(super) fn rescue(&mut self, ask: Rescue) -> StoreResult<RescueReply> {
        let (worker, exchange) = self.exchange(ask.worker, ask.number, "rescue")?;
        if exchange == Exchange::New {
            self.take_over(worker, &ask);
            self.remember(worker, ask.number, Vec::new());
        }
        let taken = self.tables.running_by_turn.range((worker, ask.number, 0)..=(worker, ask.number, u16::MAX));
        let rescued = taken.filter_map(|(_, job)| self.tables.rescued(*job)).collect();
        Ok(RescueReply { now: self.now, rescued })
    }

    fn take_over(&mut self, worker: Key, ask: &Rescue) {
        let mut index = 0;
        for victim in self.victims(worker, ask) {
            let held = self.tables.held_by(victim);
            let taken = held.len().min(usize::from(ask.limit - index));
            for job in &held[..taken] {
                if let Some(mut row) = self.take_running(*job) {
                    (row.worker, row.turn, row.index) = (worker, ask.number, index);
                    self.insert_running(*job, row);
                    index += 1;
                }
            }
            if taken == held.len() {
                self.forget(victim);
            }
        }
    }

    fn victims(&self, asker: Key, ask: &Rescue) -> Vec<Key> {
        let others = self.tables.worker.iter().filter(|(key, _)| **key != asker);
        others
            .filter(|(key, row)| !self.holds_lease(**key) || ask.gone.contains(&row.incarnation))
            .map(|(key, _)| *key)
            .collect()
    }

    /// Forgets a worker that holds nothing.
    pub(super) fn forget(&mut self, worker: Key) {
        if let Some(row) = self.tables.worker.remove(&worker) {
            self.tables.worker_by_incarnation.remove(&row.incarnation);
        }
        self.tables.lease.remove(&worker);
    }
}
