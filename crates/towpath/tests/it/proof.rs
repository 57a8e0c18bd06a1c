//! A crash at every commit of a corpus of functions and of random programs changes neither result nor journal.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::GraphEnd;
use towpath::durable::{Memory, Race2, Race3, TxStep};
use towpath::testing::{RunHarness, assert_replays};
use towpath::{Cx, Durable, Failure, Graph, Job, RunError, Signal, Step, StepCx, StepError};

const DAY: Duration = Duration::from_secs(86_400);
const MS: Duration = Duration::from_millis(1);

/// How often each step of a run was begun, by its place.
#[derive(Clone, Default)]
struct Count(Arc<Mutex<BTreeMap<String, u32>>>);

const ADD: Step<(u64, u64), u64, Failure> = Step::new("add", &add);
async fn add(cx: StepCx, (a, b): (u64, u64)) -> Result<u64, Failure> {
    let count = cx.state::<Count>();
    *count.0.lock().unwrap().entry(cx.idempotency_key().to_owned()).or_default() += 1;
    Ok(a + b)
}

const FLAKY: Step<u64, u64, Failure> = Step::new("flaky", &flaky).attempts(3);
async fn flaky(cx: StepCx, n: u64) -> Result<u64, Failure> {
    if cx.attempt() < 3 && n.is_multiple_of(2) { Err(Failure::new("not yet")) } else { Ok(n) }
}

const GO: Signal<u64> = Signal::new("go");
const MORE: Signal<u64> = Signal::new("more");

/// The clock and randomness go into inputs after a wait: were they not the same on replay, it would not fit.
const SEQUENCE: Durable<u64, u64, Failure> = Durable::new("sequence", 1, DAY, &sequence);
async fn sequence(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    let mut sum = cx.step(ADD, &(n, 1)).await?;
    cx.sleep(DAY / 4).await;
    let now = cx.now().as_micros() as u64;
    sum = cx.step(ADD, &(sum, now % 1_000)).await?;
    sum = cx.step(ADD, &(sum, cx.random() % 1_000)).await?;
    let id = cx.uuid();
    sum += cx.run_with("hash", &id, |_, id| async move { Ok::<_, Failure>(id.as_u128() as u64 % 97) }).await?;
    sum += cx.step(FLAKY, &4).await?;
    Ok(sum + cx.signal(GO).await)
}

const JOINS: Durable<u64, Vec<u64>, Failure> = Durable::new("joins", 1, DAY, &joins);
async fn joins(cx: Cx<'_>, n: u64) -> Result<Vec<u64>, Failure> {
    let chain = |from: u64| {
        let cx = &cx;
        async move {
            let a = cx.step(ADD, &(from, 1)).await?;
            cx.sleep(MS * (from as u32 % 5)).await;
            cx.step(ADD, &(a, cx.random() % 7)).await
        }
    };
    let (all, first, flaky) = cx.join((cx.join_all((0..n).map(chain)), chain(100), cx.step(FLAKY, &2))).await;
    let mut all: Vec<u64> = all.into_iter().collect::<Result<_, _>>()?;
    all.extend([first?, flaky?]);
    all.extend(cx.map(0..n, 3, chain).await.into_iter().collect::<Result<Vec<_>, _>>()?);
    Ok(all)
}

const RACES: Durable<(), String, Failure> = Durable::new("races", 1, DAY, &races);
async fn races(cx: Cx<'_>, (): ()) -> Result<String, Failure> {
    let mut said = String::new();
    for round in 0..4_u64 {
        let slow = async {
            cx.sleep(MS * 3).await;
            cx.step(ADD, &(round, 10)).await
        };
        said += &match cx.race((cx.step(FLAKY, &round), slow, cx.signal(MORE))).await {
            Race3::A(n) => format!("a{} ", n?),
            Race3::B(n) => format!("b{} ", n?),
            Race3::C(n) => format!("c{n} "),
        };
        if cx.timeout(MS * 2, cx.signal(GO)).await.is_ok() {
            said += "go ";
        }
    }
    let both: (usize, u64) = cx.race_all([cx.signal(GO), cx.signal(MORE)]).await;
    Ok(format!("{said}{both:?} at {}", cx.now().as_micros()))
}

