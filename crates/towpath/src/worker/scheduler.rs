//! A worker's look at the schedules: beside its pump, so that neither slow work nor a slow clean-up makes a tick late.
//!
//! Every worker looks; that each tick is minted once is the store's to see to. It goes on for ever, through every outage.

use std::collections::BTreeSet;
use std::time::Duration;

use towpath_core::schedule::{self, Keeper};
use towpath_core::{Store, StoreError, Timestamp, defaults, limits};

use crate::client::Client;
use crate::random;
use crate::schedules::{Checked, find};

/// The pause after a look that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Looks until it is dropped.
pub(super) async fn keep_time(client: Client, declared: Vec<Checked>) {
    let store = &**client.store();
    let mut told_at: Option<tokio::time::Instant> = None;
    loop {
        if !declared.is_empty() && told_at.is_none_or(|at| at.elapsed() >= defaults::SCHEDULE_DECLARE) {
            match declare(store, &declared).await {
                Ok(()) => told_at = Some(tokio::time::Instant::now()),
                Err(error) => tracing::warn!(%error, "cannot declare the schedules; trying again"),
            }
        }
        let pause = match schedule::look(store, limits::SCHEDULE_LOOK_MAX).await {
            // There may be more.
            Ok(looked) if looked.due >= limits::SCHEDULE_LOOK_MAX => Duration::ZERO,
            Ok(looked) => until(looked.now, looked.next),
            Err(error) => {
                tracing::warn!(%error, "cannot look at the schedules; trying again");
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Says that the code has these schedules. What another worker has just written is left.
async fn declare(store: &dyn Store, declared: &[Checked]) -> Result<(), StoreError> {
    let mut names = BTreeSet::new();
    for checked in declared.iter().filter(|checked| names.insert(&checked.name)) {
        let (now, there) = find(store, &checked.name).await?;
        let is_fresh = there.as_ref().is_some_and(|(_, row)| {
            let word = match row.keeper {
                Keeper::Workers { declared_at } => Some(declared_at),
                Keeper::Hand => None,
            };
            checked.is(row) && word.is_some_and(|at| now < at + defaults::SCHEDULE_DECLARE)
        });
        if !is_fresh {
            let write = checked.clone().put(there, Keeper::Workers { declared_at: now }, now);
            store.write_schedules(vec![write]).await?;
        }
    }
    Ok(())
}

/// How long to wait for the next tick; not longer than until others' changes are to be seen. A moment more, so that workers
/// do not all ask at once.
fn until(now: Timestamp, next: Option<Timestamp>) -> Duration {
    let wait = next.map_or(defaults::SCHEDULE_LOOK, |next| next.since(now)).min(defaults::SCHEDULE_LOOK);
    wait + Duration::from_millis(u64::from(random::job_id().as_bytes()[15] % 20))
}
