//! The API and the pages on every store, asked as a browser and as a program asks.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod again;
mod api;
mod blocked;
mod charts;
mod commands;
mod gate;
mod history;
mod lists;
mod notes;
mod pages;
mod site;
mod steer;
mod stores;
mod works;
