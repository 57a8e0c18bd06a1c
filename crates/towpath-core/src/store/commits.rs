//! How many transactions a store has committed, and what waiting for the disk has cost. For people and benches: nothing is
//! decided by it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many transactions have written, since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitCounts {
    /// Those that were on disk before they were answered.
    pub durable: u64,
    /// Those that were not, because losing them costs nothing.
    pub lazy: u64,
    /// The time spent in the durable ones' `COMMIT`, most of it waiting for the disk.
    pub durable_time: Duration,
}

/// Counts commits, from any thread.
#[derive(Debug, Default)]
pub struct Commits {
    durable: AtomicU64,
    durable_ns: AtomicU64,
    lazy: AtomicU64,
}

impl Commits {
    /// One that was on disk before it was answered.
    pub fn durable(&self, took: Duration) {
        self.durable_ns.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.durable.fetch_add(1, Ordering::Relaxed);
    }

    /// One that was not.
    pub fn lazy(&self) {
        self.lazy.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn counts(&self) -> CommitCounts {
        CommitCounts {
            durable: self.durable.load(Ordering::Relaxed),
            lazy: self.lazy.load(Ordering::Relaxed),
            durable_time: Duration::from_nanos(self.durable_ns.load(Ordering::Relaxed)),
        }
    }
}
