//! How a handler says that it did not succeed.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use towpath_core::{Report, Retry};

use crate::durable::StepError;
use crate::middleware::Left;

/// What a handler returns when it does not succeed. Any error becomes one by `?`: it is then retried by the
/// job's policy.
///
/// It is not an [`Error`] itself, so that every error can be turned into it.
///
/// ```
/// use std::time::Duration;
/// use towpath::Failure;
///
/// fn check(code: u16) -> Result<(), Failure> {
///     match code {
///         200 => Ok(()),
///         404 => Err(Failure::permanent("no such page")),
///         429 => Err(Failure::retry_after("too many requests", Duration::from_secs(30))),
///         503 => Err(Failure::snooze(Duration::from_secs(60))),
///         _ => Err(Failure::new(format!("status {code}"))),
///     }
/// }
/// assert!(check(503).is_err());
/// ```
#[derive(Debug)]
pub struct Failure {
    what: What,
}

#[derive(Debug)]
enum What {
    Failed {
        error: String,
        retry: Retry,
        log: Option<String>,
    },
    Snoozed(Duration),
    Revoked(String),
    Skipped(String),
    Stopped,
    /// The handler panicked, as a middleware sees it.
    Panicked(String),
    /// This build cannot do it, and another may.
    Unfit(String),
}

impl Failure {
    /// A failure that is retried by the job's policy.
    pub fn new(error: impl fmt::Display) -> Self {
        Self::failed(error, Retry::ByPolicy)
    }

    /// A failure that no retry can mend: the job is dead at once.
    pub fn permanent(error: impl fmt::Display) -> Self {
        Self::failed(error, Retry::Never)
    }

    /// A failure that is retried after this long, if attempts are left.
    pub fn retry_after(error: impl fmt::Display, wait: Duration) -> Self {
        Self::failed(error, Retry::After(wait))
    }

    /// Not a failure: the job goes back for this long, and its attempt is refunded.
    pub fn snooze(wait: Duration) -> Self {
        Self { what: What::Snoozed(wait) }
    }

    /// Ends the job as cancelled. A durable function that returns it is cancelled too: its undos run.
    pub fn revoke(reason: impl fmt::Display) -> Self {
        Self { what: What::Revoked(reason.to_string()) }
    }

    /// Ends the job as skipped, as if its branch were not taken.
    pub fn skip(reason: impl fmt::Display) -> Self {
        Self { what: What::Skipped(reason.to_string()) }
    }

    /// What a handler returns when it was told to stop and has. Of one that stops because its worker shuts down, the job
    /// goes back at no cost.
    pub fn stopped() -> Self {
        Self { what: What::Stopped }
    }

    /// Adds what the attempt logged; head and tail are kept, at most 64 KiB.
    pub fn with_log(mut self, text: impl Into<String>) -> Self {
        if let What::Failed { log, .. } = &mut self.what {
            *log = Some(text.into());
        }
        self
    }

    fn failed(error: impl fmt::Display, retry: Retry) -> Self {
        Self { what: What::Failed { error: error.to_string(), retry, log: None } }
    }

    /// Whether another attempt is of no use.
    pub fn is_permanent(&self) -> bool {
        !matches!(
            self.what,
            What::Failed { retry: Retry::ByPolicy | Retry::After(_), .. } | What::Snoozed(_) | What::Panicked(_)
        )
    }

    /// Why it ends the job as cancelled, if it does.
    pub(crate) fn revokes(&self) -> Option<&str> {
        match &self.what {
            What::Revoked(reason) => Some(reason),
            _ => None,
        }
    }

    /// After how long another attempt is, if the failure says so.
    pub fn again_after(&self) -> Option<Duration> {
        match self.what {
            What::Failed { retry: Retry::After(wait), .. } | What::Snoozed(wait) => Some(wait),
            _ => None,
        }
    }

    /// A job that this build of the worker cannot do: it is blocked, spends no attempt, and is tried again when another build
    /// starts.
    pub fn unfit(problem: impl fmt::Display) -> Self {
        Self { what: What::Unfit(problem.to_string()) }
    }

    /// What an attempt left, or how it failed.
    pub(crate) fn or_left(report: Report) -> Result<Left, Self> {
        let what = match report {
            Report::Succeeded { output, branches } => return Ok(Left { output, branches }),
            Report::Logged { report, .. } => return Self::or_left(*report),
            Report::Failed { error, retry, log } => What::Failed { error, retry, log },
            Report::Snoozed { wait } => What::Snoozed(wait),
            Report::Revoked { reason } => What::Revoked(reason),
            Report::Skipped { reason } => What::Skipped(reason),
            Report::Panicked { error } => What::Panicked(error),
            Report::Undecodable { problem, .. } => What::Unfit(problem),
            _ => What::Stopped,
        };
        Err(Self { what })
    }

    /// The report of an attempt that came to this.
    pub(crate) fn report(result: Result<Left, Self>, build: u64) -> Report {
        match result {
            Ok(Left { output, branches }) => Report::Succeeded { output, branches },
            Err(failure) => failure.into_report(build),
        }
    }

    pub(crate) fn into_report(self, build: u64) -> Report {
        match self.what {
            What::Failed { error, retry, log } => Report::Failed { error, retry, log },
            What::Snoozed(wait) => Report::Snoozed { wait },
            What::Revoked(reason) => Report::Revoked { reason },
            What::Skipped(reason) => Report::Skipped { reason },
            What::Stopped => Report::Stopped,
            What::Panicked(error) => Report::Panicked { error },
            What::Unfit(problem) => Report::Undecodable { problem, build },
        }
    }
}

/// How a failure is recorded in a run's journal.
#[derive(Serialize, Deserialize)]
struct Stored {
    error: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    permanent: bool,
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored { error: self.to_string(), permanent: self.is_permanent() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { error, permanent } = Stored::deserialize(deserializer)?;
        Ok(Self::failed(error, if permanent { Retry::Never } else { Retry::ByPolicy }))
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        if let Some(StepError::Failed(failure)) = (&error as &dyn Any).downcast_ref::<StepError<Failure>>() {
            // The failure of a step is one still, also as that of another.
            return Self::failed(failure, if failure.is_permanent() { Retry::Never } else { Retry::ByPolicy });
        }
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::new(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Failed { error, .. } => f.write_str(error),
            What::Snoozed(wait) => write!(f, "put back for {wait:?}"),
            What::Revoked(reason) => write!(f, "revoked: {reason}"),
            What::Skipped(reason) => write!(f, "skipped: {reason}"),
            What::Stopped => f.write_str("stopped"),
            What::Panicked(error) | What::Unfit(error) => f.write_str(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("reading the list")]
        struct Outer(#[source] std::io::Error);
        let failure = Failure::from(Outer(std::io::Error::other("disk gone")));
        assert_eq!(failure.to_string(), "reading the list: disk gone");
    }

    #[test]
    fn the_failure_of_a_step_stays_permanent() {
        let step = |failure| Failure::from(StepError::Failed(failure));
        let permanent = step(Failure::permanent("no such page"));
        assert_eq!((permanent.to_string().as_str(), permanent.is_permanent()), ("no such page", true));
        assert!(!step(Failure::new("try again")).is_permanent());
        assert!(!Failure::from(StepError::<Failure>::Lost).is_permanent());
    }
}
