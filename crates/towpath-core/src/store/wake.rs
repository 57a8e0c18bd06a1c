//! A wake-up that waits for the commit of an application's transaction.

use std::fmt;

/// Wakes workers for what a transaction of an application's has enqueued. Rung before the commit it is for nothing; dropped, they
/// find the work at their next poll.
#[must_use = "workers are woken by `ring`, after the commit; otherwise they find the work at their next poll"]
pub struct Wake(Vec<Box<dyn FnOnce() + Send>>);

impl Wake {
    /// What is to be done after the commit. For stores.
    pub fn new(ring: impl FnOnce() + Send + 'static) -> Self {
        Self(vec![Box::new(ring)])
    }

    /// Nothing to wake.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Both wake-ups as one.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Wakes workers, here and in other processes. For when the transaction is committed.
    pub fn ring(self) {
        self.0.into_iter().for_each(|ring| ring());
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wake").finish_non_exhaustive()
    }
}
