//! A database that raises for one job: a trigger stands for whatever may make it.

use futures_executor::block_on;
use towpath_core::store::{Assigned, Claimed, Ending, Enqueue, Item, Move, Placed, Settle, Settled};
use towpath_core::{
    Cause, Due, End, GraphId, GraphName, GraphRules, JobId, NewGraph, NewJob, NewNode, NodeName, Report, Retry, State,
    StopReason, Store, StoreErrorKind, settle_refused, settle_report,
};

use super::{folder, id, job, one, open, register, take_turn, worker};
use crate::SqliteStore;

/// Makes every write of a table raise that is about the job.
fn raise(store: &SqliteStore, table: &str, number: u64) {
    let key: i64 = store.core().with_writer(|conn| {
        conn.query_row("select key from job where id = ?1", [&id(number).as_bytes()[..]], |row| row.get(0)).unwrap()
    });
    let text = format!(
        "create trigger raise_{table}_{number} before insert on {table} when new.job = {key} \
         begin select raise(abort, 'no such city'); end"
    );
    store.core().with_writer(|conn| conn.execute_batch(&text)).unwrap();
}

fn enqueue(store: &SqliteStore, jobs: impl Iterator<Item = NewJob>) {
    let answers = block_on(store.enqueue(Enqueue { items: jobs.map(Item::job).collect() })).unwrap().items;
    assert!(answers.iter().all(|answer| *answer == Ok(Placed::Inserted)));
}

/// Lone nodes of one graph.
fn enqueue_failing_fast(store: &SqliteStore, numbers: std::ops::RangeInclusive<u64>) {
    let node = |at: u64| NewNode::new(NodeName::from_stored(&format!("n{at}")), job(at));
    let graph = NewGraph {
        id: GraphId::from_bytes([1; 16]),
        name: GraphName::from_stored("raising"),
        rules: GraphRules { fail_fast: true, ..GraphRules::default() },
        input: None,
        unique: None,
        nodes: numbers.map(node).collect(),
        edges: Vec::new(),
    };
    let item = Item::Graph(Box::new(graph.prepare().unwrap()));
    block_on(store.enqueue(Enqueue::one(item))).unwrap();
}

fn stopped(store: &SqliteStore) -> Option<StopReason> {
    let detail = block_on(store.inspect().graph(GraphId::from_bytes([1; 16]))).unwrap().unwrap();
    detail.stopped.map(|line| line.reason)
}

fn claimed(assigned: Vec<Assigned>) -> Vec<Claimed> {
    let job = |assigned| match assigned {
        Assigned::Job(job) => *job,
        Assigned::Decision(undecided) => panic!("{undecided:?}"),
    };
    assigned.into_iter().map(job).collect()
}

fn done(job: &Claimed) -> Settle {
    settle_report(&job.head, Report::Succeeded { output: None, branches: Vec::new() })
}

fn state(store: &SqliteStore, id: JobId) -> (State, Option<Cause>) {
    let detail = block_on(store.inspect().job(id)).unwrap().unwrap();
    (detail.line.state, detail.cause)
}

#[test]
fn an_outcome_that_raises_is_refused_alone_in_one_commit_and_then_the_job_is_quarantined() {
    let folder = folder();
    let store = open(&folder);
    register(&store, worker(1));
    enqueue(&store, (1..=9).map(job));
    let held = claimed(take_turn(&store, worker(1), 1, Vec::new(), 9).assigned);
    raise(&store, "attempt", 5);
    let failed = |job: &Claimed| {
        settle_report(&job.head, Report::Failed { error: "no".into(), retry: Retry::ByPolicy, log: None })
    };
    let settle: Vec<Settle> = held.iter().map(failed).collect();
    enqueue(&store, [job(10)].into_iter());
    let before = store.commits().durable;
    let reply = take_turn(&store, worker(1), 2, settle.clone(), 9);
    assert_eq!(store.commits().durable, before + 1, "one commit");
    let mut expected = vec![Settled::Done; 9];
    expected[4] = Settled::Refused;
    assert_eq!(reply.settled, expected);
    assert_eq!(reply.problems.len(), 1);
    assert!(reply.problems[0].contains("no such city"), "{:?}", reply.problems);
    assert_eq!(reply.assigned.len(), 1, "the claim of the same turn is carried out too");
    let again = take_turn(&store, worker(1), 2, settle.clone(), 9);
    assert_eq!((again.settled, again.problems.len()), (expected, 0), "the repeat");
    assert_eq!(state(&store, id(5)).0, State::Running, "it is still the worker's");
    assert_eq!(state(&store, id(4)).0, State::Ready);
    let aside = settle_refused(&settle[4], None, None, &reply.problems[0]).unwrap();
    assert_eq!(take_turn(&store, worker(1), 3, vec![aside], 0).settled, [Settled::Done]);
    let (state, cause) = state(&store, id(5));
    assert_eq!(state, State::Ended(End::Quarantined));
    assert!(cause.unwrap().to_string().contains("no such city"));
}

