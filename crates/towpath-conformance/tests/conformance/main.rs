//! Every script on every store, and random scripts on two stores side by side.
//!
//! `TOWPATH_UPDATE=1` rewrites the answers from the store in memory; `TOWPATH_SCRIPT` runs only the
//! scripts whose path contains it.

// Helpers of tests are not tests to clippy; here a panic is the report.
#![allow(clippy::unwrap_used)]

mod differential;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod fan_in;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod faults;
mod graphs;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod interleavings;
#[cfg(feature = "postgres")]
mod postgres;
mod scripts;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod simulation;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod ticks;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod unique;
