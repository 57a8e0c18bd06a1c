//! What is left of a run whose retention is over: its id stays taken for a while.

use crate::id::JobId;
use crate::lifecycle::End;
use crate::name::{Kind, RunId};
use crate::time::Timestamp;

/// The id of a run that was pruned, and how that run had ended. A start under this id is told of it as of a run that has
/// ended; what it left is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The id.
    pub run: RunId,
    /// The job that the run was. Nothing of it is stored any more.
    pub job: JobId,
    /// Its durable function.
    pub kind: Kind,
    /// The version of that.
    pub version: u16,
    /// How it had ended.
    pub end: End,
    /// When it had ended.
    pub ended_at: Timestamp,
    /// Until when the id stays taken at least. From then on a prune forgets it.
    pub until: Timestamp,
}
