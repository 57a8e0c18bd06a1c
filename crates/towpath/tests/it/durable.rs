//! Durable functions by the public API, on every store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::durable::{Finish, Race2, TxFn, TxStep};
use towpath::{Cx, Durable, Failure, RunError, RunHandle, Signal, Step, StepCx, StepError, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_goes_on_through_steps_a_sleep_and_a_signal,
    an_error_comes_back_typed,
    a_step_is_tried_again_and_its_last_error_is_recorded,
    a_cancel_runs_the_undos_in_reverse,
    a_run_that_takes_too_long_is_undone,
    a_race_is_decided_by_history,
    starting_again_answers_the_run_that_is_there,
    a_run_survives_its_worker,
    many_steps_at_once_are_joined_in_order,
    a_signal_reaches_a_run_that_has_a_step_at_work,
    a_journal_without_end_blocks_its_run,
    a_transactional_step_for_another_database_blocks_its_run,
    what_no_store_can_keep_is_an_error_of_the_step,
    a_run_waits_for_its_version_and_for_no_other,
    what_is_too_large_is_an_error_and_what_is_just_not_is_kept,
);

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Default)]
struct Book {
    lines: Arc<std::sync::Mutex<Vec<String>>>,
}

impl Book {
    fn write(&self, line: impl Into<String>) {
        self.lines.lock().unwrap().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

const NOTE: Step<String, usize, Failure> = Step::new("note", &note);
async fn note(cx: StepCx, line: String) -> Result<usize, Failure> {
    let book = cx.state::<Book>();
    book.write(line);
    Ok(book.lines().len())
}

const PAID: Signal<u32> = Signal::new("paid");

const ORDER: Durable<String, String, Failure> = Durable::new("order", 1, MINUTE, &order);
async fn order(cx: Cx<'_>, what: String) -> Result<String, Failure> {
    let first = cx.step(NOTE, &format!("reserve {what}")).await?;
    cx.sleep(Duration::from_millis(30)).await;
    let cents = cx.signal(PAID).await;
    let second = cx.step(NOTE, &format!("ship {what}")).await?;
    Ok(format!("{what}: {cents} cents, {first} and {second}"))
}

fn worker(subject: &Subject, book: &Book) -> WorkerHandle {
    Worker::builder(&subject.client)
        .state(book.clone())
        .lease(Duration::from_millis(600))
        .durable(ORDER)
        .durable(REFUSE)
        .durable(FLAKY)
        .durable(TRIP)
        .durable(SLOW)
        .durable(RACE)
        .durable(MANY)
        .durable(BULKY)
        .durable(NUL)
        .start()
        .unwrap()
}

async fn a_run_goes_on_through_steps_a_sleep_and_a_signal(subject: Subject) {
    let book = Book::default();
    let worker = worker(&subject, &book);
    let run = subject.client.start(ORDER, "order-1", &"tea".into()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    subject.client.signal("order-1", PAID, &250).dedup("p1").await.unwrap();
    assert_eq!(subject.client.result(&run).await.unwrap(), "tea: 250 cents, 1 and 2");
    assert_eq!(book.lines(), ["reserve tea", "ship tea"]);
    worker.shutdown().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
enum Refusal {
    #[error("not on day {0}")]
    NotToday(u8),
}

const REFUSE: Durable<u8, (), Refusal> = Durable::new("refuse", 1, MINUTE, &refuse);
async fn refuse(_cx: Cx<'_>, day: u8) -> Result<(), Refusal> {
    Err(Refusal::NotToday(day))
}

async fn an_error_comes_back_typed(subject: Subject) {
    let worker = worker(&subject, &Book::default());
    let run = subject.client.start(REFUSE, "r", &6).await.unwrap();
    match subject.client.result(&run).await {
        Err(RunError::Failed(error)) => assert_eq!(error, Refusal::NotToday(6)),
        other => panic!("{other:?}"),
    }
    worker.shutdown().await;
}

static TRIES: AtomicU32 = AtomicU32::new(0);

const TRY: Step<bool, u32, Failure> =
    Step::new("try", &attempt).attempts(3).backoff(Duration::from_millis(20), Duration::from_millis(20));
async fn attempt(cx: StepCx, ends_well: bool) -> Result<u32, Failure> {
    TRIES.fetch_add(1, Ordering::Relaxed);
    if ends_well && cx.attempt() == 3 { Ok(cx.attempt()) } else { Err(Failure::new(format!("try {}", cx.attempt()))) }
}

const FLAKY: Durable<(), (u32, String), Failure> = Durable::new("flaky", 1, MINUTE, &flaky);
async fn flaky(cx: Cx<'_>, (): ()) -> Result<(u32, String), Failure> {
    let at = cx.step(TRY, &true).await?;
    let error = match cx.step(TRY, &false).await {
        Err(StepError::Failed(failure)) => failure.to_string(),
        other => format!("{other:?}"),
    };
    let panicked = cx.run("panic", |_| async { if true { panic!("ouch") } else { Ok::<(), Failure>(()) } });
    let timer = cx.sleep(Duration::from_millis(10));
    assert!(matches!(cx.race((panicked, timer)).await, Race2::B(())), "it is tried again much later");
    Ok((at, error))
}

async fn a_step_is_tried_again_and_its_last_error_is_recorded(subject: Subject) {
    let worker = worker(&subject, &Book::default());
    let run = subject.client.start(FLAKY, "f", &()).await.unwrap();
    assert_eq!(subject.client.result(&run).await.unwrap(), (3, "try 3".into()));
    worker.shutdown().await;
}

const TRIP: Durable<bool, (), Failure> = Durable::new("trip", 1, MINUTE, &trip);
async fn trip(cx: Cx<'_>, fails: bool) -> Result<(), Failure> {
    for what in ["flight", "hotel"] {
        cx.step(NOTE, &format!("book {what}")).await?;
        cx.undo(NOTE, format!("cancel {what}"));
    }
    if fails {
        return Err(Failure::new("no car"));
    }
    cx.signal(PAID).await;
    Ok(())
}

const UNDONE: [&str; 4] = ["book flight", "book hotel", "cancel hotel", "cancel flight"];

async fn a_cancel_runs_the_undos_in_reverse(subject: Subject) {
    let book = Book::default();
    let worker = worker(&subject, &book);
    let client = &subject.client;
    let run = client.start(TRIP, "t1", &false).await.unwrap();
    while book.lines().len() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    client.cancel_run("t1", "ann", "no money").await.unwrap();
    match client.result(&run).await {
        Err(RunError::Cancelled { cause: Some(cause) }) => {
            assert!(cause.to_string().contains("ann") && cause.to_string().contains("no money"), "{cause}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(book.lines(), UNDONE);
    let run = client.start(TRIP, "t2", &true).await.unwrap();
    assert!(matches!(client.result(&run).await, Err(RunError::Failed(f)) if f.to_string() == "no car"));
    assert_eq!(book.lines()[4..], UNDONE);
    worker.shutdown().await;
}

const SLOW: Durable<(), (), Failure> = Durable::new("slow", 1, Duration::from_millis(80), &slow);
async fn slow(cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    cx.undo(NOTE, "tidy up".into());
    cx.sleep(MINUTE).await;
    Ok(())
}

async fn a_run_that_takes_too_long_is_undone(subject: Subject) {
    let book = Book::default();
    let worker = worker(&subject, &book);
    let run = subject.client.start(SLOW, "s", &()).await.unwrap();
    assert!(matches!(subject.client.result(&run).await, Err(RunError::TimedOut)));
    assert_eq!(book.lines(), ["tidy up"]);
    worker.shutdown().await;
}

const RACE: Durable<(), String, Failure> = Durable::new("race", 1, MINUTE, &racing);
async fn racing(cx: Cx<'_>, (): ()) -> Result<String, Failure> {
    let won = match cx.race((cx.signal(PAID), cx.sleep(Duration::from_millis(40)))).await {
        Race2::A(n) => format!("paid {n}"),
        Race2::B(()) => "too late".into(),
    };
    // The signal that lost the race, if it came, is still there for this one.
    let next = cx.timeout(MINUTE, cx.signal(PAID)).await.map_err(|_| Failure::new("nothing came"))?;
    Ok(format!("{won}, then {next}"))
}

async fn a_race_is_decided_by_history(subject: Subject) {
    let client = &subject.client;
    // Both are there before any worker is: they are told in the order in which they became true.
    let early = client.start(RACE, "early", &()).await.unwrap();
    let late = client.start(RACE, "late", &()).await.unwrap();
    client.signal("early", PAID, &1).await.unwrap();
    client.signal("early", PAID, &2).await.unwrap();
    let worker = worker(&subject, &Book::default());
    assert_eq!(client.result(&early).await.unwrap(), "paid 1, then 2");
    tokio::time::sleep(Duration::from_millis(60)).await;
    client.signal("late", PAID, &3).await.unwrap();
    assert_eq!(client.result(&late).await.unwrap(), "too late, then 3");
    worker.shutdown().await;
}

async fn starting_again_answers_the_run_that_is_there(subject: Subject) {
    let client = &subject.client;
    let first = client.start(ORDER, "same", &"tea".into()).await.unwrap();
    let again = client.start(ORDER, "same", &"coffee".into()).await.unwrap();
    assert_eq!(first.job(), again.job());
    let refused = client.start(ORDER, "same", &"tea".into()).reject_existing().await.unwrap_err();
    assert!(refused.to_string().starts_with("the run same is there already"), "{refused}");
}

async fn a_run_survives_its_worker(subject: Subject) {
    let book = Book::default();
    let first = worker(&subject, &book);
    let run = subject.client.start(ORDER, "o", &"tea".into()).await.unwrap();
    while book.lines().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    first.shutdown().await;
    let second = worker(&subject, &book);
    subject.client.signal("o", PAID, &1).await.unwrap();
    subject.client.result(&run).await.unwrap();
    assert_eq!(book.lines().last().map(String::as_str), Some("ship tea"));
    second.shutdown().await;
}

const IMPATIENT: Durable<(), u128, Failure> = Durable::new("impatient", 1, MINUTE, &impatient);
async fn impatient(cx: Cx<'_>, (): ()) -> Result<u128, Failure> {
    let slow = cx.run("slow", |_| async {
        tokio::time::sleep(MINUTE).await;
        Ok::<_, Failure>(())
    });
    let begun = cx.now();
    match cx.race((slow, cx.signal(PAID))).await {
        Race2::A(_) => Err(Failure::new("the step won")),
        Race2::B(_) => Ok(cx.now().since(begun).as_millis()),
    }
}

async fn a_signal_reaches_a_run_that_has_a_step_at_work(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client).durable(IMPATIENT).start().unwrap();
    let mut fastest = u128::MAX;
    for n in 0..5 {
        let id = format!("i{n}");
        let run = client.start(IMPATIENT, &id, &()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(30)).await;
        client.signal(&id, PAID, &1).await.unwrap();
        fastest = fastest.min(client.result(&run).await.unwrap());
    }
    // Without the hint a run looks into its inbox every second.
    assert!(fastest < 500, "a signal took {fastest} ms");
    worker.shutdown().await;
}

const ENDLESS: Durable<u32, (), Failure> = Durable::new("endless", 1, MINUTE, &endless);
async fn endless(cx: Cx<'_>, lines: u32) -> Result<(), Failure> {
    for n in 0..lines {
        cx.patched(&format!("patch {n}"));
    }
    cx.signal(PAID).await;
    Ok(())
}

async fn blocked<O, E>(subject: &Subject, run: &RunHandle<O, E>) -> String {
    for _ in 0..5_000 {
        let detail = subject.client.inspect().job(run.job()).await.unwrap().unwrap();
        if let Some(problem) = detail.blocked {
            return problem;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it was never blocked")
}

async fn a_journal_without_end_blocks_its_run(subject: Subject) {
    let worker = Worker::builder(&subject.client).durable(ENDLESS).start().unwrap();
    // One line is that of its beginning.
    let long = subject.client.start(ENDLESS, "long", &200_000).await.unwrap();
    let said = blocked(&subject, &long).await;
    assert!(said.starts_with("the journal has 200002 lines, at most 200000 are allowed"), "{said}");
    worker.shutdown().await;
}

const ELSEWHERE: TxStep<Nowhere, (), (), Failure> = TxStep::new("elsewhere", &ELSEWHERE_FN);
struct Nowhere;
struct ElsewhereFn;
static ELSEWHERE_FN: ElsewhereFn = ElsewhereFn;
impl TxFn<Nowhere, (), (), Failure> for ElsewhereFn {
    fn body(&'static self, (): (), _: Duration, _: Finish<(), Failure>) -> Box<dyn std::any::Any + Send> {
        Box::new("a body for no store")
    }
}

const ABROAD: Durable<(), (), Failure> = Durable::new("abroad", 1, MINUTE, &abroad);
async fn abroad(cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    Ok(cx.transact(ELSEWHERE, &()).await?)
}

async fn a_transactional_step_for_another_database_blocks_its_run(subject: Subject) {
    let worker = Worker::builder(&subject.client).durable(ABROAD).start().unwrap();
    let run = subject.client.start(ABROAD, "abroad", &()).await.unwrap();
    let said = blocked(&subject, &run).await;
    assert_eq!(said, "a transactional step is written for another database than this worker's store");
    worker.shutdown().await;
}

const MANY: Durable<u64, Vec<u64>, Failure> = Durable::new("many", 1, MINUTE, &many);
async fn many(cx: Cx<'_>, n: u64) -> Result<Vec<u64>, Failure> {
    let double = |x: u64| cx.run_with("double", &x, |_, x| async move { Ok::<_, Failure>(2 * x) });
    let joined = cx.join_all((0..n).map(double)).await;
    let mapped = cx.map(0..n, 7, double).await;
    let joined: Vec<u64> = joined.into_iter().collect::<Result<_, _>>()?;
    assert_eq!(joined, mapped.into_iter().collect::<Result<Vec<_>, _>>()?);
    Ok(joined)
}

async fn many_steps_at_once_are_joined_in_order(subject: Subject) {
    let worker = worker(&subject, &Book::default());
    for n in [1, 31, 500] {
        let run = subject.client.start(MANY, &format!("m{n}"), &n).await.unwrap();
        assert_eq!(subject.client.result(&run).await.unwrap(), (0..n).map(|x| 2 * x).collect::<Vec<_>>());
    }
    worker.shutdown().await;
}

/// As JSON, with its quotes, just not too large.
const BYTES_MAX: usize = (1 << 20) - 2;
const AROUND_A_STEP: usize = "{'ok':}".len();

/// A step returns so many bytes with what is recorded around them, then a signal comes, then the function fails with what
/// came.
const BULKY: Durable<usize, String, String> = Durable::new("bulky", 1, MINUTE, &bulky);
async fn bulky(cx: Cx<'_>, bytes: usize) -> Result<String, String> {
    let bulk = move |_| async move { Ok::<_, Failure>("x".repeat(bytes - AROUND_A_STEP)) };
    let from_step = cx.run("bulk", bulk).await;
    let from_signal = cx.signal(BULK).await;
    match from_step {
        Ok(from_step) => Err(format!("{from_step}{}", &from_signal[from_step.len()..])),
        Err(error) => Ok(error.to_string()),
    }
}

const BULK: Signal<String> = Signal::new("bulk");

async fn what_is_too_large_is_an_error_and_what_is_just_not_is_kept(subject: Subject) {
    let client = &subject.client;
    let worker = worker(&subject, &Book::default());
    let signal = "x".repeat(BYTES_MAX);
    let fits = client.start(BULKY, "fits", &BYTES_MAX).await.unwrap();
    client.signal("fits", BULK, &signal).await.unwrap();
    assert!(matches!(client.result(&fits).await, Err(RunError::Failed(error)) if error.len() == BYTES_MAX));
    let over = client.start(BULKY, "over", &(BYTES_MAX + 1)).await.unwrap();
    client.signal("over", BULK, &signal).await.unwrap();
    assert_eq!(
        client.result(&over).await.unwrap(),
        "the step's result cannot be stored: it has 1048577 bytes, at most 1048576 are allowed: keep it elsewhere, and \
         return where"
    );
    worker.shutdown().await;
}

const NUL: Durable<(), Vec<String>, Failure> = Durable::new("nul", 1, MINUTE, &nul);
async fn nul(cx: Cx<'_>, (): ()) -> Result<Vec<String>, Failure> {
    let mut told = Vec::new();
    for text in ["a\0b", "a\\u0000b"] {
        let kept = cx.run("say", move |_| async move { Ok::<_, Failure>(text.to_owned()) }).await;
        told.push(kept.unwrap_or_else(|error| error.to_string()));
    }
    Ok(told)
}

async fn what_no_store_can_keep_is_an_error_of_the_step(subject: Subject) {
    let worker = worker(&subject, &Book::default());
    let run = subject.client.start(NUL, "n", &()).await.unwrap();
    let refused = "the step's result cannot be stored: its JSON holds a NUL character at byte 8: remove it";
    assert_eq!(subject.client.result(&run).await.unwrap(), [refused, "a\\u0000b"]);
    worker.shutdown().await;
}

const OLD: Durable<(), u8, Failure> = Durable::new("grows", 1, MINUTE, &old);
async fn old(cx: Cx<'_>, (): ()) -> Result<u8, Failure> {
    cx.signal(PAID).await;
    Ok(1)
}

const NEW: Durable<(), u8, Failure> = Durable::new("grows", 2, MINUTE, &new);
async fn new(cx: Cx<'_>, (): ()) -> Result<u8, Failure> {
    cx.sleep(Duration::from_millis(1)).await;
    Ok(2)
}

async fn a_run_waits_for_its_version_and_for_no_other(subject: Subject) {
    let client = &subject.client;
    let both = || Worker::builder(client).durable(OLD).durable(NEW).start().unwrap();
    let old = client.start(OLD, "old", &()).await.unwrap();
    let new = client.start(NEW, "new", &()).await.unwrap();
    let worker = both();
    assert_eq!(client.result(&new).await.unwrap(), 2);
    worker.shutdown().await;

    // The release without the old version leaves its run alone, and takes what was started later.
    let only_new = Worker::builder(client).durable(NEW).start().unwrap();
    client.signal("old", PAID, &1).await.unwrap();
    let later = client.start(NEW, "later", &()).await.unwrap();
    assert_eq!(client.result(&later).await.unwrap(), 2);
    let detail = client.inspect().job(old.job()).await.unwrap().unwrap();
    assert_eq!((detail.line.state, detail.blocked), (towpath::core::State::Ready, None));
    only_new.shutdown().await;

    let worker = both();
    assert_eq!(client.result(&old).await.unwrap(), 1);
    worker.shutdown().await;
}
