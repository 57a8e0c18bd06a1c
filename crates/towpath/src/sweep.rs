//! Counts open graphs again: what a node waits for, by its edges. Work never needs it; what it finds is a fault of a store, and
//! is repaired so that the graph does not hang on it.

use std::sync::Arc;

use towpath_core::store::{Change, Changed, Order};
use towpath_core::{Store, StoreError, defaults, limits};

use crate::client::Client;

impl Client {
    /// Counts all open graphs again, and repairs what is wrong. Answers how many nodes were, which should be none. Workers do
    /// this all the time, a part of the graphs every minute; [`StateCounts::repaired`](towpath_core::store::StateCounts) has
    /// the sum.
    ///
    /// # Errors
    /// The store could not do it; the graphs before were looked at.
    pub async fn sweep(&self) -> Result<u32, StoreError> {
        let (mut after, mut repaired) = (None, 0);
        loop {
            let swept = sweep(self.store(), after).await?;
            repaired += swept.repaired;
            after = swept.next;
            if after.is_none() {
                return Ok(repaired);
            }
        }
    }
}

/// What a look has come to.
pub(crate) struct Swept {
    /// Nodes that were wrong.
    pub(crate) repaired: u32,
    /// Where the next look goes on; `None` if it begins anew.
    pub(crate) next: Option<i64>,
}

/// Looks at the graphs behind one, and repairs those of which something is miscounted. They are found without a lock, and
/// counted once more under one.
pub(crate) async fn sweep(store: &Arc<dyn Store>, after: Option<i64>) -> Result<Swept, StoreError> {
    let suspects = store.suspects(after, limits::SWEEP_SIZE_MAX).await?;
    let mut repaired = 0;
    for graph in suspects.graphs {
        let (actor, reason) = (defaults::ACTOR.to_owned(), "its counters differ from its edges".to_owned());
        let order = Order { actor, reason, changes: vec![Change::Recount { graph }] };
        if let Some(Changed::Recounted { repaired: nodes }) = store.apply(order).await?.changes.first() {
            tracing::error!(%graph, nodes, "a graph was miscounted and is repaired: this is a fault, please report it");
            repaired += nodes;
        }
    }
    Ok(Swept { repaired, next: suspects.next })
}
