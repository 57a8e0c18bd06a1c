//! What an operation of a run has started: its id follows from the run and the place.

use towpath::core::replay::{Entry, Ident, OpKind, Pos};
use towpath::core::store::{Child, RunLine};
use towpath::inspect::JobDetail;
use towpath::{Client, GraphId, JobId};

use crate::problem::Problem;

/// The children of one chapter of a run.
pub(crate) struct Children {
    job: JobId,
    chapter: u32,
    /// Lines up to this one were carried over from another journal: what they have started has other ids.
    carried: u32,
    /// Nodes that hold graphs or lists name theirs in ways of their own.
    is_builtin: bool,
}

impl Children {
    pub(crate) async fn look(client: &Client, detail: &JobDetail, run: &RunLine) -> Result<Self, Problem> {
        let job = detail.line.id;
        let first = client.store().entries(job, run.chapter, 0, 1).await?;
        let carried = match first.first().map(Entry::read) {
            Some(Ok(Entry::Began { carried: Some(carried), .. })) => carried.lines,
            _ => 0,
        };
        Ok(Self { job, chapter: run.chapter, carried, is_builtin: detail.line.kind.is_reserved() })
    }

    /// What the operation has started of which the line of this number tells.
    pub(crate) fn of(&self, seq: u32, pos: Pos, op: &Ident) -> Option<Child> {
        let starts = matches!(op.kind, OpKind::Child | OpKind::Detached);
        if !starts || self.is_builtin || seq <= self.carried {
            return None;
        }
        // A graph has no version.
        Some(match op.version {
            0 => Child::Graph(GraphId::child_of(self.job, self.chapter, pos.0)),
            _ => Child::Job(JobId::child_of(self.job, self.chapter, pos.0, 0)),
        })
    }
}
