//! An operator's change of what a job was enqueued with.

use crate::id::JobId;
use crate::payload::Payload;
use crate::time::Timestamp;

use super::apply::{check_input, invalid};
use super::error::StoreError;

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
    /// [`StoreErrorKind::Invalid`](super::StoreErrorKind::Invalid): nothing to change, an input that is too large or holds a NUL character, or an instant
    /// that never comes.
    pub fn check(&self, job: JobId) -> Result<(), StoreError> {
        if self.is_empty() {
            return Err(invalid(format!("nothing of job {job} is to change: give an input, a priority or an instant")));
        }
        if self.due.is_some_and(|due| due >= Timestamp::NEVER) {
            let help = "cancel it, or pause its queue";
            return Err(invalid(format!("the instant from which job {job} may run never comes: {help}")));
        }
        check_input(job, self.input.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_says_nothing_or_too_much_is_refused() {
        let refused = |edit: Edit| edit.check(JobId::from_bytes([1; 16])).unwrap_err().to_string();
        assert!(refused(Edit::default()).contains("is to change"));
        assert!(refused(Edit::default().due(Timestamp::NEVER)).contains("never comes"));
        assert!(refused(Edit::default().input(Payload::json_bytes(&b"\"\\u0000\""[..]))).contains("NUL"));
        let input = |bytes| Edit::default().input(Payload::raw(vec![1; bytes]));
        assert!(refused(input((1 << 20) + 1)).contains("1048577"));
        input(1 << 20).check(JobId::from_bytes([1; 16])).unwrap();
        Edit::default().priority(-3).check(JobId::from_bytes([1; 16])).unwrap();
    }
}
