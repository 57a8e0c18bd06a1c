//! Two hundred runs move money between rows of the store's own database while their worker's process is killed again and
//! again. Totals are exact, and each leg of each transfer was done once.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::durable::{Postgres, Sqlite, TxStep};
use towpath::tokio_postgres::types::Type;
use towpath::{Cx, Durable, Failure, Step, StepCx, Worker, rusqlite, tokio_postgres};

use crate::stores::{self, Subject};

const RUNS: usize = 200;
const ACCOUNTS: usize = 7;
const KILLS: u32 = 12;
const STORE: &str = "TOWPATH_TRANSFER_STORE";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Leg {
    schema: String,
    run: String,
    leg: i32,
    account: i32,
    cents: i64,
}

const MOVE: TxStep<Sqlite, Leg, i64, Failure> = TxStep::new("move", &move_in_file);
fn move_in_file(db: &rusqlite::Connection, leg: Leg) -> Result<i64, Failure> {
    db.execute("insert into leg (run, leg) values (?1, ?2)", (&leg.run, leg.leg))?;
    let sql = "update account set cents = cents + ?1 where id = ?2 returning cents";
    let cents: i64 = db.query_row(sql, (leg.cents, leg.account), |row| row.get(0))?;
    // What is refused leaves no row.
    if leg.leg == 9 { Err(Failure::permanent("refused")) } else { Ok(cents) }
}

const MOVE_SHARED: TxStep<Postgres, Leg, i64, Failure> = TxStep::new("move", &move_in_database);
async fn move_in_database(db: &tokio_postgres::Client, leg: Leg) -> Result<i64, Failure> {
    let Leg { schema, run, leg, account, cents } = leg;
    // Without a name, so that it passes through a transaction pooler too.
    let sql = format!("insert into {schema}.leg (run, leg) values ($1, $2)");
    db.query_typed(&sql, &[(&run, Type::TEXT), (&leg, Type::INT4)]).await?;
    let sql = format!("update {schema}.account set cents = cents + $1 where id = $2 returning cents");
    let rows = db.query_typed(&sql, &[(&cents, Type::INT8), (&account, Type::INT4)]).await?;
    if leg == 9 { Err(Failure::permanent("refused")) } else { Ok(rows[0].get(0)) }
}

/// How many looks a process that is to be killed may end. However fast the machine is, the kills then come before the
/// work is done: it takes two looks a run, and all the kills together leave more than half of them.
const LOOKS: usize = 15;
const ALLOWED: &str = "TOWPATH_TRANSFER_LOOKS";
static LOOKED: AtomicUsize = AtomicUsize::new(0);

const LOOK: Step<u64, u64, Failure> = Step::new("look", &look);
async fn look(_cx: StepCx, n: u64) -> Result<u64, Failure> {
    tokio::time::sleep(Duration::from_millis(n % 7)).await;
    let allowed = std::env::var(ALLOWED).map_or(usize::MAX, |allowed| allowed.parse().unwrap());
    if LOOKED.fetch_add(1, Ordering::SeqCst) >= allowed {
        std::future::pending::<()>().await;
    }
    Ok(n)
}

macro_rules! transfer {
    ($name:ident, $function:ident, $step:ident) => {
        const $name: Durable<(String, usize), u64, Failure> =
            Durable::new("transfer", 1, Duration::from_secs(600), &$function);
        async fn $function(cx: Cx<'_>, (schema, n): (String, usize)) -> Result<u64, Failure> {
            let leg = |leg: i32, account: usize, cents: i64| {
                let (schema, run) = (schema.clone(), cx.id().to_string());
                Leg { schema, run, leg, account: (account % ACCOUNTS) as i32, cents }
            };
            let cents = 1 + (n % 90) as i64;
            cx.transact($step, &leg(1, n, -cents)).await?;
            let seen = cx.step(LOOK, &(n as u64)).await?;
            assert!(cx.transact($step, &leg(9, n, 1_000_000)).await.is_err());
            cx.sleep(Duration::from_millis(seen % 40)).await;
            cx.transact($step, &leg(2, n + 1, cents)).await?;
            Ok(cx.step(LOOK, &seen).await?)
        }
    };
}

