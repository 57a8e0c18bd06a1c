//! What a run shows to its clients while it goes on: a value that it publishes, answers to updates, and lines of streams.

use crate::limits;
use crate::payload::Payload;
use crate::time::Timestamp;

use super::error::{StoreError, StoreErrorKind};

/// Something that a run shows, written with a commit of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing {
    /// Under which name.
    pub name: String,
    /// What.
    pub payload: Payload,
    /// Whether it is the next line of the stream of this name. If not, what was shown under the name before is gone; lines of a
    /// stream stay, and are apart from it.
    pub is_line: bool,
}

/// A line of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamLine {
    /// Its number, from 1, without gaps.
    pub number: u64,
    /// What.
    pub payload: Payload,
    /// When it was written.
    pub at: Timestamp,
}

impl Showing {
    /// The name of what a run publishes: nothing else has it.
    pub const PUBLISHED: &'static str = "";

    /// How the name of an answer begins that nobody asks for twice: once its run begins a later chapter, it is kept for
    /// [`KEEP_ANSWER`](crate::defaults::KEEP_ANSWER) only.
    pub const PASSING: char = '~';
    /// Such names are from `PASSING` on, and below this.
    pub const PAST_PASSING: char = '\x7f';

    /// What is shown in place of what had the name before.
    pub fn value(name: impl Into<String>, payload: Payload) -> Self {
        Self { name: name.into(), payload, is_line: false }
    }

    /// The next line of a stream.
    pub fn line(name: impl Into<String>, payload: Payload) -> Self {
        Self { name: name.into(), payload, is_line: true }
    }

    /// Adds it to what is shown together: a value in place of one of its name.
    pub fn add_to(self, shows: &mut Vec<Self>) {
        if !self.is_line {
            shows.retain(|other| other.is_line || other.name != self.name);
        }
        shows.push(self);
    }

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

/// A stream into which a run has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// Its name.
    pub name: String,
    /// How many lines it has.
    pub lines: u64,
    /// When the newest was written.
    pub at: Timestamp,
}

/// What a run has shown last under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What.
    pub payload: Payload,
    /// When it was written.
    pub at: Timestamp,
}
