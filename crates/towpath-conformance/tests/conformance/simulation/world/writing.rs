//! A handler that is a run: what it writes under its claim, and where that leaves it.

use std::time::Duration;

use towpath_core::{Payload, Report, RunCommit, RunId};

/// A run under a claim: it writes so often and goes on, then parks or ends.
pub(super) struct Writing {
    pub(super) id: RunId,
    pub(super) left: u32,
    pub(super) park: Option<Duration>,
    /// How many signals it has read.
    pub(super) read: u32,
    /// Whether what it wrote last was to be its last.
    pub(super) leaves: bool,
}

impl Writing {
    /// What it writes next: a line, and with the last one where that leaves it.
    pub(super) fn write(&mut self, report: &Report, number: u64) -> RunCommit {
        let journal = vec![Payload::json(&number).unwrap()];
        self.leaves = self.left == 0;
        if !self.leaves {
            self.left -= 1;
            return RunCommit { journal, ..RunCommit::default() };
        }
        let then = match self.park {
            Some(wait) => Report::Parked { until: Some(wait) },
            None => report.clone(),
        };
        RunCommit { journal, read: Some(self.read), then: Some(then), ..RunCommit::default() }
    }
}
