//! Graphs that are stopped, to cancel them or by a failure: what of them has not started is settled in batches, by whoever stopped
//! them or by a worker that looks.

use std::sync::Arc;
use std::time::Duration;

use towpath_core::store::Changed;
use towpath_core::{GraphId, StopReason, Store, StoreError, defaults, limits, settle_stopped};

/// Settles what of a stopped graph has not started, until there is nothing more or the stop is lifted. The age of the stop
/// decides whether somebody looks once more. Answers how many nodes have ended by it.
///
/// # Errors
/// The store could not do it; somebody carries on.
pub(crate) async fn settle(
    store: &Arc<dyn Store>,
    (graph, reason, age): (GraphId, StopReason, Duration),
    by: (&str, &str),
) -> Result<u32, StoreError> {
    let mut settled = 0;
    loop {
        // To find them a store goes through the graph: many at a time, so that it does not so for each step.
        let nodes = store.settleable(graph, limits::SETTLEABLE_MAX).await?;
        let mut ended = 0;
        for some in nodes.chunks(limits::SETTLE_STOPPED_MAX as usize) {
            let order = settle_stopped(graph, reason, some, age, by);
            match store.apply(order).await?.changes.first() {
                Some(Changed::Settled { nodes }) => ended += nodes,
                _ => return Ok(settled + ended),
            }
        }
        settled += ended;
        if ended == 0 {
            store.apply(settle_stopped(graph, reason, &[], age, by)).await?;
            return Ok(settled);
        }
    }
}

/// Settles stopped graphs that nobody has settled to the end. Answers how long it may take until there is more to do.
pub(crate) async fn settle_due(store: &Arc<dyn Store>) -> Duration {
    let due = match store.stops(limits::STOPS_LOOK_MAX).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "cannot look for stopped graphs; trying again");
            return defaults::STOPS_LOOK;
        }
    };
    let is_full = due.graphs.len() >= limits::STOPS_LOOK_MAX as usize;
    let mut is_stuck = false;
    for stop in due.graphs {
        let why = match stop.reason {
            StopReason::Fail => "a node failed",
            _ => "its graph is cancelled",
        };
        match settle(store, (stop.graph, stop.reason, stop.age), (defaults::ACTOR, why)).await {
            Ok(nodes) if nodes > 0 => tracing::info!(graph = %stop.graph, nodes, "settled a stopped graph"),
            Ok(_) => {}
            Err(error) => {
                is_stuck = true;
                tracing::warn!(graph = %stop.graph, %error, "cannot settle a stopped graph; trying again");
            }
        }
    }
    match due.next {
        // There may be more that is due.
        _ if is_full && !is_stuck => Duration::ZERO,
        next => next.map_or(defaults::STOPS_LOOK, |next| next.min(defaults::STOPS_LOOK)),
    }
}