const SAGA: Durable<bool, (), Failure> = Durable::new("saga", 1, DAY, &saga);
async fn saga(cx: Cx<'_>, fails: bool) -> Result<(), Failure> {
    for n in 1..4 {
        cx.undo(ADD, (n, 1_000));
        cx.step(ADD, &(n, 0)).await?;
    }
    if fails {
        return Err(Failure::permanent("no"));
    }
    match cx.race((cx.signal(GO), cx.sleep(DAY * 2))).await {
        Race2::A(_) | Race2::B(()) => Ok(()),
    }
}

const WRITE: TxStep<Memory, (u64, u64), u64, Failure> = TxStep::new("write", &write).attempts(2);
fn write((a, b): (u64, u64)) -> Result<u64, Failure> {
    // One in five is refused for good, one in five at first.
    match b % 5 {
        0 => Err(Failure::permanent("refused")),
        _ => Ok(a * b),
    }
}

/// Lines that are committed alone, beside everything else: what they cause comes after them.
const TRANSACTIONS: Durable<u64, Vec<u64>, Failure> = Durable::new("transactions", 1, DAY, &transactions);
async fn transactions(cx: Cx<'_>, n: u64) -> Result<Vec<u64>, Failure> {
    let one = |at: u64| {
        let cx = &cx;
        async move {
            let a = cx.step(ADD, &(at, n)).await?;
            let b = cx.transact(WRITE, &(a, at)).await.unwrap_or(7);
            cx.sleep(MS * (at as u32 % 3)).await;
            let c = cx.transact(WRITE, &(b, cx.random() % 9)).await.unwrap_or(8);
            cx.step(ADD, &(c, cx.now().as_micros() as u64 % 10)).await
        }
    };
    let first = cx.transact(WRITE, &(n, 1)).await?;
    let (mut all, raced) = cx.join((cx.map(0..n, 2, one), cx.race((cx.transact(WRITE, &(3, 3)), cx.signal(GO))))).await;
    all.push(Ok(match raced {
        Race2::A(n) => n?,
        Race2::B(n) => n,
    }));
    all.push(Ok(first));
    Ok(all.into_iter().collect::<Result<_, _>>()?)
}

const PATCHED: Durable<(), u64, Failure> = Durable::new("patched", 1, DAY, &patched);
async fn patched(cx: Cx<'_>, (): ()) -> Result<u64, Failure> {
    let mut sum = 0;
    for n in 0..3 {
        if cx.patched("double") {
            sum += cx.step(ADD, &(n, n)).await?;
        }
        sum += cx.step(ADD, &(n, 1)).await?;
        cx.sleep(MS).await;
    }
    Ok(sum)
}

/// The first seed where none is given; `cargo xtask random` gives ever new ones.
const SEED: u64 = 1_795_900_000_000_000_000;

