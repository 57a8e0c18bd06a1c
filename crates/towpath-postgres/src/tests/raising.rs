//! A database that raises for one job: a constraint stands for whatever may make it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use towpath_core::store::{Assigned, Claimed, Enqueue, Item, Settle, Settled};
use towpath_core::{
    Cause, Condition, Due, End, GraphId, GraphName, GraphRules, JobId, Kind, NewEdge, NewGraph, NewJob, NewNode,
    NodeName, Report, Retry, State, StopReason, Store, StoreErrorKind, settle_refused, settle_report,
};

use super::{Bench, job};
use crate::session::Moment;

/// Makes every row of a table raise that is about the job.
async fn raise(bench: &Bench, table: &str, number: u8) {
    let schema = &bench.schema;
    let id = JobId::from_bytes([number; 16]);
    let session = bench.session().await;
    let key = session.ask(&format!("select key from {schema}.job where id = '{id}'")).await.unwrap().unwrap();
    let check = format!("constraint no_such_city_{number} check (job <> {key}) not valid");
    session.batch(&format!("alter table {schema}.{table} add {check}")).await.unwrap();
}

async fn enqueue(bench: &Bench, numbers: std::ops::RangeInclusive<u8>, due: Due) {
    for number in numbers {
        bench.enqueue(NewJob { due, ..job(number) }).await;
    }
}

async fn enqueue_graph(bench: &Bench, numbers: std::ops::RangeInclusive<u8>, edges: &[NewEdge], rules: GraphRules) {
    let node = |at: u8| NewNode::new(NodeName::from_stored(&format!("n{at}")), job(at));
    let graph = NewGraph {
        id: GraphId::from_bytes([1; 16]),
        name: GraphName::from_stored("raising"),
        rules,
        input: None,
        unique: None,
        nodes: numbers.map(node).collect(),
        edges: edges.to_vec(),
    };
    let item = Item::Graph(Box::new(graph.prepare().unwrap()));
    bench.store.enqueue(Enqueue::one(item)).await.unwrap();
}

fn edge(parent: &str, child: &str) -> NewEdge {
    NewEdge::new(NodeName::from_stored(parent), NodeName::from_stored(child))
}

async fn stopped(bench: &Bench) -> Option<StopReason> {
    let detail = bench.store.inspect().graph(GraphId::from_bytes([1; 16])).await.unwrap().unwrap();
    detail.stopped.map(|line| line.reason)
}

fn claimed(assigned: Vec<Assigned>) -> Vec<Claimed> {
    let job = |assigned| match assigned {
        Assigned::Job(job) => *job,
        Assigned::Decision(undecided) => panic!("{undecided:?}"),
    };
    assigned.into_iter().map(job).collect()
}

fn numbers(held: &[Claimed]) -> Vec<u8> {
    held.iter().map(|job| job.head.id.as_uuid().as_bytes()[0]).collect()
}

fn done(job: &Claimed) -> Settle {
    settle_report(&job.head, Report::Succeeded { output: None, branches: Vec::new() })
}

async fn state(bench: &Bench, number: u8) -> (State, Option<Cause>) {
    let detail = bench.store.inspect().job(JobId::from_bytes([number; 16])).await.unwrap().unwrap();
    (detail.line.state, detail.cause)
}

