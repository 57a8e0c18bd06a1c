//! The public API on every store: in memory, on SQLite, and on PostgreSQL where a cluster is given.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod builder;
mod compile;
mod graphs;
mod jobs;
mod kill;
mod outage;
mod runs;
mod stores;
mod two_processes;
