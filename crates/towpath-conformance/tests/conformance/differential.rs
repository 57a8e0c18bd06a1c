//! Random scripts on the store in memory and on another one, answer by answer.
//!
//! `TOWPATH_SEED` takes a printed seed back, `TOWPATH_OPS` sets the number of commands. At the end
//! everything is worked off: nothing may be left waiting, and after the last prune no row may be left.

use std::collections::VecDeque;
use std::fmt::Write as _;

use towpath_conformance::{Command, MemorySubject, Mix, RandomScript, Runner, Subject};

/// Commands shown before the one that differs.
const SHOWN: usize = 30;
/// Commands between two looks at every table.
const LOOK_EVERY: usize = 100;
/// Turns that work off what a random script leaves; far fewer are needed.
const DRAIN_TURNS_MAX: usize = 2_000;

/// The seed of a run that is given none; `cargo xtask random` gives ever new ones.
const SEED: u64 = 1_796_011_445_904_106_291;

/// Settings of a run, from the environment.
pub(crate) struct Plan {
    seed: u64,
    ops: usize,
}

impl Plan {
    /// A run of so many commands, unless the environment says otherwise.
    pub(crate) fn new(ops: usize) -> Self {
        let number = |key: &str| std::env::var(key).ok().and_then(|text| text.parse().ok());
        Self {
            seed: number("TOWPATH_SEED").unwrap_or(SEED),
            ops: number("TOWPATH_OPS").map_or(ops, |ops| ops as usize),
        }
    }
}

/// Two stores that are given the same commands.
struct Pair<S> {
    memory: Runner<MemorySubject>,
    other: Runner<S>,
    name: &'static str,
    seed: u64,
    log: VecDeque<(Command, Vec<String>)>,
    mix: Mix,
}

/// Applies a random script to both; panics with the seed and the last commands where they differ.
pub(crate) async fn compare<S: Subject>(other: S, plan: Plan) {
    let Plan { seed, ops } = plan;
    let name = other.name();
    println!("memory and {name}: TOWPATH_SEED={seed} TOWPATH_OPS={ops}");
    let memory = Runner::new(MemorySubject::new()).await.unwrap();
    let other = Runner::new(other).await.unwrap();
    let mut pair = Pair { memory, other, name, seed, log: VecDeque::new(), mix: Mix::default() };
    let mut script = RandomScript::new(seed);
    for at in 0..ops {
        let command = script.draw(&pair.memory);
        pair.both(command).await;
        if at % LOOK_EVERY == LOOK_EVERY - 1 {
            for text in ["census", "queues", "jobs limit=50", "graphs"] {
                pair.say(text).await;
            }
        }
    }
    pair.drain().await;
    pair.other.finish().await.unwrap();
    println!("{}", pair.mix);
    let rare = pair.mix.rarer_than((ops / 2_000) as u64);
    assert!(rare.is_empty(), "seed {seed}: too rare to prove anything: {}", rare.join(", "));
}

impl<S: Subject> Pair<S> {
    async fn say(&mut self, text: impl Into<String>) -> Vec<String> {
        self.both(Command::bare(text, Vec::new())).await
    }

    async fn both(&mut self, command: Command) -> Vec<String> {
        let seed = self.seed;
        let first = self.memory.answer(&command).await.unwrap_or_else(|e| panic!("seed {seed}: {command}: {e}"));
        let second = self.other.answer(&command).await.unwrap_or_else(|e| panic!("seed {seed}: {command}: {e}"));
        if first != second {
            self.stop(&command, &format!("-- memory\n{}\n-- {}\n{}", first.join("\n"), self.name, second.join("\n")));
        }
        for line in &first {
            if let Some((graph, counters)) = line.split_once(" repaired ")
                && counters != "0"
                && !self.is_retried(graph).await
            {
                self.stop(&command, &format!("both miscounted: {}", first.join("\n")));
            }
        }
        self.mix.note(&command, &first);
        self.log.push_back((command, first.clone()));
        if self.log.len() > SHOWN {
            self.log.pop_front();
        }
        first
    }

    /// Whether a graph is being retried: until that is over, nodes that wait anew are blamed on what they were blamed on.
    async fn is_retried(&mut self, graph: &str) -> bool {
        let shown = self.memory.answer(&Command::bare(format!("graph {graph}"), Vec::new())).await.unwrap_or_default();
        shown.first().is_some_and(|line| line.contains(" stop=retry"))
    }

    fn stop(&self, command: &Command, what: &str) -> ! {
        let mut history = String::new();
        for (command, answer) in &self.log {
            let _ = writeln!(history, "{command}");
            for line in answer {
                let _ = writeln!(history, "> {line}");
            }
        }
        panic!("seed {}: memory and {}\n{history}{command}\n{what}", self.seed, self.name);
    }

    /// Carries out the retry of every graph that waits for one, and lifts those that nobody can carry out. Answers whether
    /// there was any.
    async fn lift_retries(&mut self) -> bool {
        let mut is_any = false;
        for graph in self.say("graphs end=open").await {
            if graph.contains("stop=retry")
                && let Some(name) = graph.split(' ').next()
            {
                is_any = true;
                self.say(format!("retry {name}")).await;
                self.both(Command::bare("order", vec![format!("unstop {name} retry")])).await;
            }
        }
        is_any
    }

    /// Works everything off, then lets everything be pruned.
    async fn drain(&mut self) {
        self.say("clock 2d").await;
        self.say("beat w9 lease=900d build=99").await;
        self.say("rescue w9 gone=w1,w2,w3,w4 limit=4000").await;
        self.lift_retries().await;
        for command in RandomScript::wind_up() {
            self.both(command).await;
        }
        let mut quiet = 0;
        for _ in 0..DRAIN_TURNS_MAX {
            let answer = self.both(RandomScript::drain("w9")).await;
            quiet = if answer.is_empty() { quiet + 1 } else { 0 };
            if quiet == 2 && !self.lift_retries().await {
                break;
            }
            self.say("clock 6h").await;
        }
        for text in ["waiting", "ready", "running", "blocked"] {
            let left = self.say(format!("jobs state={text} limit=5")).await;
            assert!(left.is_empty(), "seed {}: left {text} for ever: {left:?}", self.seed);
        }
        assert!(self.say("graphs end=open").await.is_empty(), "seed {}: a graph never ends", self.seed);
        for worker in ["w1", "w2", "w3", "w4", "w9"] {
            self.say(format!("leave {worker}")).await;
        }
        self.say("clock 40d").await;
        self.say("prune all").await;
        assert_eq!(self.say("census").await, ["nothing"], "seed {}: rows are left over", self.seed);
    }
}

#[tokio::test]
async fn a_random_script_in_memory_is_worked_off_and_leaves_nothing() {
    compare(MemorySubject::new(), Plan::new(20_000)).await;
}
