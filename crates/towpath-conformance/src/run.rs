//! Carries out commands on a subject and puts the store's answers into words.

mod enqueue;
mod inspect;
mod note;
mod operate;
mod retry;
mod runs;
mod schedule;
mod settle;
mod tally;
mod work;

use std::collections::{BTreeMap, HashMap};

use towpath_core::store::{Change, Changed, Counters, Order, StoreError, Turn};
use towpath_core::{Fence, Timestamp};

use crate::args::Args;
use crate::error::ScriptError;
use crate::names::Names;
use crate::say::{self, Say};
use crate::script::{Command, Mismatch, Script};
use crate::span;
use crate::subject::{START, Subject};

pub(crate) use settle::Held;

/// What a command answers.
type Answer = Result<Vec<String>, ScriptError>;

/// A script under way.
pub struct Runner<S> {
    subject: S,
    names: Names,
    now: Timestamp,
    workers: HashMap<String, WorkerBook>,
    /// Keys of lines seen in lists, by name, so that a script can page.
    keys: HashMap<String, i64>,
}

/// What the runner knows of a worker, as the worker itself would.
#[derive(Clone, Default)]
pub(crate) struct WorkerBook {
    /// The number of its last turn or rescue.
    number: u64,
    /// The last number whose reply it has seen.
    seen: u64,
    /// Its last turn, to be repeated.
    last: Option<Turn>,
    /// What it believes to hold, in the order in which it came.
    holds: Vec<String>,
    /// Everything it ever held, by the job's name; `a@old` is a claim that a script has kept.
    held: BTreeMap<String, Held>,
}

impl WorkerBook {
    fn take(&mut self, job: String, held: Held) {
        if !self.holds.contains(&job) {
            self.holds.push(job.clone());
        }
        self.held.insert(job, held);
    }

    /// A run that stays has new counters.
    fn count(&mut self, job: &str, counters: Counters) {
        if let Some(Held::Job(head)) = self.held.get_mut(job) {
            head.counters = counters;
        }
    }

    fn drop_job(&mut self, job: &str) {
        self.holds.retain(|held| held != job);
    }

    fn fence(&self, job: &str) -> Result<Fence, ScriptError> {
        match self.held.get(job) {
            Some(held) => Ok(held.fence()),
            None => Err(ScriptError::new(format!("the worker never held {job}"))),
        }
    }

    fn name_of(&self, fence: Fence) -> String {
        let found = self.held.iter().filter(|(_, held)| held.fence() == fence).map(|(name, _)| name.as_str());
        found.min().unwrap_or("something unknown").to_owned()
    }

    /// What it believes to hold.
    pub(crate) fn holds(&self) -> impl Iterator<Item = (&str, &Held)> {
        self.holds.iter().filter_map(|name| self.held.get(name).map(|held| (name.as_str(), held)))
    }

    /// Everything that it ever held, by name.
    pub(crate) fn ever(&self) -> impl Iterator<Item = (&str, &Held)> {
        self.held.iter().map(|(name, held)| (name.as_str(), held))
    }
}

impl<S: Subject> Runner<S> {
    /// Starts on an empty store and sets its clock.
    ///
    /// # Errors
    /// The clock cannot be set.
    pub async fn new(mut subject: S) -> Result<Self, ScriptError> {
        subject.set_clock(START).await?;
        let (names, workers, keys) = (Names::default(), HashMap::new(), HashMap::new());
        Ok(Self { subject, names, now: START, workers, keys })
    }

    /// Carries out a whole script and gives its answers.
    ///
    /// # Errors
    /// The first answer that differs from the expected one.
    pub async fn run(&mut self, script: &Script) -> Result<(), Box<Mismatch>> {
        for command in &script.commands {
            self.check(script, command).await?;
        }
        Ok(())
    }

    /// Carries out one command of a script.
    ///
    /// # Errors
    /// The answer differs from the expected one.
    pub async fn check(&mut self, script: &Script, command: &Command) -> Result<(), Box<Mismatch>> {
        let answered = self.answer(command).await;
        if answered.as_ref() == Ok(&command.expected) {
            return Ok(());
        }
        Err(Box::new(Mismatch {
            path: script.path.clone(),
            line: command.line,
            command: command.to_string(),
            expected: command.expected.clone(),
            answered,
        }))
    }