fn seeds() -> impl Iterator<Item = u64> {
    let first = std::env::var("TOWPATH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    println!("TOWPATH_SEED={first}");
    (0..24).map(move |n| first.wrapping_add(n))
}

#[tokio::test]
async fn a_crash_at_every_commit_changes_nothing() {
    let mut runs = 0;
    for seed in seeds() {
        let sequence = RunHarness::new(SEQUENCE, 5).state(Count::default()).signal_after(DAY / 2, GO, &9).seed(seed);
        runs += sequence.prove().await;
        let joins = RunHarness::new(JOINS, 1 + seed % 6).state(Count::default()).seed(seed);
        runs += joins.prove().await;
        let mut races = RunHarness::new(RACES, ()).state(Count::default()).seed(seed);
        for n in 0..6 {
            races = races.signal_after(MS * (2 * n + 1), if n % 2 == 0 { GO } else { MORE }, &u64::from(n));
        }
        races = races.signal_after(DAY / 2, GO, &99);
        runs += races.prove().await;
        for fails in [true, false] {
            let saga = RunHarness::new(SAGA, fails).state(Count::default()).seed(seed);
            runs += saga.prove().await;
            runs += saga.cancel_after(MS * (seed % 6) as u32).prove().await;
        }
        let transactions = RunHarness::new(TRANSACTIONS, seed % 5).state(Count::default()).seed(seed);
        runs += transactions.signal_after(MS * (seed % 3) as u32, GO, &1).prove().await;
        runs += RunHarness::new(PATCHED, ()).state(Count::default()).seed(seed).prove().await;
    }
    println!("{runs} runs");
    assert!(runs > 1_000, "{runs} runs prove too little");
}

#[tokio::test]
async fn a_function_that_is_undone_says_how_it_ended() {
    let saga = |fails| RunHarness::new(SAGA, fails).state(Count::default());
    let run = saga(true).run().await;
    assert!(matches!(run.result, Err(RunError::Failed(f)) if f.to_string() == "no"));
    assert_eq!(run.began["add"], 6, "three and three undos");
    let run = saga(false).cancel_after(DAY / 2).run().await;
    assert!(matches!(run.result, Err(RunError::Cancelled { .. })));
    let run = saga(false).run().await;
    assert!(matches!(run.result, Err(RunError::TimedOut)));
    assert_eq!(run.took, DAY + 3 * MS, "it may take a day; its three undos follow");
}

const ONCE: Step<(), u32, Failure> = Step::new("once", &once).at_most_once();
async fn once(_cx: StepCx, (): ()) -> Result<u32, Failure> {
    Ok(1)
}

const CAREFUL: Durable<(), String, Failure> = Durable::new("careful", 1, DAY, &careful);
async fn careful(cx: Cx<'_>, (): ()) -> Result<String, Failure> {
    Ok(match cx.step(ONCE, &()).await {
        Err(StepError::Lost) => "lost".into(),
        other => format!("{other:?}"),
    })
}

#[tokio::test]
async fn a_step_that_may_run_once_is_never_begun_again() {
    let harness = || RunHarness::new(CAREFUL, ());
    let whole = harness().run().await;
    assert_eq!(
        (whole.result.unwrap(), whole.commits),
        ("Ok(1)".into(), 2),
        "its beginning, and its end with the run's"
    );
    for point in 0..2 * whole.commits {
        let run = harness().crash_at(point).run().await;
        assert!(run.began.get("once").is_none_or(|times| *times <= 1), "{point}: {:?}", run.began);
    }
    let lost = harness().crash_at(1).run().await;
    assert_eq!(lost.result.unwrap(), "lost", "it was begun, as far as anybody knows");
}

// ---- random programs ------------------------------------------------------------------------------

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Node {
    Step(u64),
    Add(u64),
    Work(u64),
    Flaky(u64),
    Sleep(u32),
    Signal(bool),
    Random,
    /// A signal of its own name: what it carries is known.
    Take(usize),
    /// A number that is drawn, and is the same in a step behind it.
    Drawn,
    /// Two looks at the clock, and so long between them.
    Clock(u32),
    Write(u64),
    Job(u64),
    Run(u64),
    Graph(bool),
    Detached(u64),
    Sequence(Vec<Node>),
    Join(Vec<Node>),
    Race(Vec<Node>),
    Map(u8, Box<Node>),
    Timeout(u32, Box<Node>),
}

/// Children of programs: the harness says how they end, some of them badly.
#[derive(Serialize, Deserialize)]
struct Double(u64);

impl Job for Double {
    const KIND: &'static str = "double";
    type Output = u64;
}

const LEAF: Durable<u64, u64, String> = Durable::new("leaf", 1, DAY, &leaf);
async fn leaf(_cx: Cx<'_>, n: u64) -> Result<u64, String> {
    Ok(n)
}

/// Children end as a test says.
fn with_children(harness: RunHarness<Node, u64, Failure>) -> RunHarness<Node, u64, Failure> {
    let job = |Double(n): Double| if n.is_multiple_of(4) { Err(Failure::permanent("no")) } else { Ok(2 * n) };
    let run = |n: u64| if n.is_multiple_of(3) { Err("no".to_owned()) } else { Ok(n + 1) };
    let harness = harness.child_job(job).child(LEAF, run);
    harness.child_graph("good", GraphEnd::Succeeded).child_graph("bad", GraphEnd::Failed)
}

const PROGRAM: Durable<Node, u64, Failure> = Durable::new("program", 1, DAY, &program);
async fn program(cx: Cx<'_>, node: Node) -> Result<u64, Failure> {
    interpret(&cx, &node).await
}

fn interpret<'a>(cx: &'a Cx<'_>, node: &'a Node) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send + 'a>> {
    Box::pin(async move {
        Ok(match node {
            Node::Step(n) => cx.step(ADD, &(*n, cx.now().as_micros() as u64 % 10)).await?,
            Node::Add(n) => cx.step(ADD, &(*n, 1)).await?,
            Node::Work(n) => cx.job(&Double(*n)).await.unwrap_or(7),
            Node::Flaky(n) => cx.step(FLAKY, n).await?,
            Node::Sleep(ms) => {
                cx.sleep(MS * *ms).await;
                1
            }
            Node::Signal(go) => cx.timeout(MS * 20, cx.signal(if *go { GO } else { MORE })).await.unwrap_or(3),
            Node::Random => cx.random() % 5,
            Node::Take(n) => cx.signal(TAKEN[*n]).await,
            Node::Drawn => {
                let drawn = cx.random() % 1_000;
                u64::from(cx.step(ADD, &(drawn, 0)).await? == drawn)
            }
            Node::Clock(ms) => {
                let before = cx.now();
                cx.sleep(MS * *ms).await;
                u64::from(cx.now().as_micros() - before.as_micros() >= i64::from(*ms) * 1_000)
            }
            Node::Write(n) => cx.transact(WRITE, &(*n, cx.random() % 11)).await.unwrap_or(5),
            Node::Job(n) => cx.job(&Double(*n + cx.random() % 3)).await.unwrap_or(7),
            Node::Run(n) => cx.run_child(LEAF, n).await.unwrap_or(11),
            Node::Graph(fails) => {
                let graph = Graph::builder(if *fails { "bad" } else { "good" });
                graph.node("n", &Double(1));
                cx.graph(&graph.build()?).await.map_or(13, |()| 17)
            }
            Node::Detached(n) => cx.job(&Double(*n)).detach::<Failure>().await.map_or(19, |_| 23),
            Node::Sequence(parts) => {
                let mut sum = 0_u64;
                for part in parts {
                    sum = sum.wrapping_mul(31).wrapping_add(interpret(cx, part).await?);
                }
                sum
            }
            Node::Join(parts) => {
                let parts = cx.join_all(parts.iter().map(|part| interpret(cx, part))).await;
                let mut sum = 0_u64;
                for part in parts {
                    sum = sum.wrapping_mul(37).wrapping_add(part?);
                }
                sum
            }
            Node::Race(parts) => {
                let (at, value) = cx.race_all(parts.iter().map(|part| interpret(cx, part))).await;
                value?.wrapping_mul(41).wrapping_add(at as u64)
            }
            Node::Map(at_once, part) => {
                let parts = cx.map(0..4, usize::from(*at_once), |_| interpret(cx, part)).await;
                parts.into_iter().try_fold(0_u64, |sum, part| part.map(|part| sum.wrapping_add(part)))?
            }
            Node::Timeout(ms, part) => match cx.timeout(MS * *ms, interpret(cx, part)).await {
                Ok(value) => value?,
                Err(_) => 43,
            },
        })
    })
}

