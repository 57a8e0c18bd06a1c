//! A run parks, or ends, while somebody signals it in a transaction that is not over yet.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use towpath_core::store::{Arrival, Delivery, Settle, Settled, Signalled};
use towpath_core::{Label, Payload, Report, RunId, Store, settle_report};

use super::{Bench, job};
use crate::queries::Query;
use crate::session::{Commit, Session};
use crate::signal::{self, Plan};
use crate::store::PostgresStore;

const SOON: Duration = Duration::from_millis(20);

fn run() -> RunId {
    RunId::from_stored("order-1")
}

fn paid() -> Vec<Arrival> {
    vec![Arrival::new(run(), Label::from_stored("paid"), Payload::default())]
}

/// A worker holds the run.
async fn held(bench: &mut Bench) -> towpath_core::store::Claimed {
    bench.enqueue(job(1).run(run())).await;
    bench.claim().await.unwrap()
}

fn park(claimed: &towpath_core::store::Claimed, read: Option<u32>) -> Settle {
    Settle { read, ..settle_report(&claimed.head, Report::Parked { until: None }) }
}

fn end(claimed: &towpath_core::store::Claimed, read: u32) -> Settle {
    let report = Report::Succeeded { output: None, branches: Vec::new() };
    Settle { read: Some(read), ..settle_report(&claimed.head, report) }
}

