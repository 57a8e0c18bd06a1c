//! The clock that a store reads: once per verb. The core itself never reads one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::time::{Timestamp, micros};

/// A source of the store's time.
///
/// A closure is a clock too. It may go backwards, as the clocks of machines do.
pub trait Clock: Send + Sync {
    /// The instant that it shows.
    fn now(&self) -> Timestamp;
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}

/// A clock that stands still until it is moved. Clones show the same time.
///
/// ```
/// use std::time::Duration;
/// use towpath_core::{Clock, ManualClock, Timestamp};
/// let clock = ManualClock::at(Timestamp::from_micros(5));
/// let seen_by_the_store = clock.clone();
/// clock.advance(Duration::from_micros(2));
/// assert_eq!(seen_by_the_store.now(), Timestamp::from_micros(7));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    micros: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that shows this instant.
    pub fn at(now: Timestamp) -> Self {
        Self { micros: Arc::new(AtomicI64::new(now.as_micros())) }
    }

    /// Sets it, forwards or back.
    pub fn set(&self, now: Timestamp) {
        self.micros.store(now.as_micros(), Ordering::SeqCst);
    }

    /// Moves it forwards.
    pub fn advance(&self, by: Duration) {
        self.micros.fetch_add(micros(by), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closure_is_a_clock() {
        let fixed = || Timestamp::from_micros(3);
        assert_eq!(Clock::now(&fixed), Timestamp::from_micros(3));
    }

    #[test]
    fn it_can_be_set_back() {
        let clock = ManualClock::at(Timestamp::from_micros(9));
        clock.set(Timestamp::from_micros(4));
        assert_eq!(clock.now(), Timestamp::from_micros(4));
    }
}