const TAKEN: [Signal<u64>; 4] = [Signal::new("t0"), Signal::new("t1"), Signal::new("t2"), Signal::new("t3")];

/// How often a program that the model knows takes each of these.
fn takes(node: &Node, times: u32, count: &mut [u32; TAKEN.len()]) {
    match node {
        Node::Take(n) => count[*n] += times,
        Node::Sequence(parts) | Node::Join(parts) => parts.iter().for_each(|part| takes(part, times, count)),
        Node::Map(_, part) => takes(part, 4 * times, count),
        _ => {}
    }
}

/// Draws programs from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn nodes(&mut self, depth: u32) -> Vec<Node> {
        (0..1 + self.below(4)).map(|_| self.node(depth)).collect()
    }

    fn node(&mut self, depth: u32) -> Node {
        match self.below(if depth == 0 { 11 } else { 17 }) {
            7 => Node::Job(self.below(10)),
            8 => Node::Run(self.below(10)),
            9 => Node::Graph(self.below(2) == 0),
            10 => Node::Detached(self.below(10)),
            6 => Node::Write(self.below(100)),
            0 | 1 => Node::Step(self.below(100)),
            2 => Node::Flaky(self.below(4)),
            3 => Node::Sleep(self.below(9) as u32),
            4 => Node::Signal(self.below(2) == 0),
            5 => Node::Random,
            11 | 16 => Node::Sequence(self.nodes(depth - 1)),
            12 => Node::Join(self.nodes(depth - 1)),
            13 => Node::Race(self.nodes(depth - 1)),
            14 => Node::Map(1 + self.below(3) as u8, Box::new(self.node(depth - 1))),
            _ => Node::Timeout(self.below(12) as u32, Box::new(self.node(depth - 1))),
        }
    }
}

