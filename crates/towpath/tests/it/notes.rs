//! What handlers say of their jobs while they work: how far they are, tags, and what the next attempt finds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use towpath::durable::{Memory, Postgres, Sqlite, TxStep};
use towpath::inspect::{JobDetail, JobFilter, Page, TagQuery};
use towpath::tokio_postgres::types::Type;
use towpath::{
    Context, Cx, Durable, End, Failure, Job, JobId, JobState, Progress, RetryPolicy, StepCx, Worker, rusqlite,
    tokio_postgres,
};

use crate::stores::{self, Subject, on_every_store};

on_every_store!(
    a_bar_moves_while_the_handler_works_and_its_last_word_stays,
    a_blocking_handler_and_a_step_of_a_run_say_how_far_they_are,
    a_step_is_done_once_and_a_cursor_goes_on,
    tags_are_added_and_found,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "import", tag = "imports")]
struct Import {
    fails: u32,
}

fn quick() -> RetryPolicy {
    RetryPolicy { base_us: 1_000, ..RetryPolicy::attempts(3) }
}

async fn detail(subject: &Subject, job: JobId) -> JobDetail {
    subject.client.inspect().job(job).await.unwrap().unwrap()
}

/// Looks until the job shows what is wanted of it.
async fn shown(subject: &Subject, job: JobId, wanted: &str) {
    loop {
        let progress = detail(subject, job).await.progress;
        if progress.is_some_and(|line| line.progress.to_string() == wanted) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_bar_moves_while_the_handler_works_and_its_last_word_stays(subject: Subject) {
    let go = Arc::new(Notify::new());
    let told = Arc::clone(&go);
    let handler = move |_: Import, cx: Context| {
        let go = Arc::clone(&told);
        async move {
            cx.progress(0.25);
            go.notified().await;
            // The first word is written at once, these together a moment later: the last.
            (1..=50).for_each(|n| cx.progress(Progress::of(n, 200).say("rows")));
            go.notified().await;
            cx.progress((150, 200));
            Err::<(), _>(Failure::permanent("the file ends here"))
        }
    };
    let worker = Worker::builder(&subject.client).handle(handler).start().unwrap();
    let job = subject.client.job(&Import { fails: 0 }).retry(quick()).await.unwrap().id();
    shown(&subject, job, "25 %").await;
    go.notify_one();
    shown(&subject, job, "50 of 200 (25 %): rows").await;
    go.notify_one();
    subject.client.wait(job).await.unwrap();
    // What a handler said last before it failed is there with the failure, however soon that came.
    let detail = detail(&subject, job).await;
    let line = detail.progress.unwrap();
    assert_eq!((detail.line.state, line.attempt), (JobState::Ended(End::Dead), 1));
    assert_eq!(line.progress.to_string(), "150 of 200 (75 %)");
    worker.shutdown().await;
}

const RUN: Durable<(), (), Failure> = Durable::new("noted", 1, Duration::from_secs(60), &run);
async fn run(cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    let step = |cx: StepCx, (): ()| async move {
        cx.progress((3, 4));
        cx.state::<Notify>().notified().await;
        Ok::<(), Failure>(())
    };
    Ok(cx.run_with("part", &(), step).await?)
}

async fn a_blocking_handler_and_a_step_of_a_run_say_how_far_they_are(subject: Subject) {
    let blocking = |_: Import, cx: Context| {
        cx.progress(Progress::counted(12).say("files"));
        Err::<(), _>(Failure::permanent("disk full"))
    };
    let worker = Worker::builder(&subject.client).handle_blocking(blocking).durable(RUN).state(Notify::new());
    // The step waits for ever: a shutdown is not to wait for it.
    let worker = worker.drain_limit(Duration::ZERO).abort_grace(Duration::from_millis(10));
    let worker = worker.start().unwrap();
    let job = subject.client.job(&Import { fails: 0 }).retry(quick()).await.unwrap().id();
    subject.client.wait(job).await.unwrap();
    shown(&subject, job, "12: files").await;
    let run = subject.client.start(RUN, "one", &()).await.unwrap();
    let job = subject.client.inspect().run(run.id().clone()).await.unwrap().unwrap();
    shown(&subject, job, "3 of 4 (75 %)").await;
    worker.shutdown().await;
}

static BOOKED: AtomicU32 = AtomicU32::new(0);

async fn a_step_is_done_once_and_a_cursor_goes_on(subject: Subject) {
    #[derive(Default)]
    struct Seen {
        booked: AtomicU32,
        rows: AtomicU32,
    }
    let seen = Arc::new(Seen::default());
    let at_work = Arc::clone(&seen);
    let handler = move |job: Import, cx: Context| {
        let seen = Arc::clone(&at_work);
        async move {
            let book = || async { Ok::<_, Failure>(seen.booked.fetch_add(1, Ordering::SeqCst) + 7) };
            let parcel = cx.once("book", book).await?;
            assert_eq!(parcel, 7, "every attempt has the parcel of the first");
            let failing = cx.once("never", || async { Err::<(), _>(Failure::new("no")) }).await;
            assert_eq!(failing.unwrap_err().to_string(), "no", "a step that fails keeps nothing");
            let mut at = cx.cursor::<u32>("rows").await?;
            for row in at.get()?.unwrap_or(0)..10 {
                seen.rows.fetch_add(1, Ordering::SeqCst);
                at.set(&(row + 1)).await?;
                if row % 4 == 3 && cx.attempt() <= job.fails {
                    return Err(Failure::new(format!("row {row}")));
                }
            }
            assert_eq!(cx.cursor::<u32>("rows").await?.get()?, Some(10));
            let wrong = cx.cursor::<String>("rows").await?.get().unwrap_err();
            assert!(wrong.to_string().contains("cursor/rows is of another shape"), "{wrong}");
            let unnamed = cx.cursor::<u32>("").await.unwrap_err();
            assert!(unnamed.is_permanent() && unnamed.to_string().contains("use 1 to 128 bytes"), "{unnamed}");
            Ok(())
        }
    };
    let worker = Worker::builder(&subject.client).handle(handler).start().unwrap();
    let job = subject.client.job(&Import { fails: 2 }).retry(quick()).await.unwrap().id();
    let ended = subject.client.wait(job).await.unwrap();
    assert_eq!((ended.state, detail(&subject, job).await.line.counters.attempt), (JobState::Ended(End::Succeeded), 3));
    assert_eq!((seen.booked.load(Ordering::SeqCst), seen.rows.load(Ordering::SeqCst)), (1, 10));
    let marks = subject.client.store().marks(job).await.unwrap();
    let names: Vec<&str> = marks.iter().map(|line| line.mark.name.as_str()).collect();
    assert_eq!(names, ["cursor/rows", "step/book"]);
    worker.shutdown().await;
}

async fn tags_are_added_and_found(subject: Subject) {
    let handler = |job: Import, cx: Context| async move {
        cx.tag_value("rows", 7).await?;
        cx.tag("imports").await?;
        assert!(cx.tag("").await.unwrap_err().is_permanent());
        for n in 0..job.fails {
            cx.tag(&format!("t{n}")).await?;
        }
        Ok::<_, Failure>(())
    };
    let worker = Worker::builder(&subject.client).handle(handler).start().unwrap();
    let client = &subject.client;
    let few = client.job(&Import { fails: 0 }).tag("urgent").tag_value("customer", 3).await.unwrap();
    let many = client.enqueue(&Import { fails: 40 }).await.unwrap();
    assert_eq!(client.wait(few.id()).await.unwrap().state, JobState::Ended(End::Succeeded));
    let ended = client.wait(many.id()).await.unwrap();
    assert_eq!(ended.state, JobState::Ended(End::Dead));
    assert!(ended.error.unwrap().contains("at most 32 are kept of a job"));
    // Those of the kind, those of the enqueue, those of the handler.
    assert_eq!(detail(&subject, few.id()).await.tags, ["imports", "urgent", "customer=3", "rows=7"]);
    assert_eq!(detail(&subject, many.id()).await.tags.len(), 32);
    let tagged =
        |tags: &[&str]| JobFilter { tags: tags.iter().map(ToString::to_string).collect(), ..JobFilter::default() };
    let found = client.inspect().jobs(tagged(&["imports", "customer=3"]), Page::default()).await.unwrap();
    assert_eq!(found.iter().map(|line| line.id).collect::<Vec<_>>(), [few.id()]);
    let query = TagQuery { prefix: "customer=".into(), limit: 10, ..TagQuery::default() };
    let tags = client.inspect().tags(query).await.unwrap();
    assert_eq!(tags.iter().map(|line| (line.tag.as_str(), line.jobs)).collect::<Vec<_>>(), [("customer=3", 1)]);
    worker.shutdown().await;
}

const IN_MEMORY: TxStep<Memory, String, u32, Failure> = TxStep::new("book", &book_in_memory);
fn book_in_memory(_: String) -> Result<u32, Failure> {
    Ok(BOOKED.fetch_add(1, Ordering::SeqCst) + 1)
}

const IN_FILE: TxStep<Sqlite, String, u32, Failure> = TxStep::new("book", &book_in_file);
fn book_in_file(db: &rusqlite::Connection, who: String) -> Result<u32, Failure> {
    db.execute("insert into booking (who) values (?1)", [&who])?;
    let count = db.query_row("select count(*) from booking", [], |row| row.get(0))?;
    if who == "refused" { Err(Failure::permanent("refused")) } else { Ok(count) }
}

const IN_DATABASE: TxStep<Postgres, String, u32, Failure> = TxStep::new("book", &book_in_database);
async fn book_in_database(db: &tokio_postgres::Client, schema: String) -> Result<u32, Failure> {
    let (schema, who) = schema.split_once(' ').unwrap();
    let sql = format!("insert into {schema}.booking (who) values ($1)");
    db.query_typed(&sql, &[(&who, Type::TEXT)]).await?;
    let rows = db.query_typed(&format!("select count(*)::int from {schema}.booking"), &[]).await?;
    if who == "refused" { Err(Failure::permanent("refused")) } else { Ok(rows[0].get::<_, i32>(0) as u32) }
}

/// A handler that books, fails, and finds at its next attempt that it has booked. `at` stands before the names.
macro_rules! books {
    ($subject:expr, $step:expr, $at:expr) => {{
        let at: String = $at;
        let handler = move |job: Import, cx: Context| {
            let at = at.clone();
            async move {
                let count = cx.transact($step, format!("{at}ann")).await?;
                assert_eq!(count, 1, "it is booked once, whatever comes after it");
                if cx.attempt() <= job.fails {
                    return Err(Failure::new("after the booking"));
                }
                let refused = cx.transact($step.named("refused"), format!("{at}refused")).await;
                assert_eq!(refused.is_err(), at != "memory ", "an error undoes its rows");
                Ok(())
            }
        };
        let worker = Worker::builder(&$subject.client).handle(handler).start().unwrap();
        let job = $subject.client.job(&Import { fails: 2 }).retry(quick()).await.unwrap().id();
        let ended = $subject.client.wait(job).await.unwrap();
        assert_eq!(ended.state, JobState::Ended(End::Succeeded), "{:?}", ended.error);
        worker.shutdown().await;
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_in_memory_is_kept_with_its_result() {
    let subject = stores::memory();
    books!(subject, IN_MEMORY, "memory ".into());
    assert_eq!(BOOKED.load(Ordering::SeqCst), 2, "one of each name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_in_the_file_of_the_store_is_done_exactly_once() {
    let subject = stores::sqlite();
    let db = rusqlite::Connection::open(subject.url.trim_start_matches("sqlite:")).unwrap();
    db.execute_batch("create table booking (who text)").unwrap();
    books!(subject, IN_FILE, String::new());
    let who: String = db.query_row("select group_concat(who) from booking", [], |row| row.get(0)).unwrap();
    assert_eq!(who, "ann");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_in_the_database_of_the_store_is_done_exactly_once() {
    let Some(subject) = stores::postgres().await else { return };
    let (url, schema) = subject.url.split_once('#').unwrap();
    let (db, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    db.batch_execute(&format!("create table {schema}.booking (who text)")).await.unwrap();
    books!(subject, IN_DATABASE, format!("{schema} "));
    let rows = db.query(&format!("select string_agg(who, ',') from {schema}.booking"), &[]).await.unwrap();
    assert_eq!(rows[0].get::<_, String>(0), "ann");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_for_another_database_blocks_its_job() {
    let subject = stores::memory();
    let handler = |_: Import, cx: Context| async move { cx.transact(IN_FILE, String::new()).await.map(|_| ()) };
    let worker = Worker::builder(&subject.client).handle(handler).start().unwrap();
    let job = subject.client.job(&Import { fails: 0 }).retry(quick()).await.unwrap().id();
    let blocked = loop {
        if let Some(why) = detail(&subject, job).await.blocked {
            break why;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(blocked, "the step book is written for another database than this worker's store");
    worker.shutdown().await;
}