/// Signals, and leaves the transaction open.
async fn signal_openly(session: &Session) {
    session.begin(Commit::Durable).await.unwrap();
    let arrivals = paid();
    let looked = signal::look(session, &arrivals).await.unwrap();
    Plan::of(&arrivals, &looked).unwrap().write(session, looked.now).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_that_commits_after_the_park_is_not_lost() {
    for read in [Some(0), None] {
        let Some(mut bench) = Bench::new().await else { return };
        let claimed = held(&mut bench).await;
        let session = bench.session().await;
        signal_openly(&session).await;
        let parked = bench.turn(vec![park(&claimed, read)], 0).await;
        assert_eq!(parked.settled, [Settled::Done], "the open transaction does not hold it up");
        assert_eq!(parked.next_due, Some(bench.now + SOON), "it will look again");
        session.commit().await.unwrap();
        assert!(bench.claim().await.is_none());
        bench.pass(SOON).await;
        assert!(bench.claim().await.is_some());
        assert_eq!(bench.store.inbox(run(), 0, 10).await.unwrap().len(), 1);
        bench.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_that_is_rolled_back_leaves_the_run_parked_the_next_time() {
    let Some(mut bench) = Bench::new().await else { return };
    let claimed = held(&mut bench).await;
    let session = bench.session().await;
    signal_openly(&session).await;
    bench.turn(vec![park(&claimed, Some(0))], 0).await;
    session.batch("rollback").await.unwrap();
    bench.pass(SOON).await;
    let claimed = bench.claim().await.unwrap();
    assert!(bench.store.inbox(run(), 0, 10).await.unwrap().is_empty());
    let parked = bench.turn(vec![park(&claimed, Some(0))], 0).await;
    assert_eq!((parked.settled, parked.next_due), (vec![Settled::Done], None), "for as long as it takes");
    bench.pass(Duration::from_secs(60)).await;
    assert!(bench.claim().await.is_none());
    bench.store.signal(paid()).await.unwrap();
    assert!(bench.claim().await.is_some());
    bench.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_beside_a_signal_is_refused_and_then_stands_or_not() {
    for commits in [true, false] {
        let Some(mut bench) = Bench::new().await else { return };
        let claimed = held(&mut bench).await;
        let session = bench.session().await;
        signal_openly(&session).await;
        assert_eq!(bench.turn(vec![end(&claimed, 0)], 0).await.settled, [Settled::Unread]);
        session.batch(if commits { "commit" } else { "rollback" }).await.unwrap();
        let expected = if commits { Settled::Unread } else { Settled::Done };
        assert_eq!(bench.turn(vec![end(&claimed, 0)], 0).await.settled, [expected]);
        if commits {
            assert_eq!(bench.turn(vec![end(&claimed, 1)], 0).await.settled, [Settled::Done]);
        }
        bench.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_locked_and_not_yet_looked_wakes_a_run_that_parked_meanwhile() {
    let Some(mut bench) = Bench::new().await else { return };
    let claimed = held(&mut bench).await;
    let session = bench.session().await;
    session.begin(Commit::Durable).await.unwrap();
    let arrivals = paid();
    let looked = signal::look(&session, &arrivals).await.unwrap();
    bench.turn(vec![park(&claimed, Some(0))], 0).await;
    Plan::of(&arrivals, &looked).unwrap().write(&session, looked.now).await.unwrap();
    session.commit().await.unwrap();
    assert!(bench.claim().await.is_some(), "at once, not only after a while");
    bench.finish().await;
}

/// Waits until a session waits for such a lock, or the task is over.
async fn waits_or_ends<T>(session: &Session, lock: &str, task: &JoinHandle<T>) {
    let question = format!("select count(*) from pg_locks where locktype = '{lock}' and not granted");
    while !task.is_finished() && session.ask(&question).await.unwrap().as_deref() == Some("0") {
        tokio::task::yield_now().await;
    }
}

fn signal_in_a_task(store: &Arc<PostgresStore>) -> JoinHandle<Signalled> {
    let store = Arc::clone(store);
    tokio::spawn(async move { store.signal(paid()).await.unwrap() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_waits_for_a_turn_that_parks_and_finds_the_run_parked() {
    let Some(mut bench) = Bench::new().await else { return };
    let claimed = held(&mut bench).await;
    let (parks, watches) = (bench.session().await, bench.session().await);
    let key = claimed.head.fence.key;
    parks.begin(Commit::Durable).await.unwrap();
    let looked = parks.one(Query::RunLook, &[&vec![key], &vec![true]]).await.unwrap();
    assert_eq!(looked.try_get::<_, Option<bool>>(3).unwrap(), Some(true));
    let signalled = signal_in_a_task(&bench.store);
    waits_or_ends(&watches, "advisory", &signalled).await;
    let never = i64::MAX;
    let lane = parks.one(Query::SettleLook, &[&vec![key]]).await.unwrap().try_get::<_, i32>(9).unwrap();
    let counters = vec![0_i32];
    let row: crate::session::Params<'_> =
        &[&vec![key], &vec![Some(never)], &vec![lane], &counters, &counters, &counters, &counters, &vec![Some(true)]];
    parks.run(Query::SettleAgain, row).await.unwrap();
    parks.commit().await.unwrap();
    assert_eq!(signalled.await.unwrap().items, [Ok(Delivery::Delivered)]);
    assert!(bench.claim().await.is_some());
    bench.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_beside_another_with_its_key_is_a_duplicate_if_that_commits() {
    for commits in [true, false] {
        let Some(bench) = Bench::new().await else { return };
        let (session, watches) = (bench.session().await, bench.session().await);
        session.begin(Commit::Durable).await.unwrap();
        let arrivals: Vec<Arrival> = paid().into_iter().map(|arrival| arrival.dedup("x")).collect();
        let looked = signal::look(&session, &arrivals).await.unwrap();
        Plan::of(&arrivals, &looked).unwrap().write(&session, looked.now).await.unwrap();
        let store = Arc::clone(&bench.store);
        let other = tokio::spawn(async move { store.signal(arrivals).await.unwrap() });
        waits_or_ends(&watches, "transactionid", &other).await;
        session.batch(if commits { "commit" } else { "rollback" }).await.unwrap();
        let expected = if commits { Delivery::Duplicate } else { Delivery::Kept };
        assert_eq!(other.await.unwrap().items, [Ok(expected)]);
        assert_eq!(bench.store.inbox(run(), 0, 10).await.unwrap().len(), 1);
        bench.finish().await;
    }
}
