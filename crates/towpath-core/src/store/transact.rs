//! What a run does inside the database: the application's rows and lines of the run's journal in one commit.

use std::any::Any;
use std::fmt;

use crate::id::Fence;
use crate::payload::Payload;

use super::show::Showing;

/// A piece of a run, or of a plain job, that is done inside the store's own database.
pub struct Transact {
    /// The claim under which it is done. A stale one does nothing.
    pub fence: Fence,
    /// Lines of the journal that come before it.
    pub journal: Vec<Payload>,
    /// What the run shows with it.
    pub shows: Vec<Showing>,
    /// Of a plain job, which has no journal: the mark under which the line is kept, if the rows are. Of a run `None`.
    pub mark: Option<String>,
    /// What to do, of the type that the store names: [`MemoryBody`] for the one in memory.
    pub body: Box<dyn Any + Send>,
}

impl fmt::Debug for Transact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transact").field("fence", &self.fence).field("journal", &self.journal).finish_non_exhaustive()
    }
}

/// How such a piece ends.
#[derive(Clone, Debug)]
pub struct TxEnd {
    /// What becomes of the application's rows. The line of a journal is written in either case, a mark only with the rows.
    pub rows: Rows,
    /// The line of the journal that says what it came to, or the mark of a plain job.
    pub line: Payload,
}

/// What becomes of the application's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// They are committed.
    Keep,
    /// They are undone.
    Undo,
}

/// What the store in memory does, which has no rows of an application's.
pub type MemoryBody = Box<dyn FnOnce() -> TxEnd + Send>;

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transacted {
    /// It was done, and its line is on disk.
    Done,
    /// The same, and the run is paused: its worker is to bring what it has begun to an end, and hold it.
    Paused,
    /// The claim is not held any more: nothing was done.
    Stale,
    /// The body is made for another database: nothing was done.
    WrongDatabase,
}
