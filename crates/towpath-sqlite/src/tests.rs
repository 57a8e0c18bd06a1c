//! Tests of what only this store has: the shared writer, opening, several stores on one file, hints.
//! What every store must do is proven by `towpath-conformance`.

mod combining;
mod opening;
mod raising;
mod sharing;
mod statements;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_executor::block_on;
use tempfile::TempDir;
use towpath_core::store::{
    Beat, Claim, Enqueue, HostId, Intent, Item, QueueClaim, Served, Settle, Turn, TurnReply, WorkerIdentity,
};
use towpath_core::{Incarnation, JobId, Kind, NewJob, Queue, Store};

use crate::{SqliteOptions, SqliteStore};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(folder: &TempDir) -> SqliteStore {
    open_at(&folder.path().join("work.db"))
}

fn open_at(path: &Path) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions::default()).unwrap()
}

fn id(number: u64) -> JobId {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    JobId::from_bytes(bytes)
}

fn job(number: u64) -> NewJob {
    NewJob::new(id(number), Kind::from_stored("echo"))
}

fn one(number: u64) -> Enqueue {
    Enqueue::one(Item::job(job(number)))
}

fn worker(number: u8) -> Incarnation {
    Incarnation::from_bytes([number; 16])
}

fn register(store: &SqliteStore, worker: Incarnation) {
    let identity = WorkerIdentity {
        name: "test".into(),
        host: HostId::default(),
        build: 1,
        queues: vec!["default".into()],
        kinds: Default::default(),
    };
    let lease = Duration::from_secs(60);
    let beat = Beat { worker, identity, lease, acknowledged: 0, holds: Vec::new(), intent: Intent::Stay };
    block_on(store.extend(beat)).unwrap();
}

fn take_turn(store: &SqliteStore, worker: Incarnation, number: u64, settle: Vec<Settle>, limit: u16) -> TurnReply {
    let serves: Arc<[Served]> = Arc::new([Served::up_to(Kind::from_stored("echo"), 1)]);
    let queues = vec![QueueClaim { queue: Queue::default(), serves, limit }];
    let claim = (limit > 0).then_some(Claim { queues, most: u16::MAX, decisions_max: 512 });
    block_on(store.turn(Turn { worker, number, settle, claim })).unwrap()
}
