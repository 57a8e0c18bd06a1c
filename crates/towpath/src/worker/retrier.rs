//! A worker's look at retries of graphs: those that their rules have put off until now, and those that somebody has begun and
//! not carried to their end.
//!
//! Every worker looks; that each is carried out once is the store's to see to. What this worker has put off itself it is
//! told of, so that a short wait is a short one.

use std::sync::Arc;

use tokio::sync::Notify;
use towpath_core::Store;

use crate::retry;

/// Looks until it is dropped; at once when it is told of a retry.
pub(super) async fn keep_retrying(store: Arc<dyn Store>, told: Arc<Notify>) {
    loop {
        let pause = retry::carry_on_due(&store).await;
        // In both cases the store is asked again, and says when the next one is due.
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = told.notified() => {}
        }
    }
}
