//! The shell around a run in a test: a journal in memory, virtual time, and a death where one is planned.

mod children;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use towpath_core::replay::{
    Command, Entry, HISTORY_VERSION, History, HistoryHeader, Ident, Live, Outcome, Pass, Pos, Unfit, Waits,
};
use towpath_core::store::{InboxLine, MemoryBody, Showing, TxEnd};
use towpath_core::{JobId, Label, Payload, RunId, Timestamp};

use super::run::{Plan, START};
use crate::durable::{Durable, Erased, How, Judge, Next, Run, RunEnd, StepCx, StepWork, next, step_lost};
pub(super) use children::{ChildStub, stub as child_stub};

/// The job of every run in a test.
pub(super) const JOB: JobId = JobId::from_bytes([7; 16]);

/// The lines of streams, by name.
pub(super) type Streams = BTreeMap<String, Vec<Payload>>;

/// A run that has ended.
pub(super) struct Ended {
    pub(super) end: RunEnd,
    pub(super) history: History,
    pub(super) earlier: Vec<History>,
    pub(super) commits_at: Vec<usize>,
    pub(super) commits: usize,
    pub(super) began: BTreeMap<String, u32>,
    pub(super) now: Timestamp,
    pub(super) unfit: BTreeMap<i64, Unfit>,
    pub(super) shown: BTreeMap<String, Payload>,
    pub(super) streams: Streams,
    pub(super) told: Streams,
}

pub(super) struct Shell<'p> {
    function: Erased,
    header: HistoryHeader,
    plan: &'p Plan,
    now: Timestamp,
    /// The time at the last commit: a crash takes back what came after.
    committed_at: Timestamp,
    journal: Vec<Entry>,
    pending: Vec<Entry>,
    /// What the run shows, the lines of its streams, and what it will show with the next commit.
    shown: BTreeMap<String, Payload>,
    streams: Streams,
    /// The lines of the function's own alone: these are written once, whatever happens.
    told: Streams,
    shows: Vec<Showing>,
    /// The lines of the function's own among them.
    tells: Vec<Showing>,
    at_work: BTreeMap<Pos, AtWork>,
    children: children::Children,
    /// Steps that have failed and are tried again at an instant.
    waiting: BTreeMap<(Timestamp, Pos), AtWork>,
    commits_at: Vec<usize>,
    commits: usize,
    /// The steps of a chapter whose outcomes are in so many lines of its journal.
    recorded: (u32, usize, HashSet<Pos>),
    began: BTreeMap<String, u32>,
    crash_at: Option<usize>,
    chapter: u32,
    /// Histories of the chapters that have ended.
    earlier: Vec<History>,
    /// What the next commit begins the next chapter with, and the arrivals that were taken by then.
    renewal: Option<(Outcome, Vec<i64>)>,
    /// Arrivals that earlier chapters have taken.
    gone: HashSet<i64>,
    /// Signals that meant nothing to a wait.
    unfit: BTreeMap<i64, Unfit>,
}

struct AtWork {
    ident: Ident,
    work: Arc<StepWork>,
    failures: u32,
}

/// What may come before a step that is at work has ended.
const NEAR: Duration = Duration::from_secs(1);
/// More events than this: it does not come to an end.
const EVENTS_MAX: usize = 1_000_000;

