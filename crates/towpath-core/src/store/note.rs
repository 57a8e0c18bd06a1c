//! What a handler has to say of its job while it works: how far it is, tags, and marks that the next attempt finds.

use crate::id::Fence;
use crate::limits;
use crate::payload::Payload;
use crate::progress::Progress;
use crate::tag;
use crate::time::Timestamp;

use super::{StoreError, StoreErrorKind, StoreResult};

/// What a handler says under its claim. A stale one says nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The claim.
    pub fence: Fence,
    /// How far it is, in place of what was said before.
    pub progress: Option<Progress>,
    /// Tags that the job has from now on, besides those that it has.
    pub tags: Vec<String>,
    /// What is kept across the attempts of the job, each in place of what had the name before.
    pub marks: Vec<Mark>,
}

/// Something that a job keeps across its attempts: what a step came to, or how far a cursor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name, of 1 to [`MARK_NAME_BYTES_MAX`](limits::MARK_NAME_BYTES_MAX) bytes.
    pub name: String,
    /// What it says.
    pub value: Payload,
}

/// What became of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is written.
    Done,
    /// The claim is not held any more, or not by a handler: nothing of it is written.
    Stale,
    /// With it the job would have more tags or marks than it may: nothing of it is written.
    Full,
}

/// How far a job was when it last said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressLine {
    /// What it said.
    pub progress: Progress,
    /// Which attempt said it.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
}

/// A mark that a job has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkLine {
    /// The mark.
    pub mark: Mark,
    /// When it was written.
    pub at: Timestamp,
}

impl Note {
    /// A note that says nothing yet.
    pub fn new(fence: Fence) -> Self {
        Self { fence, progress: None, tags: Vec::new(), marks: Vec::new() }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.progress.is_none() && self.tags.is_empty() && self.marks.is_empty()
    }

    /// Whether what it says must be on disk before it is answered: anything but how far the job is.
    pub fn is_durable(&self) -> bool {
        !self.tags.is_empty() || !self.marks.is_empty()
    }

    /// Checks the limits of a batch.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] with the first that it breaks, and both numbers.
    pub fn check_batch(notes: &[Self]) -> StoreResult<()> {
        let invalid = |problem: String| Err(StoreError::new(StoreErrorKind::Invalid, "note", problem));
        if notes.len() > limits::SETTLE_MAX {
            return invalid(format!("{} notes, at most {} are taken at a time", notes.len(), limits::SETTLE_MAX));
        }
        let mut bytes = 0;
        for note in notes {
            if let Err(problem) = tag::check(&note.tags) {
                return invalid(problem);
            }
            for mark in &note.marks {
                mark.check().or_else(&invalid)?;
                bytes += mark.value.bytes.len();
            }
        }
        let max = limits::BATCH_BYTES_MAX;
        if bytes > max { invalid(format!("marks of {bytes} bytes, at most {max} are taken at a time")) } else { Ok(()) }
    }
}

impl Mark {
    /// Checks its limits.
    ///
    /// # Errors
    /// The first that it breaks, with both numbers.
    pub fn check(&self) -> Result<(), String> {
        let (name, max) = (self.name.len(), limits::MARK_NAME_BYTES_MAX);
        if name == 0 || name > max || self.name.contains(char::is_control) {
            return Err(format!(
                "the mark {:?} cannot be: use 1 to {max} bytes without control characters",
                limits::cut(&self.name, 60)
            ));
        }
        let (bytes, max) = (self.value.bytes.len(), limits::PAYLOAD_BYTES_MAX);
        if bytes > max {
            return Err(format!("the mark {:?} holds {bytes} bytes, at most {max} are allowed", self.name));
        }
        self.value.check_text().map_err(|e| format!("the mark {:?}: {e}", self.name))
    }
}
