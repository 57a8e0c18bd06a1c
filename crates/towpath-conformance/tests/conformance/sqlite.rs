//! The SQLite store: every script as it is, with a crash between any two commands, and at random.

use towpath_conformance::SqliteSubject;

use crate::differential::{Plan, compare};
use crate::scripts::{Crashes, run_all};

#[tokio::test]
async fn scripts_hold_on_sqlite() {
    run_all(Crashes::Never, async |_| SqliteSubject::new().await.unwrap()).await;
}

#[tokio::test]
async fn scripts_hold_on_sqlite_when_its_process_dies_after_every_answer() {
    run_all(Crashes::Always, async |_| SqliteSubject::new().await.unwrap()).await;
}

#[tokio::test]
async fn sqlite_agrees_with_memory_on_a_random_script() {
    compare(SqliteSubject::new().await.unwrap(), Plan::new(20_000)).await;
}
