//! Whose turn it is, and who wakes a function: what shows that it waits for something foreign.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Wake;

thread_local! {
    /// The run whose function this thread polls.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
    /// Whether that function has used an operation of another run.
    static ACCUSED: Cell<bool> = const { Cell::new(false) };
}

/// Nobody's turn.
const NOBODY: u64 = 0;

/// A number for a run in memory, never given twice in a process.
pub(super) fn new_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(NOBODY);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The run that is being polled on this thread.
pub(super) fn current() -> Option<u64> {
    Some(CURRENT.get()).filter(|number| *number != NOBODY)
}

/// The run on its turn has used an operation of another.
pub(super) fn accuse() {
    ACCUSED.set(true);
}

/// Whether the run on its turn has, since the last look.
pub(super) fn is_accused() -> bool {
    ACCUSED.replace(false)
}

/// Makes it a run's turn until it is dropped.
pub(super) struct Turn {
    before: u64,
}

impl Turn {
    pub(super) fn of(number: u64) -> Self {
        Self { before: CURRENT.replace(number) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Wakes the root of a function. Operations wake it within its turn; whoever does so outside is a stranger.
pub(super) struct RootWaker {
    number: u64,
    woken: AtomicBool,
    stranger: Mutex<Option<String>>,
}

impl RootWaker {
    pub(super) fn new(number: u64) -> Self {
        Self { number, woken: AtomicBool::new(false), stranger: Mutex::new(None) }
    }

    /// Whether it was woken since the last look.
    pub(super) fn take(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    /// The thread of a stranger that has woken it.
    pub(super) fn stranger(&self) -> Option<String> {
        self.stranger.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Wake for RootWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        if current() != Some(self.number) {
            let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
            self.stranger.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(thread);
        }
        self.woken.store(true, Ordering::Release);
    }
}