#[tokio::test]
async fn an_outcome_that_raises_is_refused_alone_in_one_commit_and_then_the_job_is_quarantined() {
    let Some(mut bench) = Bench::new().await else { return };
    enqueue(&bench, 1..=9, Due::Now).await;
    let held = claimed(bench.turn(Vec::new(), 9).await.assigned);
    raise(&bench, "attempt", 5).await;
    enqueue(&bench, 10..=10, Due::Now).await;
    // Failures, and among them successes that are written without a look.
    let settle = |job: &Claimed| match job.head.id.as_uuid().as_bytes()[0] % 2 {
        0 => done(job),
        _ => settle_report(&job.head, Report::Failed { error: "no".into(), retry: Retry::ByPolicy, log: None }),
    };
    let settle: Vec<Settle> = held.iter().map(settle).collect();
    let commits = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&commits);
    bench.store.pause_with(Arc::new(move |moment, name| {
        counted.fetch_add(u32::from((moment, name) == (Moment::Before, "commit")), Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }));
    let reply = bench.turn(settle.clone(), 9).await;
    assert_eq!(commits.load(Ordering::Relaxed), 1, "one commit");
    let mut expected = vec![Settled::Done; 9];
    expected[4] = Settled::Refused;
    assert_eq!(reply.settled, expected);
    assert_eq!(reply.problems.len(), 1);
    assert!(reply.problems[0].contains("no_such_city"), "{:?}", reply.problems);
    assert_eq!(reply.assigned.len(), 1, "the claim of the same turn is carried out too");
    bench.number -= 1;
    let again = bench.turn(settle.clone(), 9).await;
    assert_eq!((again.settled, again.problems.len(), again.assigned.len()), (expected, 0, 1), "the repeat");
    assert_eq!(state(&bench, 5).await.0, State::Running, "it is still the worker's");
    assert_eq!(state(&bench, 4).await.0, State::Ended(End::Succeeded));
    let aside = settle_refused(&settle[4], None, None, &reply.problems[0]).unwrap();
    assert_eq!(bench.turn(vec![aside], 0).await.settled, [Settled::Done]);
    let (state, cause) = state(&bench, 5).await;
    assert_eq!(state, State::Ended(End::Quarantined));
    assert!(cause.unwrap().to_string().contains("no_such_city"));
    bench.finish().await;
}

