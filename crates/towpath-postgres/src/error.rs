//! What the driver and the server say, sorted by what the caller can do.

use tokio_postgres::error::SqlState;
use towpath_core::{StoreError, StoreErrorKind};

/// Why an attempt at a verb did not go through.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server or the connection said so.
    Database(tokio_postgres::Error),
    /// The verb refuses.
    Refused(StoreError),
    /// Another has changed what was looked at: the verb is to be replayed.
    Again(&'static str),
    /// No answer in time. The connection is of no more use.
    Slow,
}

/// What a fault means to the link on which it happened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Nothing can be done here: tell the caller.
    Tell,
    /// Replay the verb.
    Replay,
    /// Another session's prepared statements are in the way, as behind a transaction pooler: do without.
    Unnamed,
    /// Tell the caller, on a new connection next time.
    Reconnect,
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// A row that contradicts another, or that this build cannot read.
    pub(crate) fn corrupt(doing: &'static str, what: impl Into<String>) -> Self {
        Self::Refused(StoreError::new(StoreErrorKind::Corrupt, doing, what))
    }

    /// What the database said, if it may be of one job alone, so that others can be carried out without it.
    pub(crate) fn of_one_job(&self) -> Option<String> {
        match self {
            Self::Refused(error) if error.kind == StoreErrorKind::Corrupt => Some(error.message.clone()),
            Self::Database(error) => {
                let (kind, _) = advice(error);
                let said = error.as_db_error()?;
                // A unique violation: whoever takes such care has tried it again already.
                let is_of_one = matches!(kind, StoreErrorKind::Corrupt | StoreErrorKind::Invalid);
                is_of_one.then(|| format!("{}: {}", said.code().code(), said.message()))
            }
            Self::Refused(_) | Self::Again(_) | Self::Slow => None,
        }
    }

    pub(crate) fn remedy(&self) -> Remedy {
        let error = match self {
            Self::Refused(_) => return Remedy::Tell,
            Self::Again(_) => return Remedy::Replay,
            Self::Slow => return Remedy::Reconnect,
            Self::Database(error) => error,
        };
        match error.code() {
            // A unique violation is an id that another has written since it was looked for; a lock that is not
            // available is one that would have been waited for in the wrong order.
            Some(code) if REPLAYED.contains(code) => Remedy::Replay,
            Some(code) if UNNAMED.contains(code) => Remedy::Unnamed,
            // After a change of roles a connection may lead to a reader for ever.
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => Remedy::Reconnect,
            Some(code) if is_lost(code) => Remedy::Reconnect,
            Some(_) => Remedy::Tell,
            None if error.is_closed() || is_io(error) => Remedy::Reconnect,
            None => Remedy::Tell,
        }
    }

    /// The error that the caller sees.
    pub(crate) fn into_store(self, doing: &'static str) -> StoreError {
        let error = match self {
            Self::Refused(error) => return error,
            Self::Again(why) => {
                let message = format!("others kept changing the same rows ({why}): try again");
                return StoreError::new(StoreErrorKind::Unavailable, doing, message);
            }
            Self::Slow => {
                return StoreError::new(StoreErrorKind::Unavailable, doing, "PostgreSQL did not answer: try again");
            }
            Self::Database(error) => error,
        };
        let (kind, advice) = advice(&error);
        let said =
            error.as_db_error().map_or_else(|| in_full(&error), |e| format!("{}: {}", e.code().code(), e.message()));
        StoreError::new(kind, doing, format!("{advice} ({said})")).because(error)
    }
}

const REPLAYED: [SqlState; 4] = [
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::UNIQUE_VIOLATION,
    SqlState::LOCK_NOT_AVAILABLE,
];
const UNNAMED: [SqlState; 2] = [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT];

fn is_lost(code: &SqlState) -> bool {
    code.code().starts_with("08")
        || [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW].contains(code)
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    io_error(error).is_some()
}

fn io_error(error: &tokio_postgres::Error) -> Option<&std::io::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// What the driver says, with what the machine said to it.
pub(crate) fn in_full(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) if !error.to_string().contains(&source.to_string()) => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

/// Why no connection came about, or what became of it.
fn without_code(error: &tokio_postgres::Error) -> (StoreErrorKind, &'static str) {
    use std::io::ErrorKind;
    match io_error(error).map(std::io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => {
            (StoreErrorKind::Unavailable, "no PostgreSQL listens there: start it, or correct host and port in the URL")
        }
        Some(ErrorKind::NotFound) => {
            (StoreErrorKind::Unavailable, "there is no such socket: start PostgreSQL, or correct the host in the URL")
        }
        Some(ErrorKind::TimedOut) => {
            (StoreErrorKind::Unavailable, "the host does not answer: check that it is up and that its port is open")
        }
        _ if error.to_string().starts_with("error connecting") => {
            (StoreErrorKind::Unavailable, "the host cannot be reached: check its name and that it is up")
        }
        _ if error.is_closed() || is_io(error) => {
            (StoreErrorKind::Unavailable, "the connection to PostgreSQL is lost: try again")
        }
        // Before anything was sent: the URL lacks something, such as a host or a password.
        _ if error.to_string().starts_with("invalid configuration") => {
            (StoreErrorKind::Invalid, "the URL of PostgreSQL lacks something")
        }
        _ if error.to_string().starts_with("error performing TLS") => {
            (StoreErrorKind::Unsupported, "connections are not encrypted: leave sslmode out, and use a tunnel")
        }
        _ => (StoreErrorKind::Corrupt, "the answer of PostgreSQL cannot be read"),
    }
}

fn advice(error: &tokio_postgres::Error) -> (StoreErrorKind, &'static str) {
    let Some(code) = error.code() else {
        return without_code(error);
    };
    match code.code() {
        "53100" => (StoreErrorKind::Full, "the disk of the PostgreSQL server is full: make room"),
        "25006" => (StoreErrorKind::ReadOnly, "this PostgreSQL server can only be read: connect to the primary"),
        "42P01" | "3F000" | "42883" | "42703" => {
            (StoreErrorKind::SchemaTooOld, "the schema is missing or too old: migrate first")
        }
        "28P01" => (StoreErrorKind::Unsupported, "PostgreSQL refuses the password: correct it in the URL"),
        "28000" => (StoreErrorKind::Unsupported, "PostgreSQL refuses the user: correct the URL, or let the user in"),
        "3D000" => (StoreErrorKind::Unsupported, "there is no such database: make it, or correct its name in the URL"),
        "42501" => (StoreErrorKind::Unsupported, "PostgreSQL refuses the user this: grant the right, or use another"),
        "54000" | "54001" | "22P05" | "22021" => (StoreErrorKind::Invalid, "PostgreSQL cannot keep such a value"),
        "53000" | "53200" | "53300" | "55P03" | "57014" | "40001" | "40P01" => {
            (StoreErrorKind::Unavailable, "PostgreSQL is busy: try again")
        }
        _ if is_lost(code) => (StoreErrorKind::Unavailable, "PostgreSQL is not available: try again"),
        _ => (StoreErrorKind::Corrupt, "PostgreSQL refused a statement"),
    }
}
