//! The SQLite store of Towpath: one file, embedded in the application, shared by its processes.
//!
//! It carries out the contract of `towpath_core::store`; what a job's end means is decided there and
//! never here. One connection writes, and calls that meet share one transaction and one fsync (see
//! `combine.rs`). Statements stand in `queries/`, one a file; `docs/store.md` says how the tables keep
//! the contract.
//!
//! ```no_run
//! use towpath_sqlite::{SqliteOptions, SqliteStore};
//! let store = SqliteStore::open("app/work.db", SqliteOptions::default())?;
//! # Ok::<(), towpath_core::StoreError>(())
//! ```

/// The statement of a file under `queries/`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../queries/", $name, ".sql"))
    };
}

mod append;
mod apply;
mod blob;
mod care;
mod checkpoint;
mod claim;
mod combine;
mod content;
mod db;
mod decision;
mod edit;
mod enqueue;
mod error;
mod extend;
mod filesystem;
mod freed;
mod hints;
mod inspect;
mod lane;
mod migrate;
mod note;
mod open;
mod pause;
mod place;
mod prune;
mod queries;
mod read;
mod recount;
mod release;
mod requeue;
mod rescue;
mod retry;
mod rewind;
mod rows;
mod schedule;
mod settle;
mod signal;
mod start;
mod store;
mod tally;
mod transact;
mod turn;
mod tx;
mod undo;
mod unique;
mod within;

#[cfg(test)]
mod tests;

pub use filesystem::{FsKind, fs_kind};
pub use open::{SqliteOptions, Synchronous};
/// The driver, of which a transactional step is given a connection.
pub use rusqlite;
pub use store::SqliteStore;
pub use transact::SqliteBody;
