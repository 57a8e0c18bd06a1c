//! Several stores on one file, as several processes would be.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use towpath_core::store::{Assigned, Hint};
use towpath_core::{Report, Store, StoreErrorKind, settle_report};

use super::{folder, one, open, register, take_turn, worker};

#[test]
fn two_stores_on_one_file_race_to_make_it() {
    let folder = folder();
    thread::scope(|scope| {
        for number in 0..4 {
            let folder = &folder;
            scope.spawn(move || block_on(open(folder).enqueue(one(number))).unwrap());
        }
    });
    assert_eq!(block_on(open(&folder).inspect().census()).unwrap().ready, 4);
}

#[test]
fn workers_of_two_stores_never_get_the_same_job() {
    const JOBS: u64 = 300;
    let folder = folder();
    let stores = [open(&folder), open(&folder)];
    let done: Vec<Vec<i64>> = thread::scope(|scope| {
        let workers: Vec<_> = stores
            .iter()
            .zip([1_u8, 2])
            .map(|(store, number)| {
                scope.spawn(move || {
                    let me = worker(number);
                    register(store, me);
                    let mut done = Vec::new();
                    let mut settle = Vec::new();
                    let mut turn = 0;
                    for job in 0..JOBS {
                        block_on(store.enqueue(one((u64::from(number) << 32) | job))).unwrap();
                        turn += 1;
                        let reply = take_turn(store, me, turn, std::mem::take(&mut settle), 3);
                        for assigned in reply.assigned {
                            let Assigned::Job(claimed) = assigned else { panic!("a lone job") };
                            done.push(claimed.head.fence.key);
                            let report = Report::Succeeded { output: None, branches: Vec::new() };
                            settle.push(settle_report(&claimed.head, report));
                        }
                    }
                    take_turn(store, me, turn + 1, settle, 0);
                    done
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let all: HashSet<i64> = done.iter().flatten().copied().collect();
    assert_eq!(all.len(), done.iter().map(Vec::len).sum::<usize>(), "no job twice");
    let census = block_on(stores[0].inspect().census()).unwrap();
    assert_eq!(census.ended + census.ready + census.running, 2 * JOBS);
    assert_eq!(census.running, 0);
}

#[test]
fn a_commit_of_another_store_is_noticed_and_an_own_one_is_not_taken_for_one() {
    let folder = folder();
    let (ours, theirs) = (open(&folder), open(&folder));
    let mut hints = ours.hints();
    // The first look only remembers what was there.
    wait_for(|| ours.core().has_looked());
    block_on(ours.enqueue(one(1))).unwrap();
    thread::sleep(Duration::from_millis(60));
    assert_eq!(hints.try_next(), Some(Hint::Ready(towpath_core::Queue::default())));
    assert_eq!(hints.try_next(), None);
    block_on(theirs.enqueue(one(2))).unwrap();
    wait_for(|| hints.try_next() == Some(Hint::Anything));
}

#[test]
fn the_log_is_copied_into_the_file_and_begun_anew() {
    let folder = folder();
    let store = open(&folder);
    let log = || std::fs::metadata(folder.path().join("work.db-wal")).unwrap().len();
    let mut number = 0;
    wait_for(|| {
        let before = log();
        store.core().checkpoint_now();
        number += 1;
        block_on(store.enqueue(one(number))).unwrap();
        // A commit that does not make the log longer has begun it anew.
        log() == before
    });
    assert_eq!(block_on(store.inspect().census()).unwrap().jobs, number);
}

#[test]
fn a_foreign_transaction_is_waited_for_but_not_for_ever() {
    let folder = folder();
    let store = open(&folder);
    let other = rusqlite::Connection::open(folder.path().join("work.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| block_on(store.enqueue(one(1))));
        thread::sleep(Duration::from_millis(200));
        assert!(!waits.is_finished());
        other.execute_batch("commit").unwrap();
        assert!(waits.join().unwrap().unwrap().items[0].is_ok());
    });
    other.execute_batch("begin immediate").unwrap();
    let began = Instant::now();
    let refused = block_on(store.enqueue(one(2))).unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Unavailable);
    assert!(
        refused.to_string().contains("another transaction on the file has taken longer than five seconds"),
        "{refused}"
    );
    assert!(began.elapsed() > Duration::from_secs(2), "{:?}", began.elapsed());
    other.execute_batch("rollback").unwrap();
    assert!(block_on(store.enqueue(one(2))).unwrap().items[0].is_ok(), "and nothing is wedged");
}

#[test]
fn behind_a_long_reader_work_goes_on_and_its_end_frees_the_log() {
    let folder = folder();
    let store = open(&folder);
    let log = || std::fs::metadata(folder.path().join("work.db-wal")).unwrap().len();
    block_on(store.enqueue(one(0))).unwrap();
    let reader = rusqlite::Connection::open(folder.path().join("work.db")).unwrap();
    reader.execute_batch("begin; select count(*) from job").unwrap();
    let mut number = 0;
    let mut enqueue_and_look = || {
        let before = log();
        store.core().checkpoint_now();
        number += 1;
        block_on(store.enqueue(one(number))).unwrap();
        log() > before
    };
    for _ in 0..20 {
        assert!(enqueue_and_look(), "the log cannot be begun anew while somebody reads what is in it");
    }
    reader.execute_batch("commit").unwrap();
    wait_for(|| !enqueue_and_look());
    assert_eq!(block_on(store.inspect().census()).unwrap().jobs, number + 1);
}

fn wait_for(mut what: impl FnMut() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(10), "it never came");
        thread::sleep(Duration::from_millis(5));
    }
}
