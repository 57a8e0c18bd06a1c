//! A graph's own policy of retries: whether it is retried in place when it would end failed, and after how long.
//!
//! It is decided with the graph's `end`, before its undos: they begin only once no retry is to come. So a graph whose undos were
//! decided about is not retried, and neither is one that was cancelled.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::GraphEnd;
use crate::lifecycle::StopReason;
use crate::limits;

/// How often a graph that fails is tried, and how long it waits between two tries. What failed runs again, what succeeded
/// stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GraphRetry {
    /// Generations in all, the first one included, and those that somebody has ordered: 1 is to try it once.
    pub attempts: u32,
    /// How long it waits from when it has failed, in microseconds.
    pub delay_us: u64,
}

impl GraphRetry {
    /// So many tries, so far apart. A delay of more than 584,000 years is that long.
    pub fn new(attempts: u32, delay: Duration) -> Self {
        Self { attempts, delay_us: u64::try_from(delay.as_micros()).unwrap_or(u64::MAX) }
    }

    /// How long it waits.
    pub fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us)
    }

    /// What is wrong with it, if anything is.
    pub(super) fn problem(&self) -> Option<String> {
        let max = limits::GRAPH_ATTEMPTS_MAX;
        let is_right = (1..=max).contains(&self.attempts);
        (!is_right).then(|| format!("{} attempts of the graph are out of range: use 1 to {max}", self.attempts))
    }

    /// What becomes of a graph that would end so: `None` if that is its end.
    ///
    /// What [`plan_retry`](crate::plan_retry) would refuse is not retried: the graph would be held back for nothing.
    pub fn later(&self, tries: &Tries, end: GraphEnd) -> Option<RetryLater> {
        let is_held = !matches!(tries.stop, None | Some(StopReason::Fail));
        if end != GraphEnd::Failed || is_held || tries.is_barred || tries.generation >= self.attempts {
            return None;
        }
        let (next, of, after) = (tries.generation + 1, self.attempts, self.delay());
        Some(RetryLater { after, reason: format!("its rules: generation {next} of {of}, after {after:?}") })
    }
}

/// How a graph stands to its policy when its end is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tries {
    /// Its generation, from 1.
    pub generation: u32,
    /// What holds it back.
    pub stop: Option<StopReason>,
    /// Whether a retry would be refused: an undo has ended, as those do of a graph that had succeeded before it grew.
    pub is_barred: bool,
}

/// A retry in place that begins of itself: the graph waits, then what failed runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryLater {
    /// How long it waits from now.
    pub after: Duration,
    /// Why, for people.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: GraphRetry = GraphRetry { attempts: 3, delay_us: 5_000_000 };

    fn tries(generation: u32, stop: Option<StopReason>) -> Tries {
        Tries { generation, stop, is_barred: false }
    }

    #[test]
    fn a_graph_that_failed_is_tried_until_its_attempts_are_spent() {
        let later = POLICY.later(&tries(2, None), GraphEnd::Failed).unwrap();
        assert_eq!(later.after, Duration::from_secs(5));
        assert_eq!(later.reason, "its rules: generation 3 of 3, after 5s");
        assert!(
            POLICY.later(&tries(2, Some(StopReason::Fail)), GraphEnd::Failed).is_some(),
            "that it failed fast is no cancel"
        );
        assert_eq!(POLICY.later(&tries(3, None), GraphEnd::Failed), None);
        assert_eq!(POLICY.later(&tries(4, None), GraphEnd::Failed), None, "somebody has ordered one more");
    }

    #[test]
    fn nothing_but_a_failure_is_retried_and_nothing_that_was_cancelled() {
        for end in [GraphEnd::Succeeded, GraphEnd::Cancelled] {
            assert_eq!(POLICY.later(&tries(1, None), end), None);
        }
        for stop in [StopReason::Cancel, StopReason::Retry, StopReason::Prune] {
            assert_eq!(POLICY.later(&tries(1, Some(stop)), GraphEnd::Failed), None);
        }
        let undone = Tries { is_barred: true, ..tries(1, None) };
        assert_eq!(POLICY.later(&undone, GraphEnd::Failed), None, "what undos reverse does not come back");
    }

    #[test]
    fn attempts_are_at_least_one_and_not_endless() {
        for (attempts, is_right) in [(0, false), (1, true), (1_000, true), (1_001, false)] {
            assert_eq!(GraphRetry { attempts, ..POLICY }.problem().is_none(), is_right, "{attempts}");
        }
    }
}
