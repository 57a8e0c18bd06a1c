//! What the process's exit code says.

use towpath::GraphEnd;

/// The flow succeeded, or the command did what it was asked.
pub(crate) const SUCCEEDED: u8 = 0;
/// The flow failed, or the command could not do what it was asked.
pub(crate) const FAILED: u8 = 1;
/// The file or the command line is wrong. It is also what clap ends with.
pub(crate) const USAGE: u8 = 2;
/// The flow was cancelled.
pub(crate) const CANCELLED: u8 = 3;
/// It was interrupted, and can be resumed.
pub(crate) const INTERRUPTED: u8 = 130;

/// The code of a flow's end.
pub(crate) fn of(end: GraphEnd) -> u8 {
    match end {
        GraphEnd::Succeeded => SUCCEEDED,
        GraphEnd::Failed => FAILED,
        GraphEnd::Cancelled => CANCELLED,
    }
}
