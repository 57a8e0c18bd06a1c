//! The PostgreSQL store: every script as it is, with new connections between any two commands, and at
//! random. `TOWPATH_TEST_POSTGRES` names a cluster to be thrown away, with a superuser's URL.

use std::io::Write as _;

use towpath_conformance::PostgresSubject;

use crate::differential::{Plan, compare};
use crate::scripts::{Crashes, run_all};

/// A verb takes a few round trips here: so many commands take about a minute, 20,000 do not fit in.
const OPS: usize = 20_000;

/// The cluster's URL; says what is left out when there is none.
pub(crate) fn url() -> Option<String> {
    let url = std::env::var("TOWPATH_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
    if url.is_none() {
        // Past the capture of the test's own output: what is left out is told even when all is well.
        let _ = writeln!(std::io::stderr(), "LEFT OUT: PostgreSQL, because TOWPATH_TEST_POSTGRES names no cluster");
    }
    url
}

async fn new(url: &str) -> PostgresSubject {
    PostgresSubject::new(url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_hold_on_postgres() {
    let Some(url) = url() else { return };
    run_all(Crashes::Never, async |_| new(&url).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_hold_on_postgres_when_its_client_dies_after_every_other_answer() {
    let Some(url) = url() else { return };
    run_all(Crashes::EveryOther, async |_| new(&url).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_hold_on_postgres_when_all_is_enqueued_by_the_function_for_applications() {
    let Some(url) = url() else { return };
    let by_function = async |_| {
        let subject = new(&url).await;
        subject.postgres().enqueue_by_function();
        subject
    };
    run_all(Crashes::Never, by_function).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_agrees_with_memory_on_a_random_script() {
    let Some(url) = url() else { return };
    compare(new(&url).await, Plan::new(OPS)).await;
}