impl<'p> Shell<'p> {
    pub(super) async fn run<I, O, E>(function: Durable<I, O, E>, input: &Outcome, plan: &'p Plan) -> Ended
    where
        I: DeserializeOwned + Send + 'static,
        O: Serialize + Send + 'static,
        E: Serialize + fmt::Display + Send + 'static,
    {
        let header = HistoryHeader {
            towpath_history: HISTORY_VERSION,
            function: function.name().into(),
            version: function.version(),
            run: "test".into(),
            job: JOB,
            chapter: 1,
            seed: plan.seed,
            input: input.clone(),
        };
        let mut shell = Self {
            function: Erased::new(function),
            header,
            plan,
            now: START,
            committed_at: START,
            journal: Vec::new(),
            pending: Vec::new(),
            shown: BTreeMap::new(),
            streams: Streams::new(),
            told: Streams::new(),
            tells: Vec::new(),
            shows: Vec::new(),
            at_work: BTreeMap::new(),
            children: children::Children::default(),
            waiting: BTreeMap::new(),
            commits_at: Vec::new(),
            commits: 0,
            began: BTreeMap::new(),
            recorded: (1, 0, HashSet::new()),
            crash_at: plan.crash_at,
            chapter: 1,
            earlier: Vec::new(),
            renewal: None,
            gone: HashSet::new(),
            unfit: BTreeMap::new(),
        };
        let end = shell.until_it_ends().await;
        let history = History { header: shell.header, entries: shell.journal };
        let Shell { earlier, commits_at, commits, began, now, unfit, shown, streams, told, .. } = shell;
        Ended { end, history, earlier, commits_at, commits, began, now, unfit, shown, streams, told }
    }

    async fn until_it_ends(&mut self) -> RunEnd {
        let mut live = self.rebuild();
        let mut done = Vec::new();
        for _ in 0..EVENTS_MAX {
            if self.plan.evicts && self.pending.is_empty() && !live.has_news() {
                live = self.rebuild();
            }
            self.deliver(&mut live, &mut done);
            let pass = live.pass(self.now).unwrap_or_else(|interrupt| panic!("the run is stopped: {interrupt}"));
            let Pass { entries, must_commit, commands, shows, closed, lost, ended, .. } = pass;
            self.unfit.extend(live.take_unfit().into_iter().map(|unfit| (unfit.seq, unfit)));
            self.pending.extend(entries);
            self.tells.extend(shows.iter().filter(|showing| showing.is_line).cloned());
            shows.into_iter().for_each(|showing| showing.add_to(&mut self.shows));
            for pos in closed {
                if self.at_work.remove(&pos).is_none() {
                    self.waiting.retain(|key, _| key.1 != pos);
                }
            }
            if let Some(end) = &ended {
                self.pending.push(end.entry(self.now));
                if let How::Continued(input) = &end.how {
                    self.renewal = Some((input.clone(), live.taken()));
                }
            }
            let rests = commands.is_empty() && self.at_work.is_empty() && self.children.is_empty();
            if (must_commit || ended.is_some() || rests) && !self.commit() {
                live = self.rebuild();
                continue;
            }
            if matches!(ended, Some(RunEnd { how: How::Continued(_), .. })) {
                live = self.rebuild();
                done.clear();
                continue;
            }
            if let Some(end) = ended {
                let left: Vec<String> = self.children.at_work().map(|pos| pos.to_string()).collect();
                assert!(
                    left.is_empty(),
                    "the run has ended while children go on, of the operations {}",
                    left.join(", ")
                );
                return end;
            }
            let commands = self.start_children(commands, &mut live);
            lost.iter().for_each(|lost| self.children.cancel(lost));
            let (waits, is_lost) = (live.waits(), self.start(commands));
            for pos in is_lost {
                live.completed(pos, self.now, step_lost());
            }
            if live.has_news() {
                continue;
            }
            let next = self.choose(waits, &live);
            let Some(pos) = next else { continue };
            if self.children.finish(pos, self.now) {
                continue;
            }
            if self.at_work.get(&pos).is_some_and(|step| step.work.is_inside() && !self.is_stubbed(step)) {
                if !self.transact(pos, &mut live) {
                    live = self.rebuild();
                }
            } else {
                done.extend(self.finish(pos).await);
            }
        }
        panic!("the run has had {EVENTS_MAX} events and does not end")
    }

    fn rebuild(&self) -> Live<RunEnd> {
        let run = Run { job: JOB, id: RunId::from_stored(&self.header.run), chapter: self.chapter };
        let input = Payload::json_bytes(self.header.input.json().to_owned());
        let make = |ops| match self.function.body(&input, ops, &run) {
            Ok(body) => body,
            Err(problem) => panic!("{problem}"),
        };
        let rebuilt = Live::rebuild(self.journal.clone(), self.header.version, self.header.seed, self.now, make);
        rebuilt.unwrap_or_else(|interrupt| panic!("the run does not fit its own journal: {interrupt}"))
    }

    /// Tells the run what is there for it. What was done for a function that has been forgotten is told to its successor.
    fn deliver(&self, live: &mut Live<RunEnd>, done: &mut Vec<(Pos, Timestamp, Outcome)>) {
        for (pos, at, outcome) in done.drain(..) {
            live.completed(pos, at, outcome);
        }
        self.children.deliver(live, &self.gone);
        for (seq, (wait, name, payload)) in (0..).zip(&self.plan.signals) {
            let at = START + *wait;
            if at <= self.now && !self.gone.contains(&seq) {
                let (name, payload) = (Label::from_stored(name), payload.clone());
                live.arrived(InboxLine { seq, name, payload, at });
            }
        }
    }

    /// Writes what is pending, unless it dies there: then it says so, and everything but the journal is gone.
    fn commit(&mut self) -> bool {
        let point = 2 * self.commits;
        self.commits += 1;
        if self.crash_at == Some(point) {
            self.commits -= 1;
            self.die();
            return false;
        }
        self.journal.append(&mut self.pending);
        for Showing { name, payload, is_line } in std::mem::take(&mut self.shows) {
            if is_line {
                self.streams.entry(name).or_default().push(payload);
            } else {
                self.shown.insert(name, payload);
            }
        }
        for line in self.tells.drain(..) {
            self.told.entry(line.name).or_default().push(line.payload);
        }
        self.committed_at = self.now;
        if let Some((input, taken)) = self.renewal.take() {
            self.renew(input, taken);
        }
        self.commits_at.push(self.journal.len());
        if self.crash_at == Some(point + 1) && !self.has_ended() {
            self.die();
            return false;
        }
        true
    }

    /// Begins the next chapter.
    fn renew(&mut self, input: Outcome, taken: Vec<i64>) {
        let first =
            Entry::Began { at: self.now, version: self.header.version, input: Some(input.clone()), carried: None };
        let entries = std::mem::replace(&mut self.journal, vec![first]);
        self.earlier.push(History { header: self.header.clone(), entries });
        self.chapter += 1;
        self.header.input = input;
        self.header.seed = self.plan.seed.wrapping_add(u64::from(self.chapter));
        self.gone.extend(taken);
        self.commits_at.clear();
        self.at_work.clear();
        self.waiting.clear();
    }

    fn has_ended(&self) -> bool {
        matches!(self.journal.last(), Some(Entry::Ended { .. }))
    }

    fn die(&mut self) {
        self.crash_at = None;
        self.pending.clear();
        self.shows.clear();
        self.tells.clear();
        self.renewal = None;
        self.at_work.clear();
        self.waiting.clear();
        self.now = self.committed_at;
        self.children.take_back(self.committed_at);
    }

    fn start(&mut self, commands: Vec<Command>) -> Vec<Pos> {
        let mut lost = Vec::new();
        for Command { pos, ident, work, failed, is_lost, .. } in commands {
            if is_lost {
                lost.push(pos);
                continue;
            }
            // An evicted function asks for its steps again.
            if self.at_work.contains_key(&pos) || self.waiting.keys().any(|key| key.1 == pos) {
                continue;
            }
            let Ok(work) = work.downcast::<StepWork>() else { continue };
            let (failures, due) = failed.unwrap_or((0, self.now));
            let step = AtWork { ident, work: Arc::new(*work), failures };
            if due > self.now {
                self.waiting.insert((due, pos), step);
            } else {
                self.at_work.insert(pos, step);
            }
        }
        lost
    }

    /// The next thing that happens: some step ends, or time goes on. Which one follows from the seed and the journal, so
    /// that a run that has died goes on like one that has not.
    fn choose(&mut self, waits: Waits, live: &Live<RunEnd>) -> Option<Pos> {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let ((_, pos), step) = entry.remove_entry();
            self.at_work.insert(pos, step);
        }
        let next_signal = self.plan.signals.iter().map(|(wait, ..)| START + *wait).filter(|at| *at > self.now).min();
        let retry = self.waiting.first_key_value().map(|(key, _)| key.0);
        let later = [waits.due, retry, next_signal].into_iter().flatten().min();
        let draw = self.draw();
        // Steps take no time to speak of: only what is near can come while one is at work.
        let is_near = later.is_some_and(|at| at.since(self.now) <= NEAR);
        let is_time = is_near && draw.is_multiple_of(7);
        let Some(pos) = self.some_step(draw / 7).filter(|_| !is_time) else {
            let Some(at) = later else {
                let waits = live.waits_for();
                let what: Vec<String> = waits.iter().map(|(pos, op)| format!("{pos}: {op}")).collect();
                panic!("the run waits for what never comes: {}", what.join(", "))
            };
            self.now = self.now.max(at);
            return None;
        };
        self.now = self.now + Duration::from_millis(1);
        Some(pos)
    }

