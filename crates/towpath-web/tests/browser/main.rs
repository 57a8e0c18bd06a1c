//! The pages in a real browser, on SQLite and PostgreSQL: nothing complains, everything is live, every button works.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod axe;
mod driver;
mod large;
mod pages;
mod served;
mod shots;
#[path = "../it/stores.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "shared with the tests that need no browser")]
mod stores;
#[path = "../it/works.rs"]
#[allow(dead_code, reason = "shared with the tests that need no browser")]
mod works;

use served::Served;
