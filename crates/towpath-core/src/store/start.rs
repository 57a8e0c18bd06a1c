//! A run to start whose id may be taken, and a signal that comes with it.

use crate::job::NewJob;

use super::enqueue::Refusal;
use super::signal::Arrival;

/// A run to start, in one transaction with what becomes of the one that has its id, and with a signal.
#[derive(Clone, Debug)]
pub struct Start {
    /// The run. It has no unique key.
    pub job: NewJob,
    /// What to do if its id is taken.
    pub taken: Taken,
    /// What is sent to the run of this id, whether it is started now or there already.
    pub signal: Option<Arrival>,
}

/// What a start does if a run of its id is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is refused, whether that run has ended or not: nothing is sent.
    Refuse,
    /// One that has not ended is sent the signal, and is the answer; one that has ended is a refusal.
    Join,
    /// The same, but one that has ended makes place: it goes with all that is kept of it, as if its retention were over. A
    /// node of a graph does not.
    ReplaceEnded,
}

impl Start {
    /// Checks what can be refused without a look at the store.
    ///
    /// # Errors
    /// The first limit that it breaks; or that it is no run, has a unique key, or that its signal is for another run.
    pub fn check(&self) -> Result<(), Refusal> {
        let invalid = |problem: &str| Err(Refusal::Invalid { problem: format!("job {}: {problem}", self.job.id) });
        let Some(run) = &self.job.run else { return invalid("a start is of a run: give it an id") };
        if self.job.unique.is_some() {
            return invalid("a run has an id and no unique key: leave the key out");
        }
        self.job.check()?;
        match &self.signal {
            Some(signal) if signal.run != *run => invalid("the signal of a start is for another run"),
            Some(signal) => signal.check(),
            None => Ok(()),
        }
    }

    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        self.job.bytes() + self.signal.as_ref().map_or(0, Arrival::bytes)
    }
}
