//! The rules a job carries with it, so that any worker's core can decide about it.
//!
//! A store keeps them as one opaque JSON text and never reads it; a job with all defaults keeps none.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::defaults;
use crate::lifecycle::{End, StopReason};
use crate::name::Label;
use crate::retry::RetryPolicy;
use crate::store::{Parent, Telling};
use crate::unique::OwnKey;

/// Retry, timeout, crash limit, retention and branches of one job.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct JobRules {
    /// When a failed attempt is tried again.
    #[serde(skip_serializing_if = "is_default")]
    pub retry: RetryPolicy,
    /// How long one attempt may take, in microseconds; `None` is for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_us: Option<u64>,
    /// Crashes in a row after which the job is quarantined. At least 1.
    #[serde(skip_serializing_if = "is_crash_limit")]
    pub crash_limit: u32,
    /// How long a job that succeeded or was skipped stays stored, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_us: Option<u64>,
    /// How long a job that ended otherwise stays stored, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_failed_us: Option<u64>,
    /// The branches that it may choose, if it is a gate. An attempt that chooses another one fails. Empty where
    /// none were declared: then any may be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Whether its failure stops its graph. Set for the nodes of a graph that fails fast.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// The run that has started it, if one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The unique key that it has again when it is put back. A store sets it from [`NewJob::unique`](crate::NewJob::unique).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_key: Option<OwnKey>,
}

impl Default for JobRules {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            timeout_us: None,
            crash_limit: defaults::CRASH_LIMIT,
            keep_us: None,
            keep_failed_us: None,
            labels: Vec::new(),
            fail_fast: false,
            parent: None,
            own_key: None,
        }
    }
}

fn is_default(retry: &RetryPolicy) -> bool {
    *retry == RetryPolicy::default()
}

fn is_crash_limit(limit: &u32) -> bool {
    *limit == defaults::CRASH_LIMIT
}

impl JobRules {
    /// The stored form: `None` when every rule is the default.
    pub fn to_stored(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        // A struct of numbers always has a JSON form.
        serde_json::to_string(self).ok()
    }

    /// Reads the stored form. Fields that this build does not know are ignored, missing ones take
    /// their default.
    ///
    /// # Errors
    /// The text is not JSON of that shape: the row is corrupt.
    pub fn from_stored(text: Option<&str>) -> Result<Self, serde_json::Error> {
        text.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }

    /// How long one attempt may take.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_us.map(Duration::from_micros)
    }

    /// What an end of the job does to its graph.
    pub fn stops(&self, end: End) -> Option<StopReason> {
        (self.fail_fast && end.is_failure()).then_some(StopReason::Fail)
    }

    /// The run that is told of its end.
    pub fn tells(&self) -> Option<Box<Telling>> {
        let Parent { run, awaits } = self.parent.as_ref()?;
        Some(Box::new(Telling { run: run.clone(), name: awaits.clone()?, error: None }))
    }

    /// How long a lone job with this end stays stored.
    pub fn keep(&self, end: End) -> Duration {
        match end {
            End::Succeeded | End::Skipped(_) => self.keep_us.map_or(defaults::KEEP_JOB, Duration::from_micros),
            _ => self.keep_failed_us.map_or(defaults::KEEP_FAILED, Duration::from_micros),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_not_stored_and_others_round_trip() {
        assert_eq!(JobRules::default().to_stored(), None);
        let rules = JobRules { retry: RetryPolicy::attempts(3), timeout_us: Some(5), ..JobRules::default() };
        let stored = rules.to_stored().unwrap();
        assert_eq!(JobRules::from_stored(Some(&stored)).unwrap(), rules);
        assert!(JobRules::from_stored(Some("{\"later\":1}")).is_ok());
        assert!(JobRules::from_stored(Some("3 times")).is_err());
    }
}
