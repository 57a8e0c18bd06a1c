//! An operator's change of what a job was enqueued with.

use crate::limits;
use crate::payload::Payload;
use crate::time::Timestamp;

use super::error::{StoreError, StoreErrorKind};

/// What is to be changed of a job that is not with a worker; `None` leaves as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edit {
    /// What its handler is given.
    pub input: Option<Payload>,
    /// Its priority: higher first. A ready job stands behind all that have it already.
    pub priority: Option<i16>,
    /// From when it may be claimed; an instant that has passed is now. Of a node that waits: not before its parents allow it.
    pub due: Option<Timestamp>,
}

impl Edit {
    /// Changes the input. It must be of the version with which the job was enqueued.
    pub fn input(mut self, input: Payload) -> Self {
        self.input = Some(input);
        self
    }

    /// Changes the priority.
    pub fn priority(mut self, priority: i16) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Changes from when it may be claimed.
    pub fn due(mut self, due: Timestamp) -> Self {
        self.due = Some(due);
        self
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses what breaks a limit, before anything is written.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`]: nothing to change, an input that is too large or holds a NUL character, or an instant
    /// that never comes.
    pub fn check(&self) -> Result<(), StoreError> {
        let invalid = |message: String| Err(StoreError::new(StoreErrorKind::Invalid, "edit a job", message));
        if self.is_empty() {
            return invalid("there is nothing to change: give an input, a priority or an instant".into());
        }
        if let Some(input) = &self.input {
            let (bytes, max) = (input.bytes.len(), limits::PAYLOAD_BYTES_MAX);
            if bytes > max {
                return invalid(format!("the input has {bytes} bytes, at most {max} are allowed"));
            }
            if let Err(e) = input.check_text() {
                return invalid(format!("the input: {e}"));
            }
        }
        if self.due.is_some_and(|due| due >= Timestamp::NEVER) {
            return invalid("the instant never comes: cancel the job, or pause its queue".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_says_nothing_or_too_much_is_refused() {
        let refused = |edit: Edit| edit.check().unwrap_err().to_string();
        assert!(refused(Edit::default()).contains("nothing to change"));
        assert!(refused(Edit::default().due(Timestamp::NEVER)).contains("never comes"));
        assert!(refused(Edit::default().input(Payload::json_bytes(&b"\"\\u0000\""[..]))).contains("NUL"));
        let input = |bytes| Edit::default().input(Payload::raw(vec![1; bytes]));
        assert!(refused(input((1 << 20) + 1)).contains("1048577"));
        input(1 << 20).check().unwrap();
        Edit::default().priority(-3).check().unwrap();
    }
}
