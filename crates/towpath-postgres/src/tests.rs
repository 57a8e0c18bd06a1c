//! Tests of what only this store has: how the server carries its statements out, and two sessions, with a pause between
//! the statements of one of them. What every store
//! must do is proven by `towpath-conformance`. `TOWPATH_TEST_POSTGRES` names a cluster to be thrown away.

mod plans;
mod postgres_runs;
mod raising;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use towpath_core::store::{
    Assigned, Beat, Claim, Claimed, Enqueue, HostId, Intent, Item, QueueClaim, Served, Settle, Turn, TurnReply,
    WorkerIdentity,
};
use towpath_core::{Incarnation, JobId, Kind, NewJob, Queue, Store, Timestamp};

use crate::session::Session;
use crate::store::{PostgresOptions, PostgresStore};

/// A store in a schema of its own, whose clock stands still, and a worker on it.
struct Bench {
    store: Arc<PostgresStore>,
    schema: String,
    now: Timestamp,
    number: u64,
}

const WORKER: Incarnation = Incarnation::from_bytes([7; 16]);
static SCHEMAS: AtomicU32 = AtomicU32::new(0);

impl Bench {
    /// `None` if no cluster is named.
    async fn new() -> Option<Self> {
        let Some(url) = std::env::var("TOWPATH_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
            // Past the capture of the test's own output: what is left out is told even when all is well.
            let _ = writeln!(std::io::stderr(), "LEFT OUT: PostgreSQL, because TOWPATH_TEST_POSTGRES names no cluster");
            return None;
        };
        let schema = format!("sessions_{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Ordering::Relaxed));
        let store = PostgresStore::connect(&url, PostgresOptions::default().schema(&schema)).unwrap();
        store.drop_schema().await.unwrap();
        store.migrate().await.unwrap();
        let mut bench =
            Self { store: Arc::new(store), schema, now: Timestamp::from_micros(1_700_000_000_000_000), number: 0 };
        bench.pass(Duration::ZERO).await;
        bench.register().await;
        Some(bench)
    }

    async fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.store.set_test_clock(self.now).await.unwrap();
    }

    async fn register(&self) {
        let identity = WorkerIdentity {
            name: "test".into(),
            host: HostId::default(),
            build: 1,
            queues: vec![],
            kinds: Default::default(),
        };
        let lease = Duration::from_secs(3_600);
        let beat = Beat { worker: WORKER, identity, lease, acknowledged: 0, holds: Vec::new(), intent: Intent::Stay };
        self.store.extend(beat).await.unwrap();
    }

    async fn enqueue(&self, job: NewJob) {
        let reply = self.store.enqueue(Enqueue::one(Item::job(job))).await.unwrap();
        assert!(reply.items[0].is_ok(), "{:?}", reply.items);
    }

    /// A turn; it must not wait for a session that is open.
    async fn turn(&mut self, settle: Vec<Settle>, claims: u16) -> TurnReply {
        self.number += 1;
        let serves: Arc<[Served]> = Arc::new([Served::up_to(Kind::from_stored("echo"), 1)]);
        let queues = vec![QueueClaim { queue: Queue::default(), serves, limit: claims }];
        let claim = (claims > 0).then_some(Claim { queues, most: u16::MAX, decisions_max: 0 });
        let turn = self.store.turn(Turn { worker: WORKER, number: self.number, settle, claim });
        tokio::time::timeout(Duration::from_secs(5), turn).await.expect("a turn waits for a session").unwrap()
    }

    /// The only job that can be claimed.
    async fn claim(&mut self) -> Option<Claimed> {
        let mut assigned = self.turn(Vec::new(), 10).await.assigned.into_iter();
        match (assigned.next(), assigned.next()) {
            (Some(Assigned::Job(claimed)), None) => Some(*claimed),
            (None, None) => None,
            other => panic!("claimed {other:?}"),
        }
    }

    /// A session beside the store's own, as a user's transaction has one.
    async fn session(&self) -> Session {
        self.store.inner.server.connect().await.unwrap()
    }

    async fn finish(self) {
        self.store.drop_schema().await.unwrap();
    }
}

fn job(number: u8) -> NewJob {
    NewJob::new(JobId::from_bytes([number; 16]), Kind::from_stored("echo"))
}
