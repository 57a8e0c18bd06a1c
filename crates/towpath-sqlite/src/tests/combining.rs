//! Calls that meet share a transaction; each still succeeds or fails alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::thread;

use futures_executor::block_on;
use rusqlite::Connection;
use towpath_core::store::{Enqueue, Item, Placed, Refusal};
use towpath_core::{Store, StoreErrorKind};

use super::{folder, id, job, one, open, register, take_turn, worker};
use crate::combine::Commit;
use crate::error::Fault;

#[test]
fn calls_that_meet_share_their_commits_and_all_are_answered() {
    let folder = folder();
    let store = open(&folder);
    let before = store.commits().durable;
    let barrier = Arc::new(Barrier::new(33));
    let threads: Vec<_> = (0..32)
        .map(|number| {
            let (store, barrier) = (store.clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                block_on(store.enqueue(one(number))).unwrap()
            })
        })
        .collect();
    // While the writer is held, every call can only queue.
    store.core().hold(|| {
        barrier.wait();
        while store.core().queued() < 32 {
            thread::yield_now();
        }
    });
    for thread in threads {
        assert_eq!(thread.join().unwrap().items, [Ok(Placed::Inserted)]);
    }
    assert_eq!(store.commits().durable - before, 1);
    assert_eq!(block_on(store.inspect().census()).unwrap().ready, 32);
}

#[test]
fn calls_of_one_task_share_their_commit() {
    let folder = folder();
    let store = open(&folder);
    let before = store.commits().durable;
    let calls = futures_util::future::join_all((0..32).map(|number| store.enqueue(one(number))));
    assert!(block_on(calls).iter().all(Result::is_ok));
    assert_eq!(store.commits().durable - before, 1);
}

#[test]
fn a_verb_that_fails_is_undone_alone() {
    let folder = folder();
    let store = open(&folder);
    let good = |number| {
        let store = store.clone();
        thread::spawn(move || block_on(store.enqueue(one(number))).unwrap().items)
    };
    let bad = || {
        let store = store.clone();
        thread::spawn(move || {
            block_on(store.core().submit("break", Commit::Durable, |tx| {
                tx.db.conn.execute("insert into audit values (9, 0, '', '', '', '', '')", [])?;
                Err::<(), _>(Fault::invalid("as asked"))
            }))
        })
    };
    // All four are queued while nobody can write, so they share a transaction.
    let (good, bad) = store.core().hold(|| {
        let threads = ([good(1), good(2), good(3)], bad());
        while store.core().queued() < 4 {
            thread::yield_now();
        }
        threads
    });
    for thread in good {
        assert_eq!(thread.join().unwrap(), [Ok(Placed::Inserted)]);
    }
    let refused = bad.join().unwrap().unwrap_err();
    assert_eq!((refused.kind, refused.doing), (StoreErrorKind::Invalid, "break"));
    let audit = block_on(store.inspect().audit(Default::default())).unwrap();
    assert!(audit.is_empty(), "what it wrote is gone");
}

#[test]
fn a_refused_item_leaves_the_others() {
    let folder = folder();
    let store = open(&folder);
    let mut other = job(1);
    other.version = 2;
    let items = vec![Item::job(job(1)), Item::job(other), Item::job(job(1)), Item::job(job(2))];
    let answers = block_on(store.enqueue(Enqueue { items })).unwrap().items;
    let conflict = Err(Refusal::JobConflict { id: id(1), kind: "echo".into() });
    assert_eq!(answers, [Ok(Placed::Inserted), conflict, Ok(Placed::Existing), Ok(Placed::Inserted)]);
}

#[test]
fn a_dropped_future_happens_whole_and_leaves_nobody_waiting() {
    let folder = folder();
    let store = open(&folder);
    drop(store.enqueue(one(1)));
    assert_eq!(block_on(store.inspect().census()).unwrap().jobs, 0, "dropped before its first poll");
    store.core().hold(|| {
        let mut queued = store.enqueue(one(2));
        let mut context = Context::from_waker(Waker::noop());
        assert!(queued.as_mut().poll(&mut context).is_pending());
        drop(queued);
    });
    while block_on(store.inspect().census()).unwrap().ready < 1 {
        thread::yield_now();
    }
    block_on(store.enqueue(one(3))).unwrap();
    let ready = block_on(store.inspect().census()).unwrap().ready;
    assert_eq!(ready, 2, "dropped while it waited for the writer");
}

#[test]
fn a_verb_that_panics_is_undone_and_stops_nobody() {
    let folder = folder();
    let store = open(&folder);
    let panicked = block_on(store.core().submit("panic", Commit::Lazy, |tx| -> Result<(), Fault> {
        tx.db.conn.execute("insert into audit values (9, 0, '', '', '', '', '')", [])?;
        panic!("as asked");
    }));
    assert_eq!(panicked.unwrap_err().kind, StoreErrorKind::Corrupt);
    block_on(store.enqueue(one(1))).unwrap();
    assert!(block_on(store.inspect().audit(Default::default())).unwrap().is_empty());
}

#[test]
fn an_idle_claim_writes_nothing_and_a_claim_alone_does_not_wait_for_the_disk() {
    let folder = folder();
    let store = open(&folder);
    register(&store, worker(1));
    let idle = store.commits();
    for number in 1..=5 {
        assert!(take_turn(&store, worker(1), number, Vec::new(), 10).assigned.is_empty());
    }
    assert_eq!(store.commits(), idle);
    block_on(store.enqueue(one(1))).unwrap();
    let enqueued = store.commits();
    assert_eq!(enqueued.durable, idle.durable + 1);
    let first = take_turn(&store, worker(1), 6, Vec::new(), 10);
    let again = take_turn(&store, worker(1), 6, Vec::new(), 10);
    assert_eq!(first.assigned[0].fence(), again.assigned[0].fence());
    assert_eq!(store.commits().durable, enqueued.durable);
}

#[test]
fn a_commit_that_fails_fails_the_whole_group_with_its_first_error() {
    let folder = folder();
    let store = open(&folder);
    let rolled_back = block_on(store.core().submit("lose", Commit::Durable, |tx| {
        tx.db.conn.execute("insert into audit values (9, 0, '', '', '', '', '')", [])?;
        // As SQLite does by itself when the disk fails.
        tx.db.conn.execute_batch("rollback")?;
        Ok(())
    }));
    assert!(rolled_back.is_err());
    let seen = Connection::open(folder.path().join("work.db")).unwrap();
    let audit: i64 = seen.query_row("select count(*) from audit", [], |row| row.get(0)).unwrap();
    assert_eq!(audit, 0);
    block_on(store.enqueue(one(1))).unwrap();
}

#[test]
fn under_steady_pressure_every_caller_is_served() {
    let folder = folder();
    let store = open(&folder);
    let stop = Arc::new(AtomicBool::new(false));
    let noise: Vec<_> = (0..4_u64)
        .map(|thread| {
            let (store, stop) = (store.clone(), stop.clone());
            thread::spawn(move || {
                let mut calls = 0;
                while !stop.load(Ordering::Relaxed) {
                    block_on(store.enqueue(one((thread << 32) | calls))).unwrap();
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    for number in 0..100 {
        block_on(store.enqueue(one((99 << 32) | number))).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let calls: u64 = noise.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(block_on(store.inspect().census()).unwrap().jobs, calls + 100);
}