#[test]
fn a_row_that_no_worker_can_be_given_is_set_aside_and_stops_no_claim() {
    let folder = folder();
    let store = open(&folder);
    register(&store, worker(1));
    enqueue(&store, (1..=4).map(job));
    enqueue(
        &store,
        (5..=6).map(|number| NewJob { due: Due::After(std::time::Duration::from_millis(1)), ..job(number) }),
    );
    raise(&store, "running", 1);
    raise(&store, "running", 3);
    let due = "update later set due = 0";
    store.core().with_writer(|conn| conn.execute_batch(due)).unwrap();
    raise(&store, "ready", 5);
    let held = claimed(take_turn(&store, worker(1), 1, Vec::new(), 10).assigned);
    assert_eq!(held.iter().map(|job| job.head.id).collect::<Vec<_>>(), [id(2), id(4), id(6)]);
    let indexes: Vec<u16> = held.iter().map(|job| job.head.fence.token.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
    for number in [1, 3, 5] {
        assert_eq!(state(&store, id(number)).0, State::Ended(End::Quarantined), "{number}");
    }
    let settled = take_turn(&store, worker(1), 2, held.iter().map(done).collect(), 10).settled;
    assert_eq!(settled, [Settled::Done; 3]);
}

#[test]
fn a_row_that_cannot_even_be_set_aside_stays_and_stops_no_claim() {
    let folder = folder();
    let store = open(&folder);
    register(&store, worker(1));
    enqueue(&store, (1..=3).map(job));
    raise(&store, "running", 2);
    raise(&store, "ended", 2);
    let held = claimed(take_turn(&store, worker(1), 1, Vec::new(), 10).assigned);
    assert_eq!(held.iter().map(|job| job.head.id).collect::<Vec<_>>(), [id(1), id(3)]);
    assert_eq!(state(&store, id(2)).0, State::Ready);
    let aside = Ending::plain(End::Quarantined, None, std::time::Duration::ZERO, held[0].head.counters);
    let aside = Settle { then: Move::End(aside), ..done(&held[0]) };
    assert_eq!(take_turn(&store, worker(1), 2, vec![aside, done(&held[1])], 10).settled, [Settled::Done; 2]);
}

#[test]
fn two_failures_beside_an_outcome_that_raises_stop_their_graph_once_all_is_judged() {
    let folder = folder();
    let store = open(&folder);
    register(&store, worker(1));
    enqueue(&store, [job(9)].into_iter());
    enqueue_failing_fast(&store, 1..=3);
    let held = claimed(take_turn(&store, worker(1), 1, Vec::new(), 3).assigned);
    assert_eq!(held.iter().map(|job| job.head.id).collect::<Vec<_>>(), [id(9), id(1), id(2)]);
    raise(&store, "attempt", 9);
    let failed = Report::Failed { error: "no".into(), retry: Retry::Never, log: None };
    let settle = held.iter().map(|job| settle_report(&job.head, failed.clone())).collect();
    let reply = take_turn(&store, worker(1), 2, settle, 9);
    assert_eq!(reply.settled, [Settled::Refused, Settled::Done, Settled::Done], "neither failure cancels the other");
    assert!(matches!(&reply.assigned[..], [Assigned::Decision(rest)] if rest.id == id(3)), "{:?}", reply.assigned);
    assert_eq!(stopped(&store), Some(StopReason::Fail));
}

#[test]
fn a_node_that_is_set_aside_stops_a_graph_that_fails_fast() {
    let folder = folder();
    let store = open(&folder);
    register(&store, worker(1));
    enqueue_failing_fast(&store, 1..=2);
    raise(&store, "running", 1);
    take_turn(&store, worker(1), 1, Vec::new(), 9);
    assert_eq!(state(&store, id(1)).0, State::Ended(End::Quarantined));
    assert_eq!(stopped(&store), Some(StopReason::Fail));
}

#[test]
fn an_enqueue_that_raises_is_its_own_callers_and_no_strangers() {
    let folder = folder();
    let store = open(&folder);
    block_on(store.enqueue(one(1))).unwrap();
    let text = format!(
        "create trigger raise_job before insert on job when new.id = x'{}' begin select raise(abort, 'no'); end",
        id(7).as_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    );
    store.core().with_writer(|conn| conn.execute_batch(&text)).unwrap();
    let call = |number| {
        let store = store.clone();
        std::thread::spawn(move || block_on(store.enqueue(one(number))))
    };
    let threads = store.core().hold(|| {
        let threads = [call(6), call(7), call(8)];
        while store.core().queued() < 3 {
            std::thread::yield_now();
        }
        threads
    });
    let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(answers[1].as_ref().unwrap_err().kind, StoreErrorKind::Corrupt);
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
}

/// As after an IO error: the transaction is gone before anybody has asked, and a second rollback would only hide why.
#[test]
fn what_sqlite_rolls_back_by_itself_fails_whole_by_its_first_error_and_the_writer_goes_on() {
    let folder = folder();
    let store = open(&folder);
    block_on(store.enqueue(one(1))).unwrap();
    let text = "create trigger raise_job before insert on job when new.priority = 7 \
        begin select raise(rollback, 'the disk is upset'); end";
    store.core().with_writer(|conn| conn.execute_batch(text)).unwrap();
    let call = |number, priority| {
        let store = store.clone();
        let item = Item::job(job(number).priority(priority));
        std::thread::spawn(move || block_on(store.enqueue(Enqueue::one(item))))
    };
    let threads = store.core().hold(|| {
        let threads = [call(6, 0), call(7, 7), call(8, 0)];
        while store.core().queued() < 3 {
            std::thread::yield_now();
        }
        threads
    });
    for thread in threads {
        let error = thread.join().unwrap().unwrap_err();
        assert!(error.message.contains("the disk is upset"), "{error}");
    }
    assert_eq!(block_on(store.inspect().census()).unwrap().jobs, 1, "nothing of the group is there");
    let before = store.commits().durable;
    block_on(store.enqueue(one(9))).unwrap();
    assert_eq!(store.commits().durable, before + 1);
}
