//! One look at the store for however many wait: jobs and graphs that somebody in this process awaits.
//!
//! Who begins to wait is asked for at once, together with all who began meanwhile. Hints say at once what ended here. A poll finds what ended in other processes and what hints lost: soon after somebody has
//! begun to wait, then less and less often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use towpath_core::store::{Ended, Hint, HintStream};
use towpath_core::{JobId, Store};

/// The first pause between polls after somebody has begun to wait, and the longest.
const POLL_FIRST: Duration = Duration::from_millis(10);
const POLL_MAX: Duration = Duration::from_secs(1);
/// With more waiters than this a poll is no small question: it is not asked so often.
const FEW: usize = 256;
/// Jobs asked for in one query.
const BATCH: usize = 1_000;

type Waiters = HashMap<JobId, Vec<oneshot::Sender<Ended>>>;

#[derive(Default)]
pub(crate) struct Notifier {
    shared: Arc<Mutex<Shared>>,
    /// Rung when somebody begins to wait.
    bell: Arc<Notify>,
}

#[derive(Default)]
struct Shared {
    waiters: Waiters,
    /// Awaited, and not asked for yet.
    fresh: Vec<JobId>,
    running: bool,
    /// How often somebody has begun to wait.
    begun: u64,
}

/// When to ask for all that is awaited.
struct Polls {
    pause: Duration,
    at: Instant,
    begun: u64,
}

impl Polls {
    fn new() -> Self {
        Self { pause: POLL_FIRST, at: Instant::now() + POLL_FIRST, begun: 0 }
    }

    /// Everything was asked for: the next time is later, unless somebody has begun to wait.
    fn asked(&mut self) {
        self.pause = (self.pause * 3 / 2).min(POLL_MAX);
        self.at = Instant::now() + self.pause;
    }

    fn note(&mut self, shared: &Shared) {
        if shared.begun != self.begun {
            self.begun = shared.begun;
            self.pause = if shared.waiters.len() > FEW { POLL_MAX / 4 } else { POLL_FIRST };
            self.at = self.at.min(Instant::now() + self.pause);
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    // Nothing panics while it is held; a poisoned map is still a map.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Notifier {
    /// Waits until a job has ended: for ever, if it is not stored.
    pub(crate) async fn ended(&self, store: &Arc<dyn Store>, job: JobId) -> Option<Ended> {
        let (send, receive) = oneshot::channel();
        {
            let mut shared = lock(&self.shared);
            shared.waiters.entry(job).or_default().push(send);
            shared.fresh.push(job);
            shared.begun += 1;
            if !shared.running {
                shared.running = true;
                tokio::spawn(watch(store.clone(), self.shared.clone(), self.bell.clone()));
            }
        }
        self.bell.notify_one();
        receive.await.ok()
    }
}

/// Looks until nobody waits any more.
async fn watch(store: Arc<dyn Store>, shared: Arc<Mutex<Shared>>, bell: Arc<Notify>) {
    let mut hints = store.hints();
    let mut ask: Vec<JobId> = Vec::new();
    let mut polls = Polls::new();
    loop {
        // What ended before the hints were listened to is found by asking once.
        ask.append(&mut lock(&shared).fresh);
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
            polls.note(&shared);
        }
        // Hints of others' jobs must not put the poll off.
        ask = tokio::select! {
            hint = hints.next() => hinted(&shared, hint, &mut hints, &mut polls),
            () = bell.notified() => Vec::new(),
            () = tokio::time::sleep_until(polls.at) => {
                polls.asked();
                waiting(&shared)
            }
        };
    }
}

/// What to ask for after a hint and all behind it.
fn hinted(shared: &Mutex<Shared>, first: Hint, hints: &mut HintStream, polls: &mut Polls) -> Vec<JobId> {
    let mut ended: Vec<JobId> = Vec::new();
    let mut next = Some(first);
    while let Some(hint) = next {
        if hint == Hint::Anything {
            polls.asked();
            ended = waiting(shared);
        }
        ended.extend(ended_of(hint));
        next = hints.try_next();
    }
    let shared = lock(shared);
    ended.retain(|job| shared.waiters.contains_key(job));
    ended
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