#[tokio::test]
async fn random_programs_bear_a_crash_at_every_commit() {
    let mut runs = 0;
    for seed in seeds().flat_map(|seed| (0..6).map(move |n| seed.wrapping_mul(1_000).wrapping_add(n))) {
        let mut draw = Draw(seed | 1);
        for _ in 0..10 {
            draw.below(2);
        }
        let node = Node::Sequence(vec![draw.node(3), draw.node(2)]);
        let mut harness = with_children(RunHarness::new(PROGRAM, node).state(Count::default()).seed(seed));
        for n in 0..draw.below(6) {
            let at = MS * draw.below(40) as u32;
            harness = harness.signal_after(at, if draw.below(2) == 0 { GO } else { MORE }, &n);
        }
        println!("program of {seed}");
        runs += harness.prove().await;
    }
    println!("{runs} runs");
}

/// What a program comes to, written from what its operations promise and from nothing else; `None` for what the clock, the seed or
/// the order of signals decides.
fn model(node: &Node) -> Option<u64> {
    Some(match node {
        Node::Add(n) => n + 1,
        Node::Flaky(n) => *n,
        Node::Sleep(_) | Node::Drawn | Node::Clock(_) => 1,
        Node::Take(n) => 100 + *n as u64,
        Node::Work(n) if n.is_multiple_of(4) => 7,
        Node::Work(n) => 2 * n,
        Node::Run(n) if n.is_multiple_of(3) => 11,
        Node::Run(n) => n + 1,
        Node::Graph(true) => 13,
        Node::Graph(false) => 17,
        Node::Detached(_) => 23,
        Node::Sequence(parts) => {
            parts.iter().try_fold(0_u64, |sum, part| Some(sum.wrapping_mul(31).wrapping_add(model(part)?)))?
        }
        Node::Join(parts) => {
            parts.iter().try_fold(0_u64, |sum, part| Some(sum.wrapping_mul(37).wrapping_add(model(part)?)))?
        }
        // Timers that are over at different instants: the earliest wins, and the first of those that are over together.
        Node::Race(parts) => {
            let due = |part: &Node| if let Node::Sleep(ms) = part { Some(*ms) } else { None };
            let dues: Vec<u32> = parts.iter().map(due).collect::<Option<_>>()?;
            let (at, _) = dues.iter().enumerate().min_by_key(|(_, due)| **due)?;
            41 + at as u64
        }
        Node::Map(_, part) => model(part)?.wrapping_mul(4),
        // It is decided by the shorter wait; what takes no time is not late.
        Node::Timeout(limit, part) => match &**part {
            Node::Sleep(ms) if ms != limit => {
                if ms < limit {
                    1
                } else {
                    43
                }
            }
            _ => return None,
        },
        _ => return None,
    })
}

