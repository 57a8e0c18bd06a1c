//! Instants and durations as stores keep them: microseconds.
//!
//! There is no `now` here. The store's clock is read once per transaction and every reply carries
//! what it said; decisions speak in durations.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// An instant on the store's clock, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest instant that a store keeps.
    pub const ZERO: Self = Self(0);
    /// An instant that never comes.
    pub const NEVER: Self = Self(i64::MAX);

    /// Takes microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this instant is; zero when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A duration in whole microseconds, at most what a [`Timestamp`] can be moved by.
pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// A duration from stored microseconds; negative ones are zero.
pub fn from_micros(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Timestamp::NEVER + Duration::from_secs(1), Timestamp::NEVER);
        assert_eq!(Timestamp::ZERO + Duration::MAX, Timestamp::NEVER);
        assert_eq!(Timestamp::ZERO.since(Timestamp::from_micros(5)), Duration::ZERO);
        assert_eq!(from_micros(-1), Duration::ZERO);
    }
}
