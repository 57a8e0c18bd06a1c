//! A worker's look at what was begun of graphs and is to be carried on: retries that their rules have put off until now, stops by
//! a failure, and what somebody has begun and not carried to its end.
//!
//! Every worker looks; that each is carried out once is the store's to see to. What this worker has begun itself it is told of,
//! so that a short wait is a short one.

use std::sync::Arc;

use tokio::sync::Notify;
use towpath_core::Store;

use crate::{retry, stops};

/// Looks until it is dropped; at once when it is told of a graph.
pub(super) async fn keep_carrying_on(store: Arc<dyn Store>, told: Arc<Notify>) {
    loop {
        let pause = stops::settle_due(&store).await.min(retry::carry_on_due(&store).await);
        // In both cases the store is asked again, and says when the next one is due.
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = told.notified() => {}
        }
    }
}
