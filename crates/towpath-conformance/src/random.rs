//! Random scripts: commands drawn from a seed, weighted so that work is made, done, lost and deleted.
//!
//! The next command follows from the seed and from what the workers believe to hold, so the same
//! seed on a store with the same answers is the same script.

mod runs;

use std::collections::BTreeMap;
use std::fmt;

use crate::chance::Chance;
use crate::run::{Held, Runner};
use crate::script::Command;
use crate::subject::Subject;
use runs::{RUN, RUNS};

/// A source of commands.
#[derive(Debug)]
pub struct RandomScript {
    chance: Chance,
    made: u32,
    jobs: Vec<String>,
    graphs: Vec<Sketch>,
}

/// What is remembered of a graph.
#[derive(Debug)]
struct Sketch {
    name: String,
    nodes: Vec<String>,
}

const WORKERS: [&str; 4] = ["w1", "w2", "w3", "w4"];
/// How many jobs and graphs stay in reach of later commands.
const REACH: usize = 40;

type Draw = fn(&mut RandomScript) -> Command;

impl RandomScript {
    /// Commands that follow from this seed.
    pub fn new(seed: u64) -> Self {
        Self { chance: Chance::new(seed), made: 0, jobs: Vec::new(), graphs: Vec::new() }
    }

    /// The next command. `runner` is asked what its workers hold.
    pub fn draw<S: Subject>(&mut self, runner: &Runner<S>) -> Command {
        const OTHERS: [(usize, Draw); 18] = [
            (6, RandomScript::enqueue_run),
            (8, RandomScript::signal),
            (12, RandomScript::enqueue_jobs),
            (9, RandomScript::enqueue_graph),
            (6, RandomScript::append),
            (3, RandomScript::batch_again),
            (6, RandomScript::rescue),
            (5, RandomScript::cancel_job),
            (2, RandomScript::cancel_graph),
            (3, RandomScript::order),
            (10, RandomScript::clock),
            (12, RandomScript::prune),
            (8, RandomScript::question),
            (4, RandomScript::retry),
            (3, RandomScript::pause_run),
            (3, RandomScript::start_run),
            (24, RandomScript::rewind),
            (8, RandomScript::fork),
        ];
        let worker = WORKERS[self.chance.below(WORKERS.len())];
        match self.chance.below(100) {
            0..46 => return self.turn(worker, runner),
            46..58 => return self.beat(worker, runner),
            61 if runner.book(worker).is_some_and(|book| book.ever().next().is_some()) => {
                return self.note(worker, runner);
            }
            58..61 if runner.has_turned(worker) => return Command::bare(format!("repeat {worker}"), Vec::new()),
            _ => {}
        }
        let all: usize = OTHERS.iter().map(|(weight, _)| weight).sum();
        let mut at = self.chance.below(all);
        for (weight, draw) in OTHERS {
            if at < weight {
                return draw(self);
            }
            at -= weight;
        }
        self.clock()
    }

    /// A turn that settles well whatever a worker of every kind holds, and claims more.
    pub fn drain(worker: &str) -> Command {
        let text = format!("turn {worker} claim=default:500,mail:500 kinds=echo@9,send@9,rare@9");
        Command::bare(text, ["ok", "decide", "crashed"].map(str::to_owned).into())
    }

    fn name(&mut self, stem: &str) -> String {
        self.made += 1;
        format!("{stem}{}", self.made)
    }

    fn remember_job(&mut self, name: &str) {
        self.jobs.push(name.to_owned());
        if self.jobs.len() > REACH {
            self.jobs.remove(0);
        }
    }

    fn some_job(&mut self) -> String {
        if self.chance.percent(50)
            && let Some(graph) = self.chance.pick(&self.graphs)
        {
            let (name, nodes) = (graph.name.clone(), graph.nodes.clone());
            let node = self.chance.pick(&nodes).cloned();
            return format!("{name}/{}", node.unwrap_or_else(|| "end".into()));
        }
        let jobs = self.jobs.clone();
        self.chance.pick(&jobs).cloned().unwrap_or_else(|| "nobody".into())
    }

    fn some_graph(&mut self) -> String {
        let names: Vec<String> = self.graphs.iter().map(|graph| graph.name.clone()).collect();
        self.chance.pick(&names).cloned().unwrap_or_else(|| "nowhere".into())
    }

