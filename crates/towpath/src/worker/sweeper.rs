//! A worker's look at open graphs: whether what their nodes wait for is what their edges say.
//!
//! Every worker looks, one bounded statement a minute, so that it makes no difference how many graphs are idle.

use std::sync::Arc;

use towpath_core::{Store, defaults};

use crate::random;
use crate::sweep::sweep;

/// Looks until it is dropped; first after a part of the pause that is drawn, so that workers look one after the other.
pub(super) async fn keep_sweeping(store: Arc<dyn Store>) {
    let mut after = None;
    tokio::time::sleep(defaults::SWEEP.mul_f64(random::fraction())).await;
    loop {
        match sweep(&store, after).await {
            Ok(swept) => after = swept.next,
            Err(error) => tracing::warn!(%error, "cannot count graphs again; trying again"),
        }
        tokio::time::sleep(defaults::SWEEP).await;
    }
}
