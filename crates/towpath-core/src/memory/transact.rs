//! Does a piece of a run together with lines of its journal.

use crate::store::{Mark, MarkLine, MemoryBody, Rows, StoreResult, Transact, Transacted, TxEnd};

use super::Transaction;
use super::tables::With;

impl Transaction<'_> {
    pub(super) fn transact(&mut self, work: Transact) -> StoreResult<Transacted> {
        let Transact { fence, mut journal, shows, mark, body } = work;
        let Ok(body) = body.downcast::<MemoryBody>() else { return Ok(Transacted::WrongDatabase) };
        let held = self.tables.running_under(fence).is_some_and(|running| running.with == With::Handler);
        if !held || self.tables.run.contains_key(&fence.key) != mark.is_none() {
            return Ok(Transacted::Stale);
        }
        if let Some(name) = mark {
            let TxEnd { rows, line } = body();
            if rows == Rows::Keep {
                let line = MarkLine { mark: Mark { name: name.clone(), value: line }, at: self.now };
                self.tables.mark.insert((fence.key, name), line);
            }
            return Ok(Transacted::Done);
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
