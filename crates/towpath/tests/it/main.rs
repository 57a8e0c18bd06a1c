//! The public API on every store: in memory, on SQLite, and on PostgreSQL where a cluster is given.

mod graphs;
mod jobs;
mod kill;
mod stores;
mod two_processes;
