//! What a run shows to its clients while it goes on: a value that it publishes, and answers to updates.

use crate::limits;
use crate::payload::Payload;
use crate::time::Timestamp;

use super::error::{StoreError, StoreErrorKind};

/// Something that a run shows, written with a commit of the run. What it has shown under the same name before is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing {
    /// Under which name.
    pub name: String,
    /// What.
    pub payload: Payload,
}

impl Showing {
    /// The name of what a run publishes: nothing else has it.
    pub const PUBLISHED: &'static str = "";

    /// How the name of an answer begins that nobody asks for twice: once its run begins a later chapter, it is kept for
    /// [`KEEP_ANSWER`](crate::defaults::KEEP_ANSWER) only.
    pub const PASSING: char = '~';
    /// Such names are from `PASSING` on, and below this.
    pub const PAST_PASSING: char = '\x7f';

    /// What it adds to the bytes of a turn.
    pub fn bytes(&self) -> usize {
        64 + self.name.len() + self.payload.bytes.len()
    }

    /// Refuses what is too large, before anything is written.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`], with both sizes.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let (bytes, max) = (self.payload.bytes.len(), limits::PAYLOAD_BYTES_MAX);
        if bytes > max {
            let message = format!("a run shows {bytes} bytes, at most {max} are allowed");
            return Err(StoreError::new(StoreErrorKind::Invalid, "take a turn", message));
        }
        Ok(())
    }
}

/// What a run has shown last under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What.
    pub payload: Payload,
    /// When it was written.
    pub at: Timestamp,
}
