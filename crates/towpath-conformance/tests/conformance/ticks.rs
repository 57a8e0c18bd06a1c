//! Eight workers that look at the same schedules at once: each tick is minted once, and ten thousand schedules cost little.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use towpath_conformance::{PostgresSubject, Subject};
use towpath_core::schedule::{Keeper, Policy, Schedule, Spec, StoredSchedule, TickJob, Zone, look};
use towpath_core::store::{JobFilter, Page};
use towpath_core::{JobId, Kind, ManualClock, NewJob, ScheduleName, Store, Timestamp};
use towpath_sqlite::{SqliteOptions, SqliteStore, Synchronous};

use crate::postgres::url;

const WORKERS: usize = 8;
const SCHEDULES: usize = 5;
const TICKS: i64 = 12;
const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

async fn put(store: &dyn Store, name: &str, spec: &str) {
    let job = NewJob::new(JobId::from_bytes([1; 16]), Kind::from_stored("echo"));
    let rule = Schedule { spec: Spec::parse(spec).unwrap(), zone: Zone::utc(), policy: Policy::default() };
    let parts = (rule, TickJob::of(&job).unwrap());
    let write = StoredSchedule::put(None, ScheduleName::new(name).unwrap(), parts, Keeper::Hand, START);
    store.write_schedules(vec![write]).await.unwrap();
}

/// Every worker looks at each moment, all at once.
async fn race(stores: Vec<Arc<dyn Store>>, mut set_clock: impl AsyncFnMut(Timestamp)) {
    set_clock(START).await;
    for number in 0..SCHEDULES {
        put(&*stores[0], &format!("s{number}"), "@every 1m").await;
    }
    let mut minted = 0;
    for tick in 1..=TICKS {
        set_clock(START + Duration::from_secs(60) * u32::try_from(tick).unwrap()).await;
        let looks = (0..WORKERS).map(|at| {
            let store = Arc::clone(&stores[at % stores.len()]);
            tokio::spawn(async move { look(&*store, 100).await.unwrap().minted })
        });
        for look in looks.collect::<Vec<_>>() {
            minted += look.await.unwrap();
        }
    }
    let ticks = u32::try_from(TICKS).unwrap() * u32::try_from(SCHEDULES).unwrap();
    assert_eq!(minted, ticks, "as the looks say");
    let page = Page { after: None, limit: 1_000 };
    let lines = stores[0].inspect().jobs(JobFilter::default(), page).await.unwrap();
    assert_eq!(lines.len(), ticks as usize, "as the store says");
    let mut by_tick: BTreeMap<(String, String), u32> = BTreeMap::new();
    for line in lines {
        let headers = stores[0].inspect().job(line.id).await.unwrap().unwrap().headers;
        *by_tick.entry((headers["towpath-schedule"].clone(), headers["towpath-tick"].clone())).or_default() += 1;
    }
    assert_eq!(by_tick.len(), ticks as usize);
    assert!(by_tick.values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_minted_once_by_eight_workers_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(START);
    let open = |_| {
        let (mut options, clock) = (SqliteOptions::default(), clock.clone());
        options.synchronous = Synchronous::Normal;
        options.clock = Arc::new(move || towpath_core::Clock::now(&clock));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.path().join("work.db"), options).unwrap());
        store
    };
    race((0..4).map(open).collect(), async |now| clock.set(now)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_is_minted_once_by_eight_workers_on_postgres() {
    let Some(url) = url() else { return };
    let mut subject = PostgresSubject::new(&url).await.unwrap();
    let connect = |_| {
        let options = towpath_postgres::PostgresOptions::default().schema(subject.schema());
        let store: Arc<dyn Store> = Arc::new(towpath_postgres::PostgresStore::connect(&url, options).unwrap());
        store
    };
    let stores = (0..4).map(connect).collect();
    race(stores, async |now| subject.set_clock(now).await.unwrap()).await;
    subject.remove().await.unwrap();
}