    fn options(&mut self) -> String {
        let mut out = String::new();
        let mut say = |text: String| {
            out.push(' ');
            out.push_str(&text);
        };
        let chance = &mut self.chance;
        if chance.percent(30) {
            say("queue=mail".into());
        }
        match chance.below(10) {
            0 => say("kind=send version=2".into()),
            1 => say("kind=send".into()),
            2 => say("kind=rare".into()),
            _ => {}
        }
        if chance.percent(30) {
            say(format!("priority={}", chance.below(5) as i64 - 2));
        }
        if chance.percent(12) {
            say(format!("due={}ms", chance.below(4_000)));
        }
        if chance.percent(30) {
            say(format!("input={{\"x\":{}}}", chance.below(9)));
        }
        say(format!("attempts={} base=500ms", 1 + chance.below(4)));
        if chance.percent(10) {
            say(format!("tags=t{},u", chance.below(9)));
        }
        if chance.percent(8) {
            say(parent(chance));
        }
        if chance.percent(30) {
            say(format!("crash_limit={}", 1 + chance.below(2)));
        }
        if chance.percent(60) {
            say("keep=30s keep_failed=60s".into());
        }
        out
    }

    /// A deadline needs the clock, so it is only in reach where the runner's time is known.
    fn deadline(&mut self) -> String {
        // Instants count from the start; the script moves about two seconds a command.
        if self.chance.percent(12) { format!(" deadline=+{}s", self.chance.below(4_000)) } else { String::new() }
    }

    fn enqueue_jobs(&mut self) -> Command {
        let body = (0..1 + self.chance.below(5)).map(|_| {
            let name = self.name("j");
            self.remember_job(&name);
            format!("job {name}{}{}{}", self.options(), self.deadline(), self.unique())
        });
        let body = body.collect();
        Command::bare("batch", body)
    }

    /// One of a few keys, so that they meet.
    fn unique(&mut self) -> String {
        if self.chance.percent(60) {
            return String::new();
        }
        let hold = self.chance.pick(&["", " hold=started", " hold=20s"]).copied().unwrap_or_default();
        let policies = [
            "",
            " conflict=reject",
            " conflict=replace:all",
            " conflict=replace:input,due,priority",
            " conflict=replace:queue,deadline,rules,tags,headers",
            " conflict=debounce:5s",
            " conflict=debounce",
        ];
        let conflict = self.chance.pick(&policies).copied().unwrap_or_default();
        format!(" unique=k{}{hold}{conflict}", self.chance.below(6))
    }

    /// The same ids again: sometimes the same content, sometimes another.
    fn batch_again(&mut self) -> Command {
        let first = self.name("j");
        self.remember_job(&first);
        let old = self.jobs[self.chance.below(self.jobs.len())].clone();
        let same = format!("job {first} input={{\"x\":1}}");
        let other = format!("job {first} input={{\"x\":{}}}", self.chance.below(3));
        let mut body = vec![same, other, format!("job {old} input={{\"x\":{}}}", self.chance.below(9))];
        if self.chance.percent(30) {
            body.push(format!("job {} input=big:1048577", self.name("j")));
        }
        if self.chance.percent(30) {
            body.push(format!("job {} input=\"a\\u0000b\"", self.name("j")));
        }
        Command::bare("batch", body)
    }

