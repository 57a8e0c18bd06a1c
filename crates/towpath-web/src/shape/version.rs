//! What of each version has not ended, and whether it is still needed, as the API has it.

use serde::Serialize;

use super::instant_of;
use crate::look::versions::Line;

#[derive(Debug, Serialize)]
pub(crate) struct Version {
    kind: String,
    version: u16,
    open: u64,
    runs: u64,
    oldest: Option<String>,
    /// Living workers that take it.
    served_by: usize,
    /// Whether it may be removed from the code: workers take it, nothing of it is open, and a newer one is enqueued.
    may_go: bool,
}

impl Version {
    pub(crate) fn of(line: &Line) -> Self {
        Self {
            kind: line.kind.to_string(),
            version: line.version,
            open: line.open,
            runs: line.runs,
            oldest: instant_of(line.oldest),
            served_by: line.served_by,
            may_go: line.may_go(),
        }
    }
}
