//! What went wrong, from SQLite's words to those of the contract: by what the caller can do.

use rusqlite::ffi;
use towpath_core::{StoreError, StoreErrorKind};

/// A fault on its way out, before it is known which verb it spoiled.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// The request cannot be carried out.
    Refused(StoreErrorKind, String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(error) => error.fmt(f),
            Self::Refused(_, message) => f.write_str(message),
        }
    }
}

impl Fault {
    pub(crate) fn corrupt(detail: impl Into<String>) -> Self {
        Self::Refused(StoreErrorKind::Corrupt, detail.into())
    }

    pub(crate) fn invalid(problem: impl Into<String>) -> Self {
        Self::Refused(StoreErrorKind::Invalid, problem.into())
    }

    /// The contract's error for the verb that met it.
    pub(crate) fn during(self, doing: &'static str) -> StoreError {
        let kind = self.kind();
        match self {
            Self::Refused(kind, message) => StoreError::new(kind, doing, message),
            Self::Sqlite(error) => StoreError::new(kind, doing, advice(kind, &error)).because(error),
        }
    }

    /// The same, for a second verb that shared the transaction.
    pub(crate) fn shared(&self, doing: &'static str) -> StoreError {
        let message = match self {
            Self::Refused(_, message) => message.clone(),
            Self::Sqlite(error) => advice(self.kind(), error),
        };
        StoreError::new(self.kind(), doing, message)
    }

    /// Whether it may be of one job alone, so that others can be carried out without it: the schema or a row refused.
    /// Busy, full, damaged and broken disks are everybody's.
    pub(crate) fn is_of_one_job(&self) -> bool {
        match self {
            Self::Refused(kind, _) => *kind == StoreErrorKind::Corrupt,
            Self::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => matches!(
                failure.extended_code & 0xff,
                ffi::SQLITE_ERROR | ffi::SQLITE_CONSTRAINT | ffi::SQLITE_MISMATCH | ffi::SQLITE_TOOBIG
            ),
            Self::Sqlite(_) => true,
        }
    }

    /// Whether another connection was in the way.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }

    /// What the caller can do.
    pub(crate) fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Refused(kind, _) => *kind,
            Self::Sqlite(error) => kind(error),
        }
    }
}

fn kind(error: &rusqlite::Error) -> StoreErrorKind {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        // Everything else is a row that does not have the shape that this binary wrote.
        return StoreErrorKind::Corrupt;
    };
    // The low byte is the primary code; the rest says more about the same.
    match failure.extended_code & 0xff {
        ffi::SQLITE_FULL => StoreErrorKind::Full,
        ffi::SQLITE_READONLY => StoreErrorKind::ReadOnly,
        ffi::SQLITE_CORRUPT
        | ffi::SQLITE_NOTADB
        | ffi::SQLITE_CONSTRAINT
        | ffi::SQLITE_MISMATCH
        | ffi::SQLITE_ERROR => StoreErrorKind::Corrupt,
        ffi::SQLITE_TOOBIG => StoreErrorKind::Invalid,
        _ => StoreErrorKind::Unavailable,
    }
}

fn advice(kind: StoreErrorKind, error: &rusqlite::Error) -> String {
    match kind {
        StoreErrorKind::Full => format!("{error}: make room on the disk, then try again"),
        StoreErrorKind::ReadOnly => format!("{error}: make the file and its folder writable"),
        StoreErrorKind::Corrupt if is_damage(error) => {
            format!("{error}: restore a backup, or run `sqlite3 FILE .recover`")
        }
        StoreErrorKind::Unavailable if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
            format!(
                "{error}: another transaction on the file has taken longer than five seconds: end it, then try again"
            )
        }
        _ => error.to_string(),
    }
}

/// Whether the file itself is broken, rather than a row refused.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_by_what_the_caller_can_do() {
        let of = |code| kind(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        assert_eq!(of(ffi::SQLITE_FULL), StoreErrorKind::Full);
        assert_eq!(of(ffi::SQLITE_BUSY), StoreErrorKind::Unavailable);
        assert_eq!(of(ffi::SQLITE_BUSY_SNAPSHOT), StoreErrorKind::Unavailable);
        assert_eq!(of(ffi::SQLITE_IOERR_FSYNC), StoreErrorKind::Unavailable);
        assert_eq!(of(ffi::SQLITE_READONLY_DBMOVED), StoreErrorKind::ReadOnly);
        assert_eq!(of(ffi::SQLITE_NOTADB), StoreErrorKind::Corrupt);
    }
}
