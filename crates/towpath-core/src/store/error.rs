//! What can go wrong with a store as a whole, sorted by what the caller can do.

use std::error::Error;
use std::fmt;

/// A verb that could not be carried out. Whether it happened is unknown only for
/// [`StoreErrorKind::Unavailable`].
#[derive(Debug)]
pub struct StoreError {
    /// What the caller can do.
    pub kind: StoreErrorKind,
    /// What was being done, such as `claim`.
    pub doing: &'static str,
    /// What went wrong and what to do, for people.
    pub message: String,
    /// What the driver said.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Errors by what the caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached or is busy: try again. The verb may have happened.
    Unavailable,
    /// The disk is full: make room, then try again. Nothing was written.
    Full,
    /// The store can only be read. Nothing was written.
    ReadOnly,
    /// The worker is not registered: it holds nothing any more.
    UnknownWorker,
    /// A turn with a lower number than the last one: another call has overtaken it.
    StaleTurn,
    /// The request breaks a limit. Nothing was written.
    Invalid,
    /// The schema is older than this binary needs: migrate.
    SchemaTooOld,
    /// The schema no longer serves this binary: use a newer one.
    SchemaTooNew,
    /// The stored data contradicts itself, or is no store of this product.
    Corrupt,
    /// The store cannot work where it was put, such as on a network file system.
    Unsupported,
}

impl StoreError {
    /// An error without a driver's error beneath it.
    pub fn new(kind: StoreErrorKind, doing: &'static str, message: impl Into<String>) -> Self {
        Self { kind, doing, message: message.into(), source: None }
    }

    /// Adds what the driver said.
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Whether trying again later can help.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable | StoreErrorKind::Full | StoreErrorKind::ReadOnly)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}: {}", self.doing, self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