    /// Carries out one command and puts the answer into words.
    ///
    /// # Errors
    /// The command cannot be understood, or speaks of something that was never there. What a store
    /// refuses is an answer, not an error.
    pub async fn answer(&mut self, command: &Command) -> Result<Vec<String>, ScriptError> {
        let mut args = Args::parse(&command.text)?;
        let verb = args.word("a command")?;
        let body = &command.body;
        let lines = match verb.as_str() {
            "clock" => self.clock(args).await?,
            "enqueue" | "append" | "batch" => self.enqueue(&command.text, body).await?,
            "beat" | "leave" => self.beat(&verb, args).await?,
            "turn" => self.turn(args, body).await?,
            "repeat" => self.repeat(args).await?,
            "mark" => self.mark(args)?,
            "rescue" => self.rescue(args).await?,
            "cancel" | "terminate" | "abandon" | "edit" | "pause" | "unpause" | "ask" | "order" | "settleable"
            | "settle-stopped" | "stops" | "recount" | "prune" | "corrupt" => self.operate(&verb, args, body).await?,
            "requeue" => self.requeue(args).await?,
            "rewind" => self.rewind(args).await?,
            "retry" => self.retry(args).await?,
            "restart" => self.restart(args).await?,
            "retries" => self.retries(args).await?,
            "suspects" => self.suspects(args).await?,
            "signal" => self.signal(args, body).await?,
            "entries" => self.entries(args).await?,
            "inbox" => self.inbox(args).await?,
            "shown" => self.shown(args).await?,
            "tombstone" => self.tombstone(args).await?,
            "stream" => self.stream(args).await?,
            "streams" => self.streams(args).await?,
            "note" | "marks" | "tags" => self.notes(&verb, args, body).await?,
            "record" | "tallies" => self.tally(&verb, args).await?,
            "schedule" | "schedules" | "tick" => self.schedule(&verb, args).await?,
            _ => self.inspect(&verb, args).await?,
        };
        Ok(say::fold(lines))
    }

    /// Drops the store without a farewell and opens it again; what it had answered must still hold.
    ///
    /// # Errors
    /// It cannot be opened again.
    pub async fn crash(&mut self) -> Result<(), ScriptError> {
        self.subject.crash().await?;
        self.subject.set_clock(self.now).await
    }

    /// Counts all graphs again, as a sweeper does; answers what was wrong, a line a graph. On sound data that is none.
    ///
    /// # Errors
    /// The store cannot do it.
    pub async fn repair(&mut self) -> Result<Vec<String>, ScriptError> {
        let mut wrong = Vec::new();
        let suspects = self.answer(&Command::bare("suspects", Vec::new())).await?;
        wrong.extend(suspects.into_iter().map(|graph| format!("{graph} is miscounted at the end")));
        for graph in self.names.graphs().map(str::to_owned).collect::<Vec<_>>() {
            let change = Change::Recount { graph: self.names.graph(&graph) };
            let order = Order { actor: "sweeper".into(), reason: String::new(), changes: vec![change] };
            match self.subject.store().apply(order).await.map(|applied| applied.changes) {
                Ok(changes) if matches!(changes[..], [Changed::Unknown | Changed::Recounted { repaired: 0 }]) => {}
                answered => wrong.push(format!("a recount of {graph} at the end: {answered:?}")),
            }
        }
        Ok(wrong)
    }

    /// Ends the script and deletes what would outlive it. A script that failed may leave its store, to
    /// be looked at.
    ///
    /// # Errors
    /// It cannot be deleted.
    pub async fn finish(mut self) -> Result<(), ScriptError> {
        self.subject.remove().await
    }

    /// Takes over what another runner on the same store knows: of everybody, or of one worker.
    pub fn learn(&mut self, other: &Self, worker: Option<&str>) {
        self.names.learn(&other.names);
        match worker {
            Some(worker) => {
                let book = other.workers.get(worker).cloned();
                book.and_then(|book| self.workers.insert(worker.to_owned(), book));
            }
            None => {
                self.workers.clone_from(&other.workers);
                self.keys.clone_from(&other.keys);
                self.now = other.now;
            }
        }
    }

    /// A line of another runner with the names that this one knows.
    pub fn in_words(&self, line: &str) -> String {
        self.names.within(line)
    }

    /// The subject.
    pub fn subject(&self) -> &S {
        &self.subject
    }

    /// What a worker believes to hold.
    pub(crate) fn book(&self, worker: &str) -> Option<&WorkerBook> {
        self.workers.get(worker)
    }

    /// Whether a worker has made a turn that it could repeat.
    pub(crate) fn has_turned(&self, worker: &str) -> bool {
        self.book(worker).is_some_and(|book| book.last.is_some())
    }

    async fn clock(&mut self, mut args: Args) -> Answer {
        let to = args.word("a duration")?;
        args.finish()?;
        self.now = match (to.strip_prefix('-'), to.starts_with('+')) {
            (Some(back), _) => self.now - span::parse(back)?,
            (None, true) => span::parse_instant(&to, START)?,
            (None, false) => self.now + span::parse(&to)?,
        };
        self.subject.set_clock(self.now).await?;
        Ok(Vec::new())
    }

    fn say(&self) -> Say<'_> {
        Say { names: &self.names, start: START }
    }

    /// A store's refusal in words. The message is for people and differs between stores; the kind is
    /// the contract.
    fn refused(&self, error: &StoreError) -> Vec<String> {
        match error.kind {
            // The caller can only wait or give up: a script never expects it, so say all there is.
            kind if error.is_transient() => vec![format!("refused {kind:?}: {error} ({:?})", error.source)],
            kind => vec![format!("refused {kind:?}")],
        }
    }

    /// Notices when a reply's clock is not the one that was set.
    fn check_now(&self, now: Timestamp, lines: &mut Vec<String>) {
        if now != self.now {
            lines.push(format!("the store's clock says {}", span::show_instant(now, START)));
        }
    }
}
