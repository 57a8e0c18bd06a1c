//! Signals that race with the park of their runs, 10,000 of them: each is sent at the moment at which its run has taken the one
//! before and is about to go to sleep. One that is lost would leave its run asleep for ever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use towpath::{Client, Cx, Durable, Failure, Signal, Worker};

use crate::stores::{Subject, on_every_store};

on_every_store!(no_signal_is_lost_in_ten_thousand_races_with_a_park);

const ROUNDS: u64 = 10_000;
/// Runs that race at the same time: many, so that none is rebuilt from a long journal.
const RUNS: usize = 200;
const HOUR: Duration = Duration::from_secs(3_600);

const NEXT: Signal<u64> = Signal::new("next");

/// How many signals each run of each store has taken. No part of its history: it only goes up, in a replay too.
static TAKEN: [[AtomicU64; RUNS]; 3] = [const { [const { AtomicU64::new(0) }; RUNS] }; 3];

const TAKE: Durable<(usize, usize, u64), u64, Failure> = Durable::new("take", 1, HOUR, &take);
async fn take(cx: Cx<'_>, (store, run, rounds): (usize, usize, u64)) -> Result<u64, Failure> {
    let mut sum = 0;
    for round in 1..=rounds {
        sum += cx.signal(NEXT).await;
        TAKEN[store][run].fetch_max(round, Ordering::SeqCst);
    }
    Ok(sum)
}

async fn race(client: &Client, store: usize, run: usize) {
    let (id, rounds) = (format!("take-{run}"), ROUNDS / RUNS as u64);
    let handle = client.start(TAKE, &id, &(store, run, rounds)).await.unwrap();
    for round in 1..=rounds {
        client.signal(&id, NEXT, &round).await.unwrap();
        let taken = async {
            while TAKEN[store][run].load(Ordering::SeqCst) < round {
                tokio::time::sleep(Duration::from_micros(100)).await;
            }
        };
        let soon = tokio::time::timeout(Duration::from_secs(60), taken).await;
        assert!(soon.is_ok(), "run {id} sleeps, and signal {round} is in its inbox");
        // From at once to a little later: somewhere in between its commit and its park.
        for _ in 0..(round * 7 + run as u64) % 23 {
            tokio::task::yield_now().await;
        }
        if round % 3 == 0 {
            tokio::time::sleep(Duration::from_micros(round % 11 * 200)).await;
        }
    }
    assert_eq!(client.result(&handle).await.unwrap(), rounds * (rounds + 1) / 2);
}

async fn no_signal_is_lost_in_ten_thousand_races_with_a_park(subject: Subject) {
    let client = &subject.client;
    let store = if subject.url.is_empty() { 0 } else { 1 + usize::from(subject.url.starts_with("postgres")) };
    let worker = Worker::builder(client).durable(TAKE).start().unwrap();
    futures_util::future::join_all((0..RUNS).map(|run| race(client, store, run))).await;
    worker.shutdown().await;
}