impl Draw {
    /// A program that the model knows all of.
    fn plain(&mut self, depth: u32) -> Node {
        let parts = |draw: &mut Self| (0..1 + draw.below(4)).map(|_| draw.plain(depth - 1)).collect::<Vec<_>>();
        match self.below(if depth == 0 { 12 } else { 17 }) {
            9 => Node::Take(self.below(TAKEN.len() as u64) as usize),
            10 => Node::Drawn,
            11 => Node::Clock(self.below(5) as u32),
            0 | 1 => Node::Add(self.below(100)),
            2 => Node::Flaky(self.below(4)),
            3 => Node::Sleep(self.below(9) as u32),
            4 => Node::Work(self.below(10)),
            5 => Node::Run(self.below(10)),
            6 => Node::Graph(self.below(2) == 0),
            7 => Node::Race((0..1 + self.below(3)).map(|_| Node::Sleep(1 + self.below(9) as u32)).collect()),
            8 => {
                let (limit, ms) = (1 + self.below(9) as u32, 1 + self.below(9) as u32);
                Node::Timeout(limit, Box::new(Node::Sleep(if ms == limit { ms + 1 } else { ms })))
            }
            12 => Node::Detached(self.below(10)),
            13 | 14 => Node::Sequence(parts(self)),
            15 => Node::Join(parts(self)),
            _ => Node::Map(1 + self.below(3) as u8, Box::new(self.plain(depth - 1))),
        }
    }
}

/// Under any order of what is at work together, any crash and any forgetting. That nothing recorded is done again the harness
/// itself looks after.
#[tokio::test]
async fn random_programs_come_to_what_the_model_says() {
    let (mut runs, mut taken) = (0, 0);
    for seed in seeds().flat_map(|seed| (0..4).map(move |n| seed.wrapping_mul(7_000).wrapping_add(n))) {
        let mut draw = Draw(seed | 1);
        for _ in 0..10 {
            draw.below(2);
        }
        let node = Node::Sequence(vec![draw.plain(3), draw.plain(2)]);
        let expected = model(&node).expect("a plain program is all in the model");
        let mut count = [0; TAKEN.len()];
        takes(&node, 1, &mut count);
        let signals = (0..TAKEN.len()).flat_map(|n| std::iter::repeat_n(n, count[n] as usize));
        let signals: Vec<(usize, Duration)> = signals.map(|n| (n, MS * draw.below(20) as u32)).collect();
        taken += signals.len();
        for order in 0..3 {
            let mut harness =
                with_children(RunHarness::new(PROGRAM, node.clone()).state(Count::default()).seed(seed + order));
            for (n, at) in &signals {
                harness = harness.signal_after(*at, TAKEN[*n], &(100 + *n as u64));
            }
            let result = harness.run().await.result;
            assert_eq!(result.unwrap(), expected, "program of {seed}, in order {order}: {node:?}");
            if order == 0 {
                runs += harness.prove().await;
            }
        }
    }
    println!("{runs} runs");
    assert!(taken > 10, "{taken} signals prove too little");
    assert!(runs > 1_000, "{runs} runs prove too little");
}

// ---- changed code ---------------------------------------------------------------------------------