#[tokio::test]
async fn a_row_that_no_worker_can_be_given_is_set_aside_and_stops_no_claim() {
    let Some(mut bench) = Bench::new().await else { return };
    enqueue(&bench, 1..=4, Due::Now).await;
    enqueue(&bench, 5..=6, Due::After(Duration::from_secs(1))).await;
    for (table, number) in [("running", 1), ("running", 3), ("ready", 5)] {
        raise(&bench, table, number).await;
    }
    bench.pass(Duration::from_secs(2)).await;
    let held = claimed(bench.turn(Vec::new(), 10).await.assigned);
    assert_eq!(numbers(&held), [2, 4, 6]);
    let indexes: Vec<u16> = held.iter().map(|job| job.head.fence.token.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
    for number in [1, 3, 5] {
        assert_eq!(state(&bench, number).await.0, State::Ended(End::Quarantined), "{number}");
    }
    let settled = bench.turn(held.iter().map(done).collect(), 10).await.settled;
    assert_eq!(settled, [Settled::Done; 3]);
    bench.finish().await;
}

#[tokio::test]
async fn a_row_that_cannot_even_be_set_aside_stays_and_stops_no_claim() {
    let Some(mut bench) = Bench::new().await else { return };
    enqueue(&bench, 1..=3, Due::Now).await;
    raise(&bench, "running", 2).await;
    raise(&bench, "ended", 2).await;
    let held = claimed(bench.turn(Vec::new(), 10).await.assigned);
    assert_eq!(numbers(&held), [1, 3]);
    assert_eq!(state(&bench, 2).await.0, State::Ready);
    assert_eq!(bench.turn(held.iter().map(done).collect(), 10).await.settled, [Settled::Done; 2]);
    bench.finish().await;
}

#[tokio::test]
async fn a_node_that_raises_leaves_its_children_to_the_quarantine_and_other_nodes_theirs() {
    let Some(mut bench) = Bench::new().await else { return };
    enqueue_graph(&bench, 1..=4, &[edge("n1", "n3"), edge("n2", "n4")], GraphRules::default()).await;
    let held = claimed(bench.turn(Vec::new(), 10).await.assigned);
    assert_eq!(numbers(&held), [1, 2]);
    raise(&bench, "ready", 3).await;
    let reply = bench.turn(held.iter().map(done).collect(), 0).await;
    assert_eq!(reply.settled, [Settled::Refused, Settled::Done]);
    assert_eq!(numbers(&claimed(bench.turn(Vec::new(), 10).await.assigned)), [4]);
    let aside = settle_refused(&done(&held[0]), None, None, &reply.problems[0]).unwrap();
    let reply = bench.turn(vec![aside], 0).await;
    assert_eq!(reply.settled, [Settled::Done]);
    assert!(matches!(&reply.assigned[..], [Assigned::Decision(child)] if child.id == JobId::from_bytes([3; 16])));
    bench.finish().await;
}

#[tokio::test]
async fn a_node_that_is_given_to_nobody_when_its_parent_ends_is_set_aside_alone() {
    let Some(mut bench) = Bench::new().await else { return };
    enqueue_graph(&bench, 1..=4, &[edge("n1", "n3"), edge("n2", "n4")], GraphRules::default()).await;
    let held = claimed(bench.turn(Vec::new(), 10).await.assigned);
    raise(&bench, "running", 3).await;
    let reply = bench.turn(held.iter().map(done).collect(), 10).await;
    assert_eq!(reply.settled, [Settled::Done; 2]);
    assert_eq!(numbers(&claimed(reply.assigned)), [4]);
    assert_eq!(state(&bench, 3).await.0, State::Ended(End::Quarantined));
    bench.finish().await;
}

#[tokio::test]
async fn two_failures_beside_an_outcome_that_raises_stop_their_graph_once_all_is_judged() {
    let Some(mut bench) = Bench::new().await else { return };
    enqueue(&bench, 9..=9, Due::Now).await;
    enqueue_graph(&bench, 1..=3, &[], GraphRules { fail_fast: true, ..GraphRules::default() }).await;
    let held = claimed(bench.turn(Vec::new(), 3).await.assigned);
    assert_eq!(numbers(&held), [9, 1, 2]);
    raise(&bench, "attempt", 9).await;
    let failed = Report::Failed { error: "no".into(), retry: Retry::Never, log: None };
    let settle = held.iter().map(|job| settle_report(&job.head, failed.clone())).collect();
    let reply = bench.turn(settle, 9).await;
    assert_eq!(reply.settled, [Settled::Refused, Settled::Done, Settled::Done], "neither failure cancels the other");
    assert!(matches!(&reply.assigned[..], [Assigned::Decision(rest)] if rest.id == JobId::from_bytes([3; 16])));
    assert_eq!(stopped(&bench).await, Some(StopReason::Fail));
    bench.finish().await;
}

#[tokio::test]
async fn a_node_that_is_set_aside_stops_a_graph_that_fails_fast() {
    let Some(mut bench) = Bench::new().await else { return };
    let handles = [NewEdge { condition: Condition::Failed, ..edge("n1", "n3") }];
    enqueue_graph(&bench, 1..=3, &handles, GraphRules { fail_fast: true, ..GraphRules::default() }).await;
    raise(&bench, "running", 1).await;
    let reply = bench.turn(Vec::new(), 9).await;
    assert_eq!(state(&bench, 1).await.0, State::Ended(End::Quarantined));
    assert_eq!(stopped(&bench).await, Some(StopReason::Fail));
    assert!(matches!(&reply.assigned[..], [Assigned::Decision(rest)] if rest.id == JobId::from_bytes([2; 16])));
    enqueue(&bench, 4..=4, Due::Now).await;
    raise(&bench, "running", 4).await;
    let held = claimed(bench.turn(Vec::new(), 9).await.assigned);
    assert_eq!(numbers(&held), [3], "what handles the failure runs, when claimed job by job too");
    bench.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_enqueue_that_raises_is_its_own_callers_and_no_strangers() {
    let Some(bench) = Bench::new().await else { return };
    let id = JobId::from_bytes([7; 16]);
    let check = format!("alter table {}.job add constraint no_such_city check (id <> '{id}')", bench.schema);
    bench.session().await.batch(&check).await.unwrap();
    // So that the calls behind the first are gathered into one group.
    bench.store.pause_with(Arc::new(|_, _| Box::pin(tokio::time::sleep(Duration::from_millis(5)))));
    let calls = (1..=9).map(|number| {
        let store = Arc::clone(&bench.store);
        let job = NewJob::new(JobId::from_bytes([number; 16]), Kind::from_stored("echo"));
        tokio::spawn(async move { store.enqueue(Enqueue::one(Item::job(job))).await })
    });
    for (answer, number) in futures_util::future::join_all(calls).await.into_iter().zip(1..) {
        match answer.unwrap() {
            Ok(answer) => assert!(number != 7 && answer.items[0].is_ok()),
            Err(error) => assert_eq!((number, error.kind), (7, StoreErrorKind::Corrupt), "{error}"),
        }
    }
    bench.finish().await;
}
