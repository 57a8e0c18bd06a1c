//! The proof of a store: plain-text scripts, a runner for them, and a source of random ones.
//!
//! A [`Script`] is a list of commands with the answers that every store must give; a [`Runner`]
//! carries them out on a [`Subject`], which is a store with a clock that can be set. Outcomes go
//! through the core, so a script tests the store and the core's decisions together. `docs/scripts.md`
//! describes the language.

mod args;
mod chance;
mod error;
mod files;
mod names;
mod random;
mod run;
mod say;
mod script;
mod span;
mod subject;

pub use chance::Chance;
pub use error::ScriptError;
pub use files::{find, rewrite};
pub use random::{Mix, RandomScript};
pub use run::Runner;
pub use script::{Command, Mismatch, Script};
#[cfg(feature = "postgres")]
pub use subject::PostgresSubject;
#[cfg(feature = "sqlite")]
pub use subject::SqliteSubject;
pub use subject::{Corruption, MemorySubject, Subject, SubjectResult};
