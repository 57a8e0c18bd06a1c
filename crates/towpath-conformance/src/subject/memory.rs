//! The store in memory as a subject.

use towpath_core::store::BoxFuture;
use towpath_core::{JobId, ManualClock, MemoryStore, Store, Timestamp};

use super::{Corruption, START, Subject, SubjectResult};
use crate::error::ScriptError;

/// The store in memory, the specification of the others.
#[derive(Debug)]
pub struct MemorySubject {
    store: MemoryStore,
    clock: ManualClock,
}

impl MemorySubject {
    /// An empty store.
    pub fn new() -> Self {
        let clock = ManualClock::at(START);
        Self { store: MemoryStore::new(clock.clone()), clock }
    }
}

impl Default for MemorySubject {
    fn default() -> Self {
        Self::new()
    }
}

impl Subject for MemorySubject {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn set_clock(&mut self, now: Timestamp) -> BoxFuture<'_, SubjectResult<()>> {
        self.clock.set(now);
        Box::pin(async { Ok(()) })
    }

    fn corrupt(&mut self, job: JobId, what: Corruption) -> BoxFuture<'_, SubjectResult<()>> {
        let (left, ok) = what.parts();
        let found = self.store.corrupt(job, left, ok);
        Box::pin(async move { if found { Ok(()) } else { Err(ScriptError::new(format!("there is no node {job}"))) } })
    }

    fn crash(&mut self) -> BoxFuture<'_, SubjectResult<()>> {
        Box::pin(async { Ok(()) })
    }
}