    fn nodes(&mut self, known: &[String], count: usize) -> (Vec<String>, Vec<String>) {
        let (mut names, mut lines): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let is_run = self.chance.percent(6);
            let name = self.name(if is_run { "r" } else { "n" });
            let mut parents: Vec<String> = Vec::new();
            let reach: Vec<String> = known.iter().chain(&names).cloned().collect();
            for _ in 0..self.chance.below(4) {
                if let Some(parent) = self.chance.pick(&reach)
                    && !parents.contains(parent)
                {
                    parents.push(parent.clone());
                }
            }
            let mut line = format!("node {name}");
            if is_run {
                line.push_str(&format!(" run={}", self.some_run()));
            }
            if self.chance.percent(15) {
                line.push_str(" may_fail");
            }
            line.push_str(&self.options());
            line.push_str(&self.deadline());
            if parents.len() > 1 && self.chance.percent(30) {
                line.push_str(&format!(" need={}", 1 + self.chance.below(parents.len())));
            }
            if !parents.is_empty() {
                line.push_str(" after");
            }
            for parent in parents {
                line.push_str(&format!(" {parent}{}", self.condition()));
            }
            names.push(name);
            lines.push(line);
        }
        (names, lines)
    }

    fn condition(&mut self) -> &'static str {
        match self.chance.below(10) {
            0 | 1 => ":finished",
            2 => ":failed",
            3 => ":joined",
            4 => ":branch(yes)",
            5 => ":branch(no)",
            _ => "",
        }
    }

    fn enqueue_graph(&mut self) -> Command {
        let name = self.name("g");
        let count = 1 + self.chance.below(8);
        let (nodes, lines) = self.nodes(&[], count);
        self.graphs.push(Sketch { name: name.clone(), nodes });
        if self.graphs.len() > REACH {
            self.graphs.remove(0);
        }
        let keep = if self.chance.percent(70) { " keep=60s keep_failed=60s" } else { "" };
        let fail_fast = if self.chance.percent(20) { " fail_fast" } else { "" };
        let unique = match self.chance.below(10) {
            0 | 1 => " name=import unique=k",
            2 => " name=import unique=k hold=20s",
            3 => " name=import unique=k conflict=reject",
            _ => "",
        };
        let parent = if self.chance.percent(20) { format!(" {}", parent(&mut self.chance)) } else { String::new() };
        let retry = match self.chance.below(6) {
            0 => " retry=2,3s",
            1 => " retry=3,20s",
            _ => "",
        };
        Command::bare(format!("enqueue graph {name}{keep}{fail_fast}{retry}{unique}{parent}"), lines)
    }

    fn append(&mut self) -> Command {
        let name = self.some_graph();
        let at = self.graphs.iter().position(|graph| graph.name == name);
        let mut known = at.map_or_else(Vec::new, |at| self.graphs[at].nodes.clone());
        if self.chance.percent(5) {
            known.push("ghost".into());
        }
        let count = 1 + self.chance.below(3);
        let (mut nodes, mut lines) = self.nodes(&known, count);
        if self.chance.percent(5)
            && let Some(taken) = self.chance.pick(&known)
        {
            lines.push(format!("node {taken}"));
        } else if let Some(at) = at {
            self.graphs[at].nodes.append(&mut nodes);
        }
        Command::bare(format!("append {name}"), lines)
    }

    fn turn<S: Subject>(&mut self, worker: &str, runner: &Runner<S>) -> Command {
        let mut body = Vec::new();
        let mut settled: Vec<String> = Vec::new();
        for (name, held) in runner.book(worker).into_iter().flat_map(|book| book.holds()) {
            if self.chance.percent(70) {
                body.push(format!("{name} {}", self.report(name, held)));
                settled.push(name.to_owned());
            }
        }
        if self.chance.percent(8)
            && let Some(book) = runner.book(worker)
        {
            // A claim of the past: stale, unless it is held still.
            let past: Vec<(&str, &Held)> = book.ever().filter(|(name, _)| !settled.iter().any(|s| s == name)).collect();
            if let Some((name, held)) = self.chance.pick(&past) {
                body.push(format!("{name} {}", self.report(name, held)));
            }
        }
        let claim = match self.chance.below(10) {
            0..3 => String::new(),
            3 => " claim=default:3 kinds=echo".into(),
            4 => " claim=mail:2,default:2 kinds=echo,send decisions=1".into(),
            5 => " claim=mail:20 kinds=send@2,rare".into(),
            _ => " claim=default:20,mail:20 kinds=echo,send@2,rare".to_owned(),
        };
        let unseen = if self.chance.percent(4) { " unseen" } else { "" };
        let number = if self.chance.percent(2) { " number=1" } else { "" };
        Command::bare(format!("turn {worker}{claim}{unseen}{number}"), body)
    }

    /// What handlers say while they work, mostly under claims that hold.
    fn note<S: Subject>(&mut self, worker: &str, runner: &Runner<S>) -> Command {
        let book = runner.book(worker);
        let held: Vec<&str> = book.into_iter().flat_map(|book| book.holds()).map(|(name, _)| name).collect();
        let ever: Vec<&str> = book.into_iter().flat_map(|book| book.ever()).map(|(name, _)| name).collect();
        let mut note = || {
            let still = self.chance.percent(80) && !held.is_empty();
            let name = self.chance.pick(if still { &held } else { &ever })?;
            let (tag, mark) = (self.chance.below(40), self.chance.below(4));
            Some(format!("{name} done={} tags=t{tag},t{} mark=m{mark}:{tag}", self.chance.below(9), tag + 1))
        };
        Command::bare(format!("note {worker}"), (0..4).filter_map(|_| note()).collect())
    }

    fn report(&mut self, name: &str, held: &Held) -> String {
        // By their names: what is held does not say whether it is a run.
        let is_run = name.rsplit('/').next().is_some_and(|name| name.starts_with('r'));
        let mut text = match held {
            Held::Job(_) if is_run && self.chance.percent(70) => match self.chance.below(10) {
                0..4 => "stay".into(),
                4..6 => "park".into(),
                6..8 => format!("park {}ms", self.chance.below(6_000)),
                8 => match self.chance.below(2) {
                    0 => "hold".into(),
                    _ => format!("renew {{\"next\":{}}} taken={}", self.chance.below(9), self.chance.below(4)),
                },
                _ => "ok read=0".into(),
            },
            held => self.plain_report(held),
        };
        if self.chance.percent(if is_run { 60 } else { 1 }) {
            text.push_str(&format!(" journal=[{},{{\"at\":2}}]", self.chance.below(9)));
        }
        if self.chance.percent(if is_run { 30 } else { 1 }) {
            text.push_str(&format!(
                " publish={} answer=~add/u{}:1 lines=log:[{}]",
                self.chance.below(9),
                self.chance.below(4),
                self.chance.below(9)
            ));
        }
        if self.chance.percent(if is_run { 60 } else { 1 }) && !text.contains("read=") {
            text.push_str(&format!(" read={}", self.chance.below(5)));
        }
        text
    }

    fn plain_report(&mut self, held: &Held) -> String {
        match held {
            Held::Decision(_) if self.chance.percent(4) => "close".into(),
            Held::Decision(_) if self.chance.percent(4) => "ok".into(),
            Held::Decision(_) if self.chance.percent(4) => "again".into(),
            Held::Decision(_) => "decide".into(),
            Held::Rescued(_) => "crashed".into(),
            Held::Job(_) => match self.chance.below(50) {
                0..14 => "ok".into(),
                14..20 => format!("ok output={{\"y\":{}}} branches=yes", self.chance.below(9)),
                20..24 => "ok branches=no".into(),
                24..33 => "fail \"no route\"".into(),
                33 => "fail \"bad address\" retry=never".into(),
                34 => "fail \"later\" retry=2s".into(),
                35 => "panic \"index out of range\"".into(),
                36 => "timeout log=\"slow\"".into(),
                37 => "overdue".into(),
                38..40 => format!("snooze {}ms", self.chance.below(3_000)),
                40 => "revoke \"not mine\"".into(),
                41 => "skip \"nothing to do\"".into(),
                42 => "stop".into(),
                43..46 => "hand-back".into(),
                46..49 => format!("block \"no field\" build={}", 1 + self.chance.below(2)),
                _ => "close".into(),
            },
        }
    }

    fn beat<S: Subject>(&mut self, worker: &str, runner: &Runner<S>) -> Command {
        if self.chance.percent(6) {
            return Command::bare(format!("leave {worker}"), Vec::new());
        }
        let mut text = format!("beat {worker} build={}", 1 + self.chance.below(2));
        if self.chance.percent(15) {
            let held = runner.book(worker).into_iter().flat_map(|book| book.holds());
            let kept: Vec<&str> = held.map(|(name, _)| name).filter(|_| self.chance.percent(70)).collect();
            text.push_str(&format!(" holds={}", if kept.is_empty() { "none".into() } else { kept.join(",") }));
        }
        Command::bare(text, Vec::new())
    }

    fn rescue(&mut self) -> Command {
        let worker = WORKERS[self.chance.below(WORKERS.len())];
        let mut text = format!("rescue {worker} limit={}", 1 + self.chance.below(30));
        if self.chance.percent(25) {
            text.push_str(&format!(" gone={}", WORKERS[self.chance.below(WORKERS.len())]));
        }
        Command::bare(text, Vec::new())
    }

    fn cancel_job(&mut self) -> Command {
        Command::bare(format!("cancel {} reason=\"by chance\"", self.some_job()), Vec::new())
    }

    fn cancel_graph(&mut self) -> Command {
        Command::bare(format!("cancel graph {}", self.some_graph()), Vec::new())
    }

    fn retry(&mut self) -> Command {
        let graph = self.some_graph();
        let text = match self.chance.below(4) {
            0 => "retries".to_owned(),
            1 => format!("retry {graph} all"),
            2 => format!("retry {graph} looks={}", self.chance.below(3)),
            _ => format!("retry {graph}"),
        };
        Command::bare(text, Vec::new())
    }

    fn order(&mut self) -> Command {
        let graph = self.some_graph();
        let body = match self.chance.below(6) {
            0 => vec![format!("stop {graph} retry")],
            1 => vec![format!("unstop {graph} retry")],
            2 => vec![format!("stop {graph} cancel"), format!("end {} leave", self.some_job())],
            _ => vec![format!("recount {graph}")],
        };
        Command::bare("order", body)
    }

    fn clock(&mut self) -> Command {
        let by = match self.chance.below(100) {
            0..60 => format!("{}ms", 1 + self.chance.below(1_000)),
            60..88 => format!("{}s", 1 + self.chance.below(6)),
            88..97 => format!("{}s", 10 + self.chance.below(60)),
            97 | 98 => format!("{}h", 1 + self.chance.below(30)),
            _ => "-500ms".into(),
        };
        Command::bare(format!("clock {by}"), Vec::new())
    }

    fn prune(&mut self) -> Command {
        Command::bare(format!("prune {}", 1 + self.chance.below(60)), Vec::new())
    }

    fn question(&mut self) -> Command {
        let text = match self.chance.below(25) {
            0 => ["queues", "versions", "patches"][self.chance.below(3)].into(),
            1 => "workers".into(),
            2 => "peers".into(),
            3 => match self.chance.below(3) {
                0 => "stops".into(),
                1 => format!("settle-stopped {} {}", self.some_graph(), ["cancel", "fail"][self.chance.below(2)]),
                _ => format!("settleable {} limit=5", self.some_graph()),
            },
            4 if self.chance.percent(50) => format!("marks {}", self.some_job()),
            4 => format!("attempts {}", self.some_job()),
            5 => format!("upstream {}", self.some_job()),
            6 => format!("ended {} {}", self.some_job(), self.some_job()),
            7 | 8 => format!("job {}", self.some_job()),
            9 | 10 => format!("graph {}", self.some_graph()),
            11 => match self.chance.below(10) {
                0 => "jobs limit=20".into(),
                7 => ["jobs limit=3 state=waiting", "jobs limit=3 tags=t1", "tags limit=4 prefix=t"]
                    [self.chance.below(3)]
                .into(),
                8 => "jobs limit=3 state=succeeded".into(),
                1 => "counts most=9".into(),
                2 => "jobs limit=20 state=ready".into(),
                3 => "jobs limit=20 state=running".into(),
                4 => "jobs limit=20 state=dead".into(),
                5 => "jobs limit=20 state=cancelled".into(),
                6 => "jobs limit=20 state=blocked".into(),
                _ => "jobs limit=20 runs".into(),
            },
            12 => match self.chance.below(3) {
                0 => "graphs limit=10".into(),
                1 => "graphs limit=10 end=open".into(),
                _ => "graphs limit=10 end=failed".into(),
            },
            13 => format!("entries {} limit=6 from={}", self.some_run_job(), self.chance.below(3)),
            16 => format!("ancestors {} kind=echo limit=5", self.some_job()),
            17 => {
                let node = self.some_job();
                format!("ancestors {} node={}", self.some_job(), node.rsplit('/').next().unwrap_or_default())
            }
            14 | 15 if self.chance.percent(50) => format!("tombstone {}", self.some_run()),
            14 | 15 => format!("inbox {} limit=6", self.some_run()),
            18..=23 => match self.chance.below(5) {
                4 => format!("stream {} log after={} limit=3", self.some_run(), self.chance.below(3)),
                0..=2 => format!("shown {}", self.some_run()),
                _ => format!("shown {} ~add/u{}", self.some_run(), self.chance.below(4)),
            },
            _ => "census".into(),
        };
        Command::bare(text, Vec::new())
    }
}

