//! Why a run cannot go on here: never an error that the function could catch, but a stop of the whole pass, which writes
//! nothing.

use std::fmt;
use std::panic::Location;

use super::entry::{Ident, Pos};

/// Why the function was stopped between two of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interrupt {
    /// Code and journal disagree.
    Mismatch(Box<Mismatch>),
    /// The function does what a durable function cannot do.
    Misuse(Misuse),
    /// A recorded outcome means nothing to this code.
    Undecodable {
        /// The operation.
        pos: Pos,
        /// Who it is.
        op: Ident,
        /// What is wrong with it.
        problem: String,
    },
    /// A value has no stored form.
    Unencodable {
        /// Which.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Something that steps need is not there in this worker.
    Missing {
        /// What.
        what: String,
    },
    /// It panicked, and would again.
    Panicked {
        /// What the panic said.
        text: String,
    },
}

/// Where code and journal disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The operation's place.
    pub pos: Pos,
    /// How they disagree.
    pub how: Disagreement,
    /// What the journal says.
    pub journal: Option<Ident>,
    /// What the code says.
    pub code: Option<Ident>,
    /// Where in the code.
    pub place: Option<&'static Location<'static>>,
}

/// How code and journal disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// One says step where the other says timer, and so on.
    Kind,
    /// Two names.
    Name,
    /// Two versions.
    Version,
    /// Two inputs.
    Input,
    /// The journal has it, and the code does not come to it.
    NotReached,
    /// The code has it, and the journal, which should, does not.
    NotRecorded,
    /// The function returned, and the journal goes on.
    ReturnedEarly,
    /// The journal has an end, and the function goes on.
    GoesOn,
}

impl Disagreement {
    /// How two operations at one place differ, if they do.
    pub(crate) fn between(journal: &Ident, code: &Ident) -> Option<Self> {
        if journal.kind != code.kind {
            Some(Self::Kind)
        } else if journal.name != code.name {
            Some(Self::Name)
        } else if journal.version != code.version {
            Some(Self::Version)
        } else if journal.input != code.input {
            Some(Self::Input)
        } else {
            None
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Kind => "another kind of operation",
            Self::Name => "another name",
            Self::Version => "another version",
            Self::Input => "another input",
            Self::NotReached => "the journal has an operation that the code does not come to",
            Self::NotRecorded => "the code has an operation that the journal does not",
            Self::GoesOn => "the journal has an end, and the function goes on",
            Self::ReturnedEarly => "the function returned, and the journal goes on",
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the code and the journal disagree at operation {}: {}", self.pos, self.how.text())?;
        if let Some(journal) = &self.journal {
            write!(f, "\n  journal: {journal}")?;
        }
        if let Some(code) = &self.code {
            write!(f, "\n  code:    {code}")?;
        }
        if let Some(place) = self.place {
            write!(f, " at {}:{}", place.file(), place.line())?;
        }
        f.write_str(
            "\n  it goes on by itself when a worker with fitting code starts; to keep changed code, put the change \
             behind cx.patched(\"…\") or give the function a new version",
        )
    }
}

/// What a durable function cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// It waits, but for nothing of its own.
    WaitsForNothing,
    /// It was woken by something that is not its own.
    ForeignWake {
        /// The thread that did it.
        thread: String,
    },
    /// It built or polled an operation of another run.
    OtherRun,
    /// It wakes itself without end.
    Spins,
    /// It started a task.
    Spawned,
    /// It used something of the runtime beneath the worker.
    Runtime {
        /// What.
        what: &'static str,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitsForNothing => f.write_str(
                "the function waits for something that is not an operation of its `cx`, which no replay can repeat: \
                 do that in a step, and wait for the step",
            ),
            Self::ForeignWake { thread } => write!(
                f,
                "the function was woken by thread {thread:?} and not by an operation of its `cx`: what it waits for \
                 there cannot be repeated by replay; do that in a step",
            ),
            Self::OtherRun => f.write_str(
                "an operation of one run was used in another: a `cx` belongs to one run; use signals between runs",
            ),
            Self::Spins => f.write_str(
                "the function wakes itself without end and does not use its `cx`: wait with cx.sleep, or do the work \
                 in a step",
            ),
            Self::Runtime { what } => write!(
                f,
                "the function uses {what}, which no replay can repeat: wait with cx.sleep or cx.timeout, and do all else \
                 in a step"
            ),
            Self::Spawned => f.write_str(
                "the function started a task, which would be lost with the process: use cx.join, or spawn in a step",
            ),
        }
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => mismatch.fmt(f),
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::Undecodable { pos, op, problem } => {
                write!(f, "the recorded outcome of operation {pos}, {op}, does not fit the code: {problem}")
            }
            Self::Unencodable { name, problem } => write!(f, "{name} cannot be stored: {problem}"),
            Self::Missing { what } => f.write_str(what),
            Self::Panicked { text } => write!(f, "the function panicked: {text}"),
        }
    }
}
