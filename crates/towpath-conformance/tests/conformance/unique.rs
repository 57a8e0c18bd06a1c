//! Sixteen clients on one key, in several processes' stead: at any time one job has it, and the others are told which.
//!
//! Each wins a dozen times. For ten seconds: `TOWPATH_UNIQUE_SECONDS=10 cargo nextest run -p towpath-conformance one_of_sixteen`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use towpath_conformance::{PostgresSubject, Subject};
use towpath_core::store::{Enqueue, Item, Placed};
use towpath_core::{JobId, KeyHolder, Kind, MemoryStore, NewJob, Store, Timestamp, Unique, UniqueKey, cancel_job};
use towpath_sqlite::{SqliteOptions, SqliteStore, Synchronous};

use crate::postgres::url;

const CLIENTS: usize = 16;
/// Wins of each client; between them it loses many times.
const WINS: usize = 12;

/// Who has the key, as the winners say: nobody takes it before the one that has it lets it go.
#[derive(Default)]
struct Book {
    holder: Option<JobId>,
    /// Everybody that ever had it.
    winners: BTreeSet<JobId>,
}

/// How long they go on at least, if the environment says so.
fn at_least() -> Duration {
    let said = std::env::var("TOWPATH_UNIQUE_SECONDS").ok();
    Duration::from_secs(said.map_or(0, |seconds| seconds.parse().unwrap()))
}

async fn contend(stores: Vec<Arc<dyn Store>>) {
    let began = Instant::now();
    let book = Arc::new(Mutex::new(Book::default()));
    let clients = (0..CLIENTS).map(|at| {
        let (store, book) = (Arc::clone(&stores[at % stores.len()]), Arc::clone(&book));
        tokio::spawn(client(at, store, book, began + at_least()))
    });
    let mut losses = 0;
    for client in clients.collect::<Vec<_>>() {
        losses += client.await.unwrap();
    }
    assert!(losses > 0, "nobody ever lost: they did not meet");
    let wins = book.lock().unwrap().winners.len();
    assert!(wins >= CLIENTS * WINS);
    println!("{wins} had the key, one at a time, and {losses} were told who, in {:?}", began.elapsed());
}

async fn client(at: usize, store: Arc<dyn Store>, book: Arc<Mutex<Book>>, until: Instant) -> usize {
    let (mut wins, mut losses) = (0, 0);
    while wins < WINS || Instant::now() < until {
        let mut bytes = [0; 16];
        bytes[0] = at as u8 + 1;
        bytes[8..].copy_from_slice(&((wins * 1_000_000 + losses) as u64).to_be_bytes());
        let id = JobId::from_bytes(bytes);
        let job = NewJob::new(id, Kind::from_stored("echo")).unique(Unique::new(UniqueKey::from_stored("k")));
        let answer = store.enqueue(Enqueue::one(Item::job(job))).await.unwrap();
        match answer.items[0].as_ref().unwrap() {
            Placed::Inserted => {
                {
                    let mut book = book.lock().unwrap();
                    assert_eq!(book.holder.replace(id), None, "two have the key");
                    assert!(book.winners.insert(id));
                }
                // The others may come in between.
                tokio::task::yield_now().await;
                assert_eq!(book.lock().unwrap().holder.take(), Some(id));
                store.apply(cancel_job(id, "test", "let the key go")).await.unwrap();
                wins += 1;
            }
            Placed::Held(holder) => {
                assert_ne!(*holder, KeyHolder::Job(id), "told of itself");
                losses += 1;
                // The winner may be a task behind this one.
                tokio::task::yield_now().await;
            }
            other => panic!("{other:?}"),
        }
    }
    losses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_sixteen_clients_has_a_key_in_memory() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(|| Timestamp::ZERO));
    contend(vec![store]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_sixteen_clients_has_a_key_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = SqliteOptions::default();
    options.synchronous = Synchronous::Normal;
    let open = |_| {
        let store = SqliteStore::open(folder.path().join("work.db"), options.clone()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        store
    };
    contend((0..4).map(open).collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_sixteen_clients_has_a_key_on_postgres() {
    let Some(url) = url() else { return };
    let mut subject = PostgresSubject::new(&url).await.unwrap();
    let connect = |_| {
        let options = towpath_postgres::PostgresOptions::default().schema(subject.schema());
        let store: Arc<dyn Store> = Arc::new(towpath_postgres::PostgresStore::connect(&url, options).unwrap());
        store
    };
    contend((0..4).map(connect).collect()).await;
    subject.remove().await.unwrap();
}