    /// One of the steps and children that are at work, by a number.
    fn some_step(&self, number: u64) -> Option<Pos> {
        let all = || self.at_work.keys().copied().chain(self.children.at_work());
        let (first, last) = (all().min()?.0, all().max()?.0);
        let from = first + (number % u64::from(last - first + 1)) as u32;
        all().filter(|pos| *pos >= Pos(from)).min()
    }

    fn is_stubbed(&self, step: &AtWork) -> bool {
        self.plan.stubs.contains_key(&*step.ident.name)
    }

    /// A step is begun. Whatever crashed before, one whose outcome is in the journal never is.
    fn begin(&mut self, pos: Pos, name: &str) {
        let chapter = self.chapter;
        if self.recorded.0 != chapter {
            self.recorded = (chapter, 0, HashSet::new());
        }
        let (_, known, done) = &mut self.recorded;
        let new = self.journal.get(*known..).unwrap_or_default();
        done.extend(new.iter().filter_map(|line| if let Entry::Done { pos, .. } = line { Some(*pos) } else { None }));
        *known = self.journal.len();
        assert!(!done.contains(&pos), "step {name} at {pos} is begun, and its outcome is recorded");
        *self.began.entry(name.to_owned()).or_default() += 1;
    }

    /// Does a transactional step of the memory's; it is a commit of its own. Answers whether the run lives.
    fn transact(&mut self, pos: Pos, live: &mut Live<RunEnd>) -> bool {
        let Some(mut step) = self.at_work.remove(&pos) else { return true };
        let name = step.ident.name.to_string();
        if self.crash_at == Some(2 * self.commits) {
            self.die();
            return false;
        }
        self.begin(pos, &name);
        step.failures += 1;
        let verdict = Arc::new(Mutex::new(None));
        let (told, work, failures) = (Arc::clone(&verdict), Arc::clone(&step.work), step.failures);
        let judge: Judge = Box::new(move |attempted| {
            let rows = attempted.rows();
            let next = next(attempted, failures, &work, JOB);
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
            TxEnd { rows, line: Payload::default() }
        });
        let body = step.work.body(judge).unwrap_or_else(|problem| panic!("{problem}"));
        match body.downcast::<MemoryBody>() {
            Ok(body) => drop(body()),
            Err(_) => panic!("transactional step {name} is written for a database: stub it, or test it on that store"),
        }
        let verdict = verdict.lock().unwrap_or_else(PoisonError::into_inner).take();
        let at = live.at(self.now);
        let (line, outcome) = match verdict {
            Some(Next::Done(outcome)) => {
                let line = Live::<RunEnd>::line_alone(pos, step.ident.clone(), at, outcome.clone(), live.ahead());
                (line, Some(outcome))
            }
            Some(Next::Again { error, wait }) => {
                let due = at + wait;
                self.waiting.insert((due, pos), step);
                (Entry::Failed { pos, failures, due, error }, None)
            }
            Some(Next::Missing(what)) => panic!("{what}"),
            None => panic!("a transactional step said nothing"),
        };
        self.pending.push(line);
        if !self.commit() {
            return false;
        }
        if let Some(outcome) = outcome
            && let Err(interrupt) = live.recorded(pos, at, outcome)
        {
            panic!("the run is stopped: {interrupt}");
        }
        true
    }