macro_rules! variant {
    ($name:ident, $function:ident, |$cx:ident| $body:expr) => {
        const $name: Durable<(), u64, Failure> = Durable::new("change", 1, DAY, &$function);
        async fn $function($cx: Cx<'_>, (): ()) -> Result<u64, Failure> {
            $body
        }
    };
}

variant!(OLD, old, |cx| {
    let a = cx.step(ADD, &(1, 2)).await?;
    cx.sleep(MS).await;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});
variant!(OTHER_INPUT, other_input, |cx| {
    let a = cx.step(ADD, &(1, 3)).await?;
    cx.sleep(MS).await;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});
variant!(OTHER_NAME, other_name, |cx| {
    let a = cx.step(ADD.named("plus"), &(1, 2)).await?;
    cx.sleep(MS).await;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});
variant!(OTHER_VERSION, other_version, |cx| {
    let a = cx.step(ADD.version(2), &(1, 2)).await?;
    cx.sleep(MS).await;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});
variant!(OTHER_KIND, other_kind, |cx| {
    let a = cx.step(ADD, &(1, 2)).await?;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});
variant!(LONGER_SLEEP, longer_sleep, |cx| {
    let a = cx.step(ADD, &(1, 2)).await?;
    cx.sleep(MS * 2).await;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});
variant!(SHORTER, shorter, |cx| cx.step(ADD, &(1, 2)).await.map_err(Into::into));
variant!(LONGER, longer, |cx| {
    let a = cx.step(ADD, &(1, 2)).await?;
    cx.sleep(MS).await;
    let b = cx.step(ADD, &(a, 3)).await?;
    Ok(cx.step(ADD, &(a, b)).await?)
});
variant!(LONGER_BY_A_SLEEP, longer_by_a_sleep, |cx| {
    let a = cx.step(ADD, &(1, 2)).await?;
    cx.sleep(MS).await;
    let b = cx.step(ADD, &(a, 3)).await?;
    cx.sleep(MS).await;
    Ok(a + b)
});
variant!(PATCHED_IN, patched_in, |cx| {
    if cx.patched("check") {
        cx.step(ADD, &(7, 7)).await?;
    }
    let a = cx.step(ADD, &(1, 2)).await?;
    cx.sleep(MS).await;
    Ok(a + cx.step(ADD, &(a, 3)).await?)
});

fn refusal(function: Durable<(), u64, Failure>, history: &towpath::testing::History) -> Option<String> {
    let replay = std::panic::AssertUnwindSafe(|| assert_replays(function, history));
    let panic = std::panic::catch_unwind(replay).err()?;
    Some(panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[tokio::test]
async fn changed_code_is_told_from_its_history() {
    let run = RunHarness::new(OLD, ()).state(Count::default()).run().await;
    let history = run.history;
    assert_eq!(refusal(OLD, &history), None);
    assert_eq!(refusal(PATCHED_IN, &history), None, "old runs go by the patch");
    let expected = [
        (OTHER_INPUT, "operation 1: another input"),
        (OTHER_NAME, "operation 1: another name"),
        (OTHER_VERSION, "operation 1: another version"),
        (OTHER_KIND, "operation 2: another kind"),
        (LONGER_SLEEP, "operation 2: another input"),
        (SHORTER, "operation 2: the function returned, and the journal goes on"),
        (LONGER, "operation 4: the journal has an end, and the function goes on"),
        (LONGER_BY_A_SLEEP, "operation 4: the code has an operation that the journal does not"),
    ];
    for (function, text) in expected {
        let refused = refusal(function, &history).unwrap_or_default();
        assert!(refused.contains(text), "{text}: {refused}");
    }
    let whole = refusal(OTHER_NAME, &history).unwrap();
    let place = whole.contains("proof.rs:");
    assert!(place && whole.contains("journal: step add v1 (input ") && whole.contains("step plus v1"), "{whole}");
    let text = history.to_json_lines();
    assert_replays(OLD, &towpath::testing::History::from_json_lines(&text).unwrap());
}
