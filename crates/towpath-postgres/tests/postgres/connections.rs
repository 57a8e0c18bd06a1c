//! Connections that are cut, lead to a reader, listen, and tell; and how many there are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::poll_fn;
use tokio_postgres::{AsyncMessage, Client, NoTls};
use towpath_core::store::{Enqueue, Hint};
use towpath_core::{Queue, Store, StoreErrorKind};

use super::{admin, beat, claim, fresh, job, open, reaches_directly, schema, url, worker};

/// How a session of the schema's shows itself to the server: by its last statement.
fn of(test: &str) -> String {
    format!("%{}%", schema(test))
}

/// Ends the sessions whose last statement is like this; answers how many there were.
async fn cut(admin: &Client, like: &str) -> u64 {
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and query like $1";
    admin.execute(end, &[&like]).await.unwrap()
}

#[tokio::test]
async fn a_connection_that_leads_to_a_reader_is_given_up() {
    let Some(url) = url("a change of roles").filter(|_| reaches_directly("a user of its own")) else { return };
    let store = fresh(&url, "reader").await;
    let admin = admin(&url).await;
    let user = format!("reader_{}", std::process::id());
    let set = format!("create role {user} superuser login; alter role {user} set default_transaction_read_only = on");
    admin.batch_execute(&set).await.unwrap();
    let theirs = url.replacen("postgres@", &format!("{user}@"), 1);
    assert_ne!(theirs, url, "the URL names its user");
    let there = open(&theirs, &schema("reader"));
    let refused = there.enqueue(Enqueue::one(job(1))).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::ReadOnly);
    assert!(refused.to_string().contains("connect to the primary"), "{refused}");
    // The server is a writer again, which a session that was made before never learns.
    admin.batch_execute(&format!("alter role {user} reset default_transaction_read_only")).await.unwrap();
    assert!(there.enqueue(Enqueue::one(job(1))).await.unwrap().items[0].is_ok());
    drop(there);
    store.drop_schema().await.unwrap();
    while admin.batch_execute(&format!("drop role {user}")).await.is_err() {
        cut(&admin, &of("reader")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_again_after_its_connection_was_cut() {
    let Some(url) = url("a listener that is cut").filter(|_| reaches_directly("LISTEN does not pass")) else { return };
    let (here, there) = (fresh(&url, "deaf").await, open(&url, &schema("deaf")));
    let admin = admin(&url).await;
    let mut hints = there.hints();
    let mut number = 0;
    for round in 0..3 {
        let heard = async {
            loop {
                number += 1;
                assert!(number < 250, "nothing was heard in round {round}");
                here.enqueue(Enqueue::one(job(number))).await.unwrap();
                let hint = tokio::time::timeout(Duration::from_millis(100), hints.next()).await;
                if let Ok(Hint::Ready(queue)) = hint {
                    return queue;
                }
            }
        };
        assert_eq!(heard.await, Queue::default());
        // The ping, or the LISTEN, is the last statement of the one that listens.
        let listens = "select pid from pg_stat_activity where query like 'listen \"towpath_' || $1 || '%'";
        let pids = admin.query(listens, &[&schema("deaf")]).await.unwrap();
        assert!(!pids.is_empty(), "somebody listens in round {round}");
        for pid in pids {
            let pid: i32 = pid.get(0);
            admin.execute("select pg_terminate_backend($1)", &[&pid]).await.unwrap();
        }
    }
    here.drop_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_jobs_are_one_notification_and_many_enqueues_few() {
    let Some(url) = url("the rate of NOTIFY").filter(|_| reaches_directly("LISTEN does not pass")) else { return };
    let store = Arc::new(fresh(&url, "notify").await);
    let (listener, mut connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(_) = message {
                let _ = told.send(());
            }
        }
    });
    let channel = format!("listen \"towpath_{}\"", schema("notify"));
    listener.batch_execute(&channel).await.unwrap();
    let mut come = async || {
        let mut count = 0;
        while tokio::time::timeout(Duration::from_millis(500), heard.recv()).await.is_ok_and(|note| note.is_some()) {
            count += 1;
        }
        count
    };
    store.enqueue(Enqueue { items: (1..=250).map(job).collect() }).await.unwrap();
    assert_eq!(come().await, 1, "one for a batch, not one for each job");
    let began = Instant::now();
    let enqueues = (0..2_000_u16).map(|number| {
        let store = Arc::clone(&store);
        let mut bytes = [9; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        let job =
            towpath_core::NewJob::new(towpath_core::JobId::from_bytes(bytes), towpath_core::Kind::from_stored("echo"));
        tokio::spawn(async move { store.enqueue(Enqueue::one(towpath_core::store::Item::job(job))).await.unwrap() })
    });
    futures_util::future::join_all(enqueues).await;
    // One each 5 ms at most, and those at the two ends.
    let most = began.elapsed().as_millis() / 5 + 2;
    let count = come().await;
    assert!(count >= 1 && u128::from(count as u64) <= most, "{count} in {:?}", began.elapsed());
    store.drop_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_cut_keeps_nobody_out() {
    let Some(url) = url("a migration that is cut").filter(|_| reaches_directly("it cuts connections")) else { return };
    let store = Arc::new(open(&url, &schema("strand")));
    store.drop_schema().await.unwrap();
    let (admin, other) = (admin(&url).await, admin(&url).await);
    // It waits for this one's schema, with its own lock in hand.
    other.batch_execute(&format!("begin; create schema \"{}\"", schema("strand"))).await.unwrap();
    let theirs = Arc::clone(&store);
    let migration = tokio::spawn(async move { theirs.migrate().await });
    let waits = "select count(*) from pg_stat_activity where query like $1 and wait_event_type = 'Lock'";
    let created = format!("create schema \"{}\"%", schema("strand"));
    while admin.query_one(waits, &[&created]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where query like $1 and wait_event_type = 'Lock'";
    admin.execute(end, &[&created]).await.unwrap();
    migration.await.unwrap().unwrap_err();
    other.batch_execute("rollback").await.unwrap();
    let migrated = tokio::time::timeout(Duration::from_secs(30), open(&url, &schema("strand")).migrate()).await;
    assert_eq!(migrated.expect("nobody is kept out").unwrap().from, 0);
    store.drop_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_has_few_connections_of_its_own_whatever_it_is_asked() {
    let Some(url) = url("connections").filter(|_| reaches_directly("the pooler has its own")) else { return };
    let named =
        format!("{url}{}application_name=few_{}", if url.contains('?') { '&' } else { '?' }, std::process::id());
    let store = Arc::new(open(&named, &schema("few")));
    store.migrate().await.unwrap();
    let _hints = store.hints();
    let me = worker(1);
    let calls = (0..60_u8).map(|number| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store.enqueue(Enqueue::one(job(number))).await.unwrap();
            store.inspect().census().await.unwrap();
            store.extend(beat(me)).await.unwrap();
            store.turn(claim(me, u64::from(number) + 1)).await.ok();
        })
    });
    futures_util::future::join_all(calls).await;
    let count = "select count(*) from pg_stat_activity where application_name = $1";
    let name = format!("few_{}", std::process::id());
    let open: i64 = admin(&url).await.query_one(count, &[&name]).await.unwrap().get(0);
    assert!((1..=4).contains(&open), "{open} connections");
    store.drop_schema().await.unwrap();
}
