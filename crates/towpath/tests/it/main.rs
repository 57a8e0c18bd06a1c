//! The public API on every store: in memory, on SQLite, and on PostgreSQL where a cluster is given.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod again;
mod agent;
mod append;
mod blocked;
mod builder;
mod builtin;
mod cancel_run;
mod chapters;
mod children;
mod compile;
mod durable;
mod edits;
mod graph_limits;
mod graphs;
mod handlers;
mod harness;
mod jobs;
mod kill;
mod macros;
mod maps;
mod misuse;
mod onboarding;
mod outage;
mod pause_run;
mod proof;
mod publish;
mod queues;
mod refused;
mod requeue;
mod retry;
mod runs;
mod schedules;
mod starts;
mod stores;
mod streams;
mod sweep;
mod transfers;
mod two_processes;
mod undo;
mod unfit;
mod unique;
mod updates;
mod within;
mod workers;
