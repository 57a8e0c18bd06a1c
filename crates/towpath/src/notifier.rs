//! One look at the store for however many wait: jobs and graphs that somebody in this process awaits.
//!
//! Hints say at once what ended; a poll every second catches what hints lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use towpath_core::store::{Ended, Hint};
use towpath_core::{JobId, Store};

const POLL: Duration = Duration::from_secs(1);
/// Jobs asked for in one query.
const BATCH: usize = 1_000;

type Waiters = HashMap<JobId, Vec<oneshot::Sender<Ended>>>;

#[derive(Default)]
pub(crate) struct Notifier {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    waiters: Waiters,
    running: bool,
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    // Nothing panics while it is held; a poisoned map is still a map.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Notifier {
    /// Waits until a job has ended. The caller has seen that the job is stored.
    pub(crate) async fn ended(&self, store: &Arc<dyn Store>, job: JobId) -> Option<Ended> {
        let (send, receive) = oneshot::channel();
        {
            let mut shared = lock(&self.shared);
            shared.waiters.entry(job).or_default().push(send);
            if !shared.running {
                shared.running = true;
                tokio::spawn(watch(store.clone(), self.shared.clone()));
            }
        }
        receive.await.ok()
    }
}

/// Looks until nobody waits any more.
async fn watch(store: Arc<dyn Store>, shared: Arc<Mutex<Shared>>) {
    let mut hints = store.hints();
    // What ended before the hints were listened to is found by asking once.
    let mut ask = waiting(&shared);
    loop {
        for batch in ask.chunks(BATCH) {
            match store.ended(batch.to_vec()).await {
                Ok(found) => deliver(&shared, found),
                Err(error) => tracing::warn!(%error, "cannot look for ended jobs; trying again"),
            }
        }
        {
            let mut shared = lock(&shared);
            shared.waiters.retain(|_, senders| {
                senders.retain(|s| !s.is_closed());
                !senders.is_empty()
            });
            if shared.waiters.is_empty() {
                shared.running = false;
                return;
            }
        }
        ask = match tokio::time::timeout(POLL, hints.next()).await {
            Err(_) | Ok(Hint::Anything) => waiting(&shared),
            Ok(hint) => {
                let mut ended: Vec<JobId> = ended_of(hint).into_iter().collect();
                while let Some(hint) = hints.try_next() {
                    if hint == Hint::Anything {
                        ended = waiting(&shared);
                    }
                    ended.extend(ended_of(hint));
                }
                let shared = lock(&shared);
                ended.retain(|job| shared.waiters.contains_key(job));
                ended
            }
        };
    }
}

fn ended_of(hint: Hint) -> Option<JobId> {
    match hint {
        Hint::Ended(job) => Some(job),
        Hint::GraphEnded(graph) => Some(JobId::end_of(graph)),
        _ => None,
    }
}

fn waiting(shared: &Mutex<Shared>) -> Vec<JobId> {
    lock(shared).waiters.keys().copied().collect()
}

fn deliver(shared: &Mutex<Shared>, found: Vec<Option<Ended>>) {
    let mut shared = lock(shared);
    for ended in found.into_iter().flatten() {
        for waiter in shared.waiters.remove(&ended.id).unwrap_or_default() {
            let _ = waiter.send(ended.clone());
        }
    }
}
