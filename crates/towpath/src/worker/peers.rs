//! Looking after other workers: whose lease is over, and whose process on this host is gone.

use std::sync::Arc;

use towpath_core::dispatch::PeerNews;
use towpath_core::store::HostId;
use towpath_core::{Incarnation, Store, StoreError, Timestamp};

use crate::host;

/// What can be said of the other workers at the store's instant `now`.
pub(crate) async fn look(
    store: &Arc<dyn Store>,
    me: Incarnation,
    here: &HostId,
    now: Timestamp,
) -> Result<PeerNews, StoreError> {
    let mut news = PeerNews::default();
    for peer in store.peers().await? {
        if peer.worker == me {
            continue;
        }
        news.expired |= peer.lease_until <= now;
        if host::is_known_gone(here, &peer.host) {
            news.gone.push(peer.worker);
        }
    }
    Ok(news)
}
