//! Does a piece of a run together with lines of its journal.

use crate::store::{MemoryBody, StoreResult, Transact, Transacted};

use super::Transaction;
use super::tables::With;

impl Transaction<'_> {
    pub(super) fn transact(&mut self, work: Transact) -> StoreResult<Transacted> {
        let Transact { fence, mut journal, shows, body } = work;
        let Ok(body) = body.downcast::<MemoryBody>() else { return Ok(Transacted::WrongDatabase) };
        let held = self.tables.running_under(fence).is_some_and(|running| running.with == With::Handler);
        if !held || !self.tables.run.contains_key(&fence.key) {
            return Ok(Transacted::Stale);
        }
        journal.push(body().line);
        // A run that writes has outlived its crashes.
        if let Some(running) = self.tables.running.get_mut(&fence.key) {
            running.counters.crashes = 0;
        }
        self.append_entries(fence.key, journal);
        self.show(fence.key, shows);
        Ok(if self.tables.is_paused(fence.key) { Transacted::Paused } else { Transacted::Done })
    }
}
