//! The PostgreSQL store of Towpath.
//!
//! One statement is one file in `queries/`, and each verb is a file here, under the same names as in the other stores. It
//! relies on nothing that a server's session keeps, so it works through a transaction pooler; NOTIFY and LISTEN only
//! make it faster. It refuses nothing that the contract allows, and it has no policy of its own.

mod address;
mod append;
mod apply;
mod blob;
mod care;
mod claim;
mod columns;
mod combine;
mod content;
mod edit;
mod enqueue;
mod error;
mod extend;
mod hints;
mod inspect;
mod items;
mod lanes;
mod low_water;
mod migrate;
mod note;
mod pause;
mod plain;
mod pooler;
mod prune;
mod queries;
mod read;
mod release;
mod requeue;
mod rescue;
mod retry;
mod rewind;
mod rows;
mod runs;
mod schedule;
mod session;
mod settle;
mod signal;
mod start;
mod steps;
mod store;
mod straight;
mod tally;
#[cfg(test)]
mod tests;
mod told;
mod transact;
mod turn;
mod undo;
mod within;

#[doc(hidden)]
pub use session::{Moment, Pause};
pub use store::{PostgresOptions, PostgresStore};
/// The driver, of which a transactional step is given a client.
pub use tokio_postgres;
pub use transact::PostgresBody;
pub use within::{EnqueueText, SignalText};
