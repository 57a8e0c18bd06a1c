//! When a failed job runs again.
//!
//! The jitter comes from the job and its failure count, so the same decision is the same everywhere:
//! nothing here draws randomness.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::defaults;
use crate::id::JobId;

/// Exponential back-off with a cap and jitter, and how many failures a job may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// A job with this many failures is dead. At least 1.
    pub attempts_max: u32,
    /// The wait after the first failure, in microseconds; it doubles with each further one.
    pub base_us: u64,
    /// The longest wait, in microseconds.
    pub cap_us: u64,
    /// How far a wait may be off, in percent of itself, up or down. At most 100.
    pub jitter_percent: u8,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: defaults::ATTEMPTS_MAX,
            base_us: defaults::BACKOFF_BASE.as_micros() as u64,
            cap_us: defaults::BACKOFF_CAP.as_micros() as u64,
            jitter_percent: defaults::BACKOFF_JITTER_PERCENT,
        }
    }
}

impl RetryPolicy {
    /// One attempt, no retry.
    pub fn never() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// The default back-off with another count of attempts.
    pub fn attempts(attempts_max: u32) -> Self {
        Self { attempts_max: attempts_max.max(1), ..Self::default() }
    }

    /// So many attempts with the same wait between them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use towpath_core::{JobId, RetryPolicy};
    /// let policy = RetryPolicy::fixed(3, Duration::from_secs(5));
    /// let id = JobId::from_bytes([7; 16]);
    /// assert_eq!((policy.delay(id, 1), policy.delay(id, 2)), (Some(Duration::from_secs(5)), Some(Duration::from_secs(5))));
    /// assert_eq!(policy.delay(id, 3), None);
    /// ```
    pub fn fixed(attempts_max: u32, wait: Duration) -> Self {
        Self::attempts(attempts_max).base(wait).cap(wait).jitter_percent(0)
    }

    /// So many attempts; the wait after the first failure is `base` and doubles with each further one, up to `cap`.
    pub fn exponential(attempts_max: u32, base: Duration, cap: Duration) -> Self {
        Self::attempts(attempts_max).base(base).cap(cap)
    }

    /// Sets the wait after the first failure. The longest wait is never shorter.
    pub fn base(mut self, wait: Duration) -> Self {
        self.base_us = micros(wait);
        self.cap_us = self.cap_us.max(self.base_us);
        self
    }

    /// Sets the longest wait. The first one is never longer.
    pub fn cap(mut self, wait: Duration) -> Self {
        self.cap_us = micros(wait);
        self.base_us = self.base_us.min(self.cap_us);
        self
    }

    /// Sets how far a wait may be off, in percent of itself, up or down; more than 100 is 100.
    pub fn jitter_percent(mut self, percent: u8) -> Self {
        self.jitter_percent = percent.min(100);
        self
    }

    /// How long to wait after the failure with this number (from 1), or `None` when it was the last.
    ///
    /// ```
    /// use towpath_core::{JobId, RetryPolicy};
    /// let id = JobId::from_bytes([7; 16]);
    /// let policy = RetryPolicy { jitter_percent: 0, ..RetryPolicy::attempts(3) };
    /// assert_eq!(policy.delay(id, 2).map(|d| d.as_secs()), Some(2));
    /// assert_eq!(policy.delay(id, 3), None);
    /// ```
    pub fn delay(&self, job: JobId, failures: u32) -> Option<Duration> {
        if failures >= self.attempts_max.max(1) {
            return None;
        }
        let doubled = self.base_us.saturating_mul(1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX));
        let wait = doubled.min(self.cap_us);
        let spread = u128::from(wait) * u128::from(self.jitter_percent.min(100)) / 100;
        let roll = (u128::from(mix(job, failures)) * (2 * spread + 1)) >> 64;
        let jittered = u128::from(wait) - spread + roll;
        Some(Duration::from_micros(u64::try_from(jittered).unwrap_or(u64::MAX)))
    }
}

fn micros(wait: Duration) -> u64 {
    u64::try_from(wait.as_micros()).unwrap_or(u64::MAX)
}

/// A well-spread number from a job and a count (splitmix64, Steele et al., OOPSLA 2014).
fn mix(job: JobId, count: u32) -> u64 {
    let (high, low) = job.as_uuid().as_u64_pair();
    let mut z = high ^ low.rotate_left(32) ^ (u64::from(count) << 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_survives_a_nights_outage() {
        let policy = RetryPolicy { jitter_percent: 0, ..RetryPolicy::default() };
        let id = JobId::from_bytes([1; 16]);
        let all: Duration = (1..policy.attempts_max).filter_map(|n| policy.delay(id, n)).sum();
        assert!(all > Duration::from_secs(24 * 3_600), "{all:?}");
    }

    #[test]
    fn durations_set_what_the_fields_say() {
        let policy = RetryPolicy::exponential(5, Duration::from_millis(100), Duration::from_secs(3));
        assert_eq!((policy.attempts_max, policy.base_us, policy.cap_us), (5, 100_000, 3_000_000));
        assert_eq!(policy.jitter_percent, defaults::BACKOFF_JITTER_PERCENT);
        let longer = policy.base(Duration::from_secs(9));
        assert_eq!((longer.base_us, longer.cap_us), (9_000_000, 9_000_000), "the cap rises with the base");
        let shorter = policy.cap(Duration::from_millis(1));
        assert_eq!((shorter.base_us, shorter.cap_us), (1_000, 1_000), "the base falls with the cap");
        assert_eq!(policy.base(Duration::MAX).base_us, u64::MAX);
        assert_eq!(policy.jitter_percent(200).jitter_percent, 100);
    }

    proptest! {
        #[test]
        fn a_wait_stays_within_its_jitter_and_cap(id in any::<[u8; 16]>(), failures in 1_u32..200) {
            let policy = RetryPolicy { attempts_max: u32::MAX, ..RetryPolicy::default() };
            let plain = RetryPolicy { jitter_percent: 0, ..policy };
            let id = JobId::from_bytes(id);
            let wait = policy.delay(id, failures).unwrap().as_micros() as f64;
            let exact = plain.delay(id, failures).unwrap().as_micros() as f64;
            prop_assert!(exact <= policy.cap_us as f64);
            prop_assert!(wait >= exact * 0.799 && wait <= exact * 1.201, "{wait} for {exact}");
        }
    }
}
