//! How fast the store is here, beside how fast the disk is: `cargo run --release --example speed`.

// Only an example: a failure ends it.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_executor::block_on;
use towpath_core::store::{
    Assigned, Beat, Claim, Enqueue, HostId, Intent, Item, Placed, QueueClaim, Served, Turn, WorkerIdentity,
};
use towpath_core::{
    Condition, GraphId, GraphName, GraphRules, Incarnation, JobId, Kind, NewEdge, NewGraph, NewJob, NewNode, NodeName,
    Payload, Queue, Report, Store, settle_decision, settle_report,
};
use towpath_sqlite::{SqliteOptions, SqliteStore};

const JOBS: u64 = 200_000;
const BATCH: u64 = 1_000;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("fsync p50 {:?}", fsync_p50(folder.path()));
    let store = SqliteStore::open(folder.path().join("speed.db"), SqliteOptions::default()).unwrap();
    bulk(&store);
    for limit in [200, 512] {
        drain(&store, limit, JOBS / 2);
    }
    println!("fsync p50 {:?}", fsync_p50(folder.path()));
    for threads in [1, 8, 32] {
        lone(&store, threads, 4_000);
    }
    fan(&store, 10_000);
    println!("{:?}", store.commits());
}

fn fsync_p50(folder: &Path) -> Duration {
    let mut file = File::create(folder.join("fsync")).unwrap();
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            file.write_all(&[0; 4096]).unwrap();
            let start = Instant::now();
            file.sync_data().unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[100]
}

fn id(space: u8, number: u64) -> [u8; 16] {
    let mut bytes = [space; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn job(space: u8, number: u64) -> NewJob {
    let input = Payload::json_bytes(vec![b'7'; 160]);
    NewJob::new(JobId::from_bytes(id(space, number)), Kind::from_stored("noop")).input(input)
}

/// When something began, and how long this thread had been on a processor by then.
struct Start(Instant, Duration);

fn now() -> Start {
    Start(Instant::now(), on_cpu())
}

/// On a busy machine the second number says more than the first.
fn rate(what: &str, count: u64, Start(start, cpu): Start) {
    let wall = count as f64 / start.elapsed().as_secs_f64();
    let cpu = count as f64 / (on_cpu() - cpu).as_secs_f64();
    println!("{what}: {wall:.0}/s, {cpu:.0} per second of this thread's processor time");
}

fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

fn bulk(store: &SqliteStore) {
    let start = now();
    for batch in 0..JOBS / BATCH {
        let items = (0..BATCH).map(|at| Item::job(job(1, batch * BATCH + at))).collect();
        block_on(store.enqueue(Enqueue { items })).unwrap();
    }
    rate("enqueue, batches of 1,000", JOBS, start);
}

fn lone(store: &SqliteStore, threads: u8, each: u64) {
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for number in 0..each {
                    let space = 100 + threads + thread;
                    block_on(store.enqueue(Enqueue::one(Item::job(job(space, number))))).unwrap();
                }
            });
        }
    });
    let wall = (u64::from(threads) * each) as f64 / start.elapsed().as_secs_f64();
    println!("enqueue one by one, {threads} threads: {wall:.0}/s");
}

fn register(store: &SqliteStore, me: Incarnation) {
    let identity = WorkerIdentity {
        name: "speed".into(),
        host: HostId::default(),
        build: 1,
        queues: Vec::new(),
        kinds: Default::default(),
    };
    let lease = Duration::from_secs(600);
    let beat = Beat { worker: me, identity, lease, acknowledged: 0, holds: Vec::new(), intent: Intent::Stay };
    block_on(store.extend(beat)).unwrap();
}

fn work(store: &SqliteStore, me: Incarnation, limit: u16, most: u64) -> u64 {
    register(store, me);
    let serves: Arc<[Served]> = Arc::new([Served::up_to(Kind::from_stored("noop"), 1)]);
    let (mut settle, mut done, mut number) = (Vec::new(), 0, 0);
    loop {
        number += 1;
        let queues = vec![QueueClaim { queue: Queue::default(), serves: serves.clone(), limit }];
        let claim = (done < most).then_some(Claim { queues, most: u16::MAX, decisions_max: 512 });
        let turn = Turn { worker: me, number, settle: std::mem::take(&mut settle), claim };
        let reply = block_on(store.turn(turn)).unwrap();
        if reply.assigned.is_empty() {
            return done;
        }
        for assigned in reply.assigned {
            settle.push(match assigned {
                Assigned::Job(claimed) => {
                    done += 1;
                    settle_report(&claimed.head, Report::Succeeded { output: None, branches: Vec::new() })
                }
                Assigned::Decision(undecided) => settle_decision(&undecided),
            });
        }
    }
}

fn drain(store: &SqliteStore, limit: u16, most: u64) {
    let start = now();
    let done = work(store, Incarnation::from_bytes(id(9, u64::from(limit))), limit, most);
    rate(&format!("claim and settle, turns of {limit}"), done, start);
}

fn fan(store: &SqliteStore, width: u64) {
    work(store, Incarnation::from_bytes(id(9, 1)), 512, u64::MAX);
    let name = |number: u64| NodeName::from_stored(&format!("n{number}"));
    let last = width + 1;
    let nodes = (0..=last).map(|number| NewNode::new(name(number), job(2, number))).collect();
    let edge = |parent, child| NewEdge { parent: name(parent), child: name(child), condition: Condition::Succeeded };
    let edges = (1..=width).flat_map(|middle| [edge(0, middle), edge(middle, last)]).collect();
    let graph = NewGraph {
        id: GraphId::from_bytes(id(3, 1)),
        name: GraphName::from_stored("fan"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes,
        edges,
    };
    let graph = graph.prepare().unwrap();
    let start = Instant::now();
    let answer = block_on(store.enqueue(Enqueue::one(Item::Graph(Box::new(graph))))).unwrap();
    assert_eq!(answer.items, [Ok(Placed::Inserted)]);
    println!("graph 1 -> {width} -> 1 enqueued in {:?}", start.elapsed());
    let start = Instant::now();
    let done = work(store, Incarnation::from_bytes(id(9, 2)), 512, u64::MAX);
    println!("graph of {done} nodes worked off in {:?}", start.elapsed());
}
