//! One child of very many parents: at ten thousand, and at the most that a graph may have.

use std::sync::Arc;
use std::time::Duration;

use towpath_core::store::{
    Assigned, Beat, Change, Changed, Claim, Enqueue, HostId, Intent, Item, Order, Placed, QueueClaim, Served, Settled,
    Turn, WorkerIdentity,
};
use towpath_core::{
    GraphEnd, GraphId, GraphName, GraphRules, Incarnation, JobId, Kind, ManualClock, MemoryStore, NewEdge, NewGraph,
    NewJob, NewNode, NodeName, Queue, Report, Store, limits, settle_decision, settle_report,
};
use towpath_postgres::{PostgresOptions, PostgresStore};
use towpath_sqlite::{SqliteOptions, SqliteStore};

use crate::postgres::url;

#[tokio::test]
async fn a_child_of_very_many_parents_is_released_once_by_the_last_of_them() {
    for parents in SIZES {
        fan_in(&MemoryStore::new(ManualClock::default()), parents).await;
        let folder = tempfile::tempdir().unwrap();
        fan_in(&SqliteStore::open(folder.path().join("work.db"), SqliteOptions::default()).unwrap(), parents).await;
    }
}

#[tokio::test]
async fn a_child_of_very_many_parents_is_released_once_on_postgres() {
    let Some(url) = url() else { return };
    for parents in SIZES {
        let schema = format!("fan_in_{}_{parents}", std::process::id());
        let store = PostgresStore::connect(&url, PostgresOptions::default().schema(schema)).unwrap();
        store.migrate().await.unwrap();
        fan_in(&store, parents).await;
        store.drop_schema().await.unwrap();
    }
}

/// The second is all that a graph may have, the child being one of them.
const SIZES: [usize; 2] = [10_000, limits::GRAPH_NODES_MAX - 1];
const WORKER: Incarnation = Incarnation::from_bytes([3; 16]);

async fn fan_in(store: &dyn Store, parents: usize) {
    let graph = GraphId::from_bytes([5; 16]);
    let item = Item::Graph(Box::new(funnel(graph, parents).prepare().unwrap()));
    assert_eq!(store.enqueue(Enqueue::one(item)).await.unwrap().items, [Ok(Placed::Inserted)]);
    let identity = WorkerIdentity {
        name: "test".into(),
        host: HostId::default(),
        build: 1,
        queues: vec![],
        kinds: Default::default(),
    };
    let lease = Duration::from_secs(3_600);
    let beat = Beat { worker: WORKER, identity, lease, acknowledged: 0, holds: vec![], intent: Intent::Stay };
    store.extend(beat).await.unwrap();
    let serves: Arc<[Served]> = Arc::new([Served::up_to(Kind::from_stored("echo"), 1)]);
    let queues = vec![QueueClaim { queue: Queue::default(), serves, limit: limits::CLAIM_MAX }];
    let claim = Claim { queues, most: u16::MAX, decisions_max: limits::DECISIONS_MAX };
    let (mut settle, mut ended) = (Vec::new(), 0);
    for number in 1.. {
        let reply = store.turn(Turn { worker: WORKER, number, settle, claim: Some(claim.clone()) }).await.unwrap();
        assert!(reply.settled.iter().all(|answer| *answer == Settled::Done));
        ended += reply.settled.len();
        if reply.assigned.is_empty() {
            break;
        }
        let is_child = |assigned: &Assigned| matches!(assigned, Assigned::Job(job) if job.head.id == id(parents));
        if reply.assigned.iter().any(is_child) {
            assert_eq!((ended, reply.assigned.len()), (parents, 1), "the child comes behind all of them, and alone");
        }
        let outcome = |assigned: &Assigned| match assigned {
            Assigned::Job(job) => settle_report(&job.head, Report::Succeeded { output: None, branches: Vec::new() }),
            Assigned::Decision(undecided) => settle_decision(undecided),
        };
        settle = reply.assigned.iter().map(outcome).collect();
    }
    // The parents, the child, the end.
    assert_eq!(ended, parents + 2);
    let seen = store.inspect().graph(graph).await.unwrap().unwrap();
    assert_eq!(seen.line.end, Some(GraphEnd::Succeeded));
    let order = Order { actor: "test".into(), reason: String::new(), changes: vec![Change::Recount { graph }] };
    assert_eq!(store.apply(order).await.unwrap().changes, [Changed::Recounted { repaired: 0 }]);
}

fn id(number: usize) -> JobId {
    JobId::from_bytes((number as u128 + 1).to_be_bytes())
}

fn funnel(id_of_graph: GraphId, parents: usize) -> NewGraph {
    let name = |number: usize| NodeName::from_stored(&format!("n{number}"));
    let node = |number| NewNode::new(name(number), NewJob::new(id(number), Kind::from_stored("echo")));
    NewGraph {
        id: id_of_graph,
        name: GraphName::from_stored("funnel"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: (0..=parents).map(node).collect(),
        edges: (0..parents).map(|parent| NewEdge::new(name(parent), name(parents))).collect(),
    }
}