    async fn finish(&mut self, pos: Pos) -> Option<(Pos, Timestamp, Outcome)> {
        let mut step = self.at_work.remove(&pos)?;
        self.begin(pos, &step.ident.name);
        let attempted = match self.plan.stubs.get(&*step.ident.name) {
            Some(stub) => step.work.stubbed(stub),
            None => {
                let key = format!("test/1/{pos}").into();
                let (client, states) = (self.plan.client.clone(), self.plan.states.clone());
                let (lines, mut written) = mpsc::channel(1);
                let cx = StepCx::new(client, states, key, step.failures + 1, lines, None);
                let all = async {
                    let mut all = Vec::new();
                    while let Some(line) = written.recv().await {
                        all.push(line);
                    }
                    all
                };
                let (attempted, lines) = tokio::join!(step.work.attempt(cx), all);
                self.shows.extend(lines);
                attempted
            }
        };
        step.failures += 1;
        match next(attempted, step.failures, &step.work, JOB) {
            Next::Done(outcome) => Some((pos, self.now, outcome)),
            Next::Missing(what) => panic!("{what}"),
            Next::Again { error, wait } => {
                let due = self.now + wait;
                self.pending.push(Entry::Failed { pos, failures: step.failures, due, error });
                self.waiting.insert((due, pos), step);
                None
            }
        }
    }

    /// A number from the seed and how far the journal has come.
    fn draw(&self) -> u64 {
        let mixed = (self.header.seed ^ 0x9e37_79b9_7f4a_7c15)
            .wrapping_add(self.journal.len() as u64 + self.pending.len() as u64);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