/// What really happened in a random script, counted from the answers.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    counts: BTreeMap<&'static str, u64>,
}

/// A happening, and what an answer line looks like that shows it.
type Sign = (&'static str, fn(&str, &str) -> bool);

const SIGNS: [Sign; 39] = [
    ("tombstone forgotten", |_, line| line.contains("tombstones=")),
    ("job noted", |_, line| line.ends_with(" noted")),
    ("stale note", |command, line| command.starts_with("note") && line.ends_with(" stale")),
    ("run rewound", |command, line| command.starts_with("rewind ") && line.ends_with(" requeued")),
    ("run forked", |command, line| command.contains(" fork=") && line.ends_with(" inserted")),
    ("something shown", |_, line| line.starts_with("shows ")),
    ("paused run claimed", |_, line| line.starts_with("job ") && line.ends_with(" paused=yes")),
    ("worker told of a pause", |command, line| command.starts_with("turn") && line.ends_with(" paused")),
    ("start joined a run", |_, line| line.contains(" is the run of job ")),
    ("start made place", |command, line| command.contains(" taken=replace") && line.ends_with(" inserted")),
    ("run claimed again", |_, line| line.starts_with("job ") && line.contains(" entries=")),
    ("run taken", |_, line| line.contains("is there already, or has been, as job")),
    ("signal delivered", |_, line| line.contains(" delivered")),
    ("duplicate signal", |_, line| line.contains(" duplicate")),
    ("unread end", |_, line| line.ends_with(" unread")),
    ("arrivals", |command, line| command.starts_with("inbox") && line.contains(" at=")),
    ("job claimed", |_, line| line.starts_with("job ")),
    ("second attempt", |_, line| line.starts_with("job ") && line.contains(" failures=")),
    ("job settled", |command, line| command.starts_with("turn") && line.ends_with(" done") && !line.contains("/end ")),
    ("graph closed", |_, line| line.ends_with("/end done")),
    ("stale outcome", |_, line| line.ends_with(" stale")),
    ("cancelled outcome", |command, line| command.starts_with("turn") && line.ends_with(" cancelled")),
    ("decision about parents", |_, line| line.starts_with("decision ") && line.contains(" parents ")),
    ("decision about a stop", |_, line| line.starts_with("decision ") && line.contains(" stopped to ")),
    ("decision about a deadline", |_, line| line.starts_with("decision ") && line.ends_with(" overdue")),
    ("append", |command, line| command.starts_with("append") && line.ends_with(" inserted")),
    ("append refused", |command, line| command.starts_with("append") && line.contains(" refused: ")),
    ("conflict", |_, line| line.contains("with other content")),
    ("rescue", |_, line| line.starts_with("rescued ")),
    ("lease over", |_, line| line == "lease over"),
    ("unknown worker", |_, line| line == "refused UnknownWorker"),
    ("stale turn", |_, line| line == "refused StaleTurn"),
    ("hand-back", |_, line| line.starts_with("handed back ")),
    ("job cancelled by an order", |command, line| command.starts_with("cancel j") && line.ends_with(" ended")),
    ("graph put off", |command, line| command == "retries" && line.starts_with("next in ")),
    ("graph retried", |command, line| command.starts_with("retry ") && line.contains(" retried generation=")),
    ("graph stopped", |_, line| line.contains(" stopped ended=")),
    ("job pruned", |command, line| command.starts_with("prune") && line.starts_with("jobs=")),
    ("graph pruned", |command, line| command.starts_with("prune") && line.contains("graphs=")),
];

impl Mix {
    /// Counts what an answer shows.
    pub fn note(&mut self, command: &Command, answer: &[String]) {
        for (name, sign) in SIGNS {
            let seen = answer.iter().filter(|line| sign(&command.text, line)).count();
            *self.counts.entry(name).or_default() += seen as u64;
        }
        if command.text.starts_with("clock") {
            *self.counts.entry("clock moved").or_default() += 1;
        }
        if command.text.starts_with("repeat") {
            *self.counts.entry("turn repeated").or_default() += 1;
        }
    }

    /// What happened less than this often.
    pub fn rarer_than(&self, least: u64) -> Vec<&'static str> {
        self.counts.iter().filter(|(_, count)| **count < least).map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, count)) in self.counts.iter().enumerate() {
            write!(f, "{}{name} {count}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A run that may be there, and mostly a place at which it waits: few, so that two children tell of the same.
fn parent(chance: &mut Chance) -> String {
    let place = if chance.percent(80) { format!(":{}", 2 + chance.below(12)) } else { String::new() };
    format!("parent={RUN}{}{place}", chance.below(RUNS))
}
