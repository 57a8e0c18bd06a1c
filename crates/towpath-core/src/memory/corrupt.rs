//! A wrong counter, made on purpose: a sweeper that never finds anything proves nothing.

use super::MemoryStore;
use crate::id::JobId;

impl MemoryStore {
    /// Adds to a node's counters of parents what was never counted; `false` if there is no such node.
    #[doc(hidden)]
    pub fn corrupt(&self, job: JobId, left: i32, ok: i32) -> bool {
        let Ok(mut tables) = self.tables.lock() else { return false };
        let Some(key) = tables.job_by_id.get(&job).copied() else { return false };
        let Some(node) = tables.node.get_mut(&key) else { return false };
        node.counters.left = node.counters.left.saturating_add_signed(left);
        node.counters.ok = node.counters.ok.saturating_add_signed(ok);
        true
    }
}
