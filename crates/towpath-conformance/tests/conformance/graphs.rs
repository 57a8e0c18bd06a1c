//! Random graphs with random outcomes, cancels, appends and retries, on every store and in a small model written from the design
//! alone: how each node ends and why, how the graph ends, and that nothing starts that may not.
//!
//! `TOWPATH_SEED` takes a printed seed back, `TOWPATH_GRAPHS` sets how many graphs follow it.

mod draw;
mod drive;
mod held;
mod model;

use towpath_conformance::{MemorySubject, Subject};

use drive::{Driver, Shown};
use held::Held;

/// Graphs in one store; then a new one, since questions of the store in memory look at everything.
const GRAPHS_A_STORE: u64 = 100;
/// The first seed where none is given; `cargo xtask random` gives ever new ones.
const SEED: u64 = 7_015_669_710_562_915;

async fn compare<S: Subject>(graphs: u64, new: impl AsyncFn() -> S) {
    let number = |key: &str| std::env::var(key).ok().and_then(|text| text.parse().ok());
    let seed: u64 = number("TOWPATH_SEED").unwrap_or(SEED);
    let graphs = number("TOWPATH_GRAPHS").unwrap_or(graphs);
    println!("TOWPATH_SEED={seed} TOWPATH_GRAPHS={graphs}");
    let mut shown = Shown::default();
    let mut done = 0;
    while done < graphs {
        let mut subject = new().await;
        let mut driver = Driver::new(subject.store(), 7).await;
        for at in (done..graphs).take(GRAPHS_A_STORE as usize) {
            let seed = seed.wrapping_add(at);
            if let Err(problem) = driver.compare(seed, &mut shown).await {
                panic!("TOWPATH_SEED={seed} TOWPATH_GRAPHS=1: {} differs: {problem}", subject.name());
            }
            done += 1;
        }
        subject.remove().await.unwrap();
    }
    println!("{shown:?}");
    let rarest = [
        shown.succeeded,
        shown.failed,
        shown.cancelled,
        shown.untaken,
        shown.upstream,
        shown.appends,
        shown.undone,
        shown.retries,
        shown.tried_again,
    ];
    let rare = rarest.into_iter().min() <= Some(graphs as usize / 50)
        || (graphs >= 5_000
            && (shown.spared == 0
                || shown.done_again < 100
                || shown.failed_fast < graphs as usize / 20
                || shown.left_undone < 100));
    assert!(graphs < 100 || !rare, "too rare to prove anything: {shown:?}");
}

async fn compare_held<S: Subject>(families: u64, new: impl AsyncFn() -> S) {
    let number = |key: &str| std::env::var(key).ok().and_then(|text| text.parse().ok());
    let seed: u64 = number("TOWPATH_SEED").unwrap_or(SEED);
    let families = number("TOWPATH_GRAPHS").unwrap_or(families);
    println!("TOWPATH_SEED={seed} TOWPATH_GRAPHS={families}");
    let (mut shown, mut done) = (Held::default(), 0);
    while done < families {
        let mut subject = new().await;
        let mut driver = Driver::new(subject.store(), 7).await;
        for at in (done..families).take(GRAPHS_A_STORE as usize) {
            let seed = seed.wrapping_add(at);
            if let Err(problem) = driver.compare_held(seed, &mut shown).await {
                panic!("TOWPATH_SEED={seed} TOWPATH_GRAPHS=1: {} differs: {problem}", subject.name());
            }
            done += 1;
        }
        subject.remove().await.unwrap();
    }
    println!("{shown:?}");
    assert!(families < 100 || shown.rarest() > families as usize / 100, "too rare to prove anything: {shown:?}");
}

#[tokio::test]
async fn random_graphs_that_hold_more_in_memory_end_as_the_models_say() {
    compare_held(3_000, async || MemorySubject::new()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn random_graphs_that_hold_more_on_sqlite_end_as_the_models_say() {
    compare_held(300, async || towpath_conformance::SqliteSubject::new().await.unwrap()).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_graphs_that_hold_more_on_postgres_end_as_the_models_say() {
    let Some(url) = crate::postgres::url() else { return };
    compare_held(150, async || towpath_conformance::PostgresSubject::new(&url).await.unwrap()).await;
}

#[tokio::test]
async fn random_graphs_in_memory_end_as_the_model_says() {
    compare(10_000, async || MemorySubject::new()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn random_graphs_on_sqlite_end_as_the_model_says() {
    compare(1_000, async || towpath_conformance::SqliteSubject::new().await.unwrap()).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_graphs_on_postgres_end_as_the_model_says() {
    let Some(url) = crate::postgres::url() else { return };
    compare(200, async || towpath_conformance::PostgresSubject::new(&url).await.unwrap()).await;
}
