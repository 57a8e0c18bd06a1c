//! A run to start whose id may be taken, and a signal that comes with it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::JobId;
use crate::job::NewJob;
use crate::limits;
use crate::name::RunId;
use crate::payload::Payload;
use crate::replay::Kept;

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
    /// The run from whose journal it goes on, if it does. Its id must be free then.
    pub fork: Option<Box<Fork>>,
}

/// How a run begins that goes on from the journal of another one, which stays as it is.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The job that is the other run.
    pub of: JobId,
    /// Where it goes on from, for people.
    pub origin: ForkedFrom,
    /// The first line of its journal.
    pub first: Payload,
    /// What follows it, of the other one's lines.
    pub kept: Kept,
}

/// Where a run was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The run.
    pub run: RunId,
    /// The chapter of that run.
    pub chapter: u32,
    /// The operation of the function before which it began to go its own way, counted from 1.
    pub at: u32,
}

impl fmt::Display for ForkedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.run)?;
        if self.chapter > 1 {
            write!(f, ", chapter {}", self.chapter)?;
        }
        write!(f, ", at operation {}", self.at)
    }
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
        if let Some(fork) = &self.fork {
            if self.taken != Taken::Refuse {
                return invalid("a fork is of an id that is free: choose another");
            }
            if !fork.kept.is_sound() {
                return invalid("the lines that it is to go on from are not in order");
            }
            let (bytes, max) = (fork.first.bytes.len(), limits::PAYLOAD_BYTES_MAX);
            if bytes > max {
                return Err(Refusal::TooLarge { what: "the first line of a fork".into(), bytes, max });
            }
        }
        match &self.signal {
            Some(signal) if signal.run != *run => invalid("the signal of a start is for another run"),
            Some(signal) => signal.check(),
            None => Ok(()),
        }
    }

    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        let fork = self.fork.as_ref().map_or(0, |fork| fork.first.bytes.len());
        self.job.bytes() + self.signal.as_ref().map_or(0, Arrival::bytes) + fork
    }
}