transfer!(TRANSFER, transfer, MOVE);
transfer!(TRANSFER_SHARED, transfer_shared, MOVE_SHARED);

/// The worker process: this test binary again. Run by itself it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let client = stores::open(&url).await;
    let worker = Worker::builder(&client).queue("default", 16);
    let worker = if url.contains('#') { worker.durable(TRANSFER_SHARED) } else { worker.durable(TRANSFER) };
    worker.start().unwrap().join().await;
}

fn spawn(url: &str, looks: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "transfers::worker_process", "--nocapture"])
        .env(STORE, url)
        .env(ALLOWED, looks.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Makes the tables, or reads what became of them: the sum of all accounts, the legs, and the legs that were done twice.
async fn tables(subject: &Subject, make: bool) -> (i64, i64, i64) {
    let sums = |schema: &str| {
        let legs = format!("select run, leg from {schema}leg group by run, leg having count(*) > 1");
        format!(
            "select (select cast(sum(cents) as bigint) from {schema}account), (select count(*) from {schema}leg), \
             (select count(*) from ({legs}) as twice)"
        )
    };
    let made = |schema: &str| {
        format!(
            "create table {schema}account (id int primary key, cents bigint not null); \
             create table {schema}leg (run text not null, leg int not null);"
        ) + &(0..ACCOUNTS).map(|id| format!("insert into {schema}account values ({id}, 1000);")).collect::<String>()
    };
    if let Some((url, schema)) = subject.url.split_once('#') {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        if make {
            client.batch_execute(&made(&format!("{schema}."))).await.unwrap();
        }
        let rows = client.query_typed(&sums(&format!("{schema}.")), &[]).await.unwrap();
        return (rows[0].get(0), rows[0].get(1), rows[0].get(2));
    }
    let file = rusqlite::Connection::open(subject.url.trim_start_matches("sqlite:")).unwrap();
    file.busy_timeout(Duration::from_secs(10)).unwrap();
    if make {
        file.execute_batch(&made("")).unwrap();
    }
    file.query_row(&sums(""), [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}

async fn money_is_neither_made_nor_lost(subject: Subject) {
    let total = 1_000 * ACCOUNTS as i64;
    assert_eq!(tables(&subject, true).await, (total, 0, 0));
    let client = &subject.client;
    let schema = subject.url.split_once('#').map_or("", |(_, schema)| schema).to_owned();
    let mut runs = Vec::new();
    for n in 0..RUNS {
        let start = client.start(TRANSFER, &format!("t{n}"), &(schema.clone(), n));
        runs.push(start.crash_limit(KILLS + 1).await.unwrap());
    }
    for kill in 0..KILLS {
        let mut child = spawn(&subject.url, LOOKS);
        // The kill falls on a process that is at work.
        let from = tables(&subject, false).await.1;
        let mut waited = 0;
        while tables(&subject, false).await.1 < from + 10 && waited < 4_000 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            waited += 1;
        }
        tokio::time::sleep(Duration::from_millis(u64::from(kill) * 7 % 40)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let to = tables(&subject, false).await.1;
        assert!(from < to && to < 2 * RUNS as i64, "the kill did not come in the middle of the work: {from} {to}");
    }
    let mut child = spawn(&subject.url, usize::MAX);
    for (n, run) in runs.iter().enumerate() {
        let result = tokio::time::timeout(Duration::from_secs(120), client.result(run)).await.expect("it hangs");
        assert_eq!(result.unwrap(), n as u64);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(tables(&subject, false).await, (total, 2 * RUNS as i64, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_is_neither_made_nor_lost_on_sqlite() {
    money_is_neither_made_nor_lost(stores::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_is_neither_made_nor_lost_on_postgres() {
    if let Some(subject) = stores::postgres().await {
        money_is_neither_made_nor_lost(subject).await;
    }
}
