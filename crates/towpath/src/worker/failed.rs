//! What an application's error reporter is told of an attempt that failed.

use std::sync::Arc;

use towpath_core::store::{AttemptOutcome, Head};
use towpath_core::{JobId, Kind, Report, RunId};

/// An attempt of a job or a run that failed. See [`WorkerBuilder::on_failure`](crate::WorkerBuilder::on_failure).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// The job.
    pub job: JobId,
    /// Its kind.
    pub kind: Kind,
    /// Its run, if it is one.
    pub run: Option<RunId>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// How it failed: by an error, a panic, or its timeout.
    pub outcome: AttemptOutcome,
    /// What the handler said.
    pub error: String,
}

pub(super) type Hooks = Vec<Arc<dyn Fn(&FailedAttempt) + Send + Sync>>;

/// What is said of an attempt when it fails.
pub(super) struct Subject {
    job: JobId,
    kind: Kind,
    attempt: u32,
}

impl Subject {
    pub(super) fn of(head: &Head) -> Self {
        Self { job: head.id, kind: head.kind.clone(), attempt: head.counters.attempt }
    }

    /// What to tell of a report, if it is one of a failure. One that comes after the attempt's time was over is a timeout,
    /// unless it is a success.
    pub(super) fn failed(&self, run: Option<&RunId>, report: &Report, is_late: bool) -> Option<FailedAttempt> {
        let told = |outcome, error: &str| FailedAttempt {
            job: self.job,
            kind: self.kind.clone(),
            run: run.cloned(),
            attempt: self.attempt,
            outcome,
            error: error.to_owned(),
        };
        match report {
            Report::Logged { report, .. } => self.failed(run, report, is_late),
            Report::Succeeded { .. } => None,
            Report::Failed { error, .. } if !is_late => Some(told(AttemptOutcome::Failed, error)),
            Report::Panicked { error } if !is_late => Some(told(AttemptOutcome::Panicked, error)),
            Report::Failed { error, .. } | Report::Panicked { error } => Some(told(AttemptOutcome::TimedOut, error)),
            _ if is_late => Some(told(AttemptOutcome::TimedOut, "it took longer than its timeout")),
            _ => None,
        }
    }
}
