//! Stores for tests. PostgreSQL needs `TOWPATH_TEST_POSTGRES`, the URL of a superuser on a throwaway cluster
//! (`cargo xtask test` starts one); without it those tests say that they were left out.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use towpath::core::Clock;
use towpath::{Client, MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Timestamp};

/// The host's clock.
struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
    }
}

/// A client on a store of its own, and what must live as long.
pub(crate) struct Subject {
    pub(crate) client: Client,
    pub(crate) _dir: Option<tempfile::TempDir>,
}

pub(crate) fn memory() -> Subject {
    let client = Client::new(Arc::new(MemoryStore::new(HostClock)));
    Subject { client, _dir: None }
}

pub(crate) fn sqlite() -> Subject {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    Subject { client: Client::new(Arc::new(store)), _dir: Some(dir) }
}

/// A schema of its own on the cluster that the environment names.
pub(crate) async fn postgres() -> Option<Subject> {
    let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
        eprintln!("left out: PostgreSQL (set TOWPATH_TEST_POSTGRES, or run `cargo xtask test`)");
        return None;
    };
    let schema = format!("t_{}", towpath::Client::new_job_id().as_uuid().simple());
    let store = PostgresStore::connect(&url, PostgresOptions::default().schema(&schema)).unwrap();
    towpath::Store::migrate(&store).await.unwrap();
    Some(Subject { client: Client::new(Arc::new(store)), _dir: None })
}

/// Makes one test per store from a function that takes a [`Subject`].
macro_rules! on_every_store {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::stores::memory()).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::stores::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(subject) = crate::stores::postgres().await {
                    super::$name(subject).await;
                }
            })+
        }
    };
}
pub(crate) use on_every_store;
