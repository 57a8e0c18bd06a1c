//! What a worker counts for the charts, and hands to the store every few seconds. Nothing of it is on a job's way: a count is
//! a look into a small map of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use towpath_core::store::Claimed;
use towpath_core::tally::{Counted, Record, Tally, Width};
use towpath_core::{Kind, Queue, Store, Timestamp, defaults, limits};

use crate::random;

/// What was counted since it was last handed over, by minute, queue and kind.
#[derive(Clone, Default)]
pub(super) struct Tallies(Arc<Mutex<Counts>>);

type Counts = HashMap<(Timestamp, Queue, Kind), Tally>;

/// An attempt at work, as it is to be counted.
pub(super) struct Timed {
    queue: Queue,
    kind: Kind,
    began: Instant,
    /// How long ago the attempt's count of time began: nothing, but for a run, whose time is from its enqueue to its end.
    before: Duration,
}

impl Tallies {
    /// Counts the wait of what starts now, by the store's clock.
    pub(super) fn started(&self, claimed: &Claimed, now: Timestamp) -> Timed {
        let head = &claimed.head;
        let since = now.since(claimed.enqueued_at);
        let is_first = head.counters.attempt <= 1 && head.counters.failures + head.counters.crashes == 0;
        let has_begun = claimed.run.as_ref().is_some_and(|run| run.entries > 0 || run.chapter > 1);
        // A node waits for its parents first, and nobody says since when it does not.
        if is_first && !has_begun && head.node.is_none() {
            self.of(now, &head.queue, &head.kind, |tally| tally.wait.add(since));
        }
        let before = if claimed.run.is_some() { since } else { Duration::ZERO };
        Timed { queue: head.queue.clone(), kind: head.kind.clone(), began: Instant::now(), before }
    }

    /// Counts an attempt that is over.
    pub(super) fn ended(&self, timed: &Timed, counted: Counted, now: Timestamp) {
        let took = timed.before + timed.began.elapsed();
        self.of(now, &timed.queue, &timed.kind, |tally| tally.ended(counted, took));
    }

    fn of(&self, now: Timestamp, queue: &Queue, kind: &Kind, count: impl FnOnce(&mut Tally)) {
        count(self.lock().entry((Width::Minute.start(now), queue.clone(), kind.clone())).or_default());
    }

    fn take(&self) -> Vec<Record> {
        let all = std::mem::take(&mut *self.lock());
        all.into_iter().map(|((at, queue, kind), tally)| Record { at, queue, kind, tally }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what was counted. What the store does not take is lost: it may have been added, and must not be twice.
    pub(super) async fn hand_over(&self, store: &Arc<dyn Store>) {
        let mut records = self.take();
        while !records.is_empty() {
            let rest = records.split_off(records.len().min(limits::RECORDS_MAX));
            if let Err(error) = store.record(records).await {
                tracing::debug!(%error, "what was counted is left out of the charts");
            }
            records = rest;
        }
    }
}

/// Hands over until it is dropped; first after a part of the pause that is drawn, so that workers come one after the other.
pub(super) async fn keep_recording(store: Arc<dyn Store>, tallies: Tallies) {
    tokio::time::sleep(defaults::RECORD.mul_f64(random::fraction())).await;
    loop {
        tallies.hand_over(&store).await;
        tokio::time::sleep(defaults::RECORD).await;
    }
}
