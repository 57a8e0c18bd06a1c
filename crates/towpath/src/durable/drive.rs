//! Drives one run from its claim to its park or its end: loads the journal, lets the function go on, commits, and only
//! then starts its steps.

mod children;
mod inside;
mod wait;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use towpath_core::dispatch::CancelWhy;
use towpath_core::replay::{Command, Entry, Ident, Interrupt, Live, Pass, Pos, Unfit, seed_of};
use towpath_core::store::{CancelNote, Claimed, RunHead, Settled, Showing};
use towpath_core::{Cause, Fence, Payload, Report, Retry, RunCommit, StoreError, Timestamp, limits};
use tracing::Instrument;

use super::frame::{self, How, RunEnd};
use super::function::Erased;
use super::step::{self, Attempted, BoxFuture, StepCx, StepWork};
use crate::client::Client;
use crate::notes::Notes;
use crate::states::States;
use crate::trace;
use crate::worker::Message;

/// What a driver needs of its worker.
pub(crate) struct Drive {
    pub(crate) function: Erased,
    pub(crate) claimed: Claimed,
    pub(crate) client: Client,
    pub(crate) states: States,
    pub(crate) build: u64,
    pub(crate) cancel: watch::Receiver<Option<CancelWhy>>,
    pub(crate) commits: Commits,
    /// The store's clock as last seen, and when.
    pub(crate) clock: (Timestamp, Instant),
    /// Rung when a signal comes for the run.
    pub(crate) bell: Arc<Notify>,
}

/// A run's way to the store: through the turns of its worker.
pub(crate) struct Commits {
    pub(crate) fence: Fence,
    pub(crate) outbox: mpsc::UnboundedSender<Message>,
    /// Where its steps say how far they are.
    pub(crate) notes: Notes,
}

/// A pause shorter than this is not worth a park.
const LINGER: Duration = Duration::from_millis(5);
/// How often a run that has work in flight looks into its inbox, in case a hint was lost.
const LOOK: Duration = Duration::from_secs(1);
/// Lines of a journal or an inbox that are read at once.
const PAGE: u32 = 1_000;
/// Lines of streams that steps may be ahead of what is committed, and that a commit takes.
const LINES: usize = 256;

/// Why a run leaves its driver.
enum Leave {
    /// It is settled, or somebody else's: what is reported counts for nothing.
    Over,
    /// It goes back, with this.
    Report(Report),
}

type Step<T> = Result<T, Leave>;

/// A step that is done, or to be tried again.
struct Finished {
    pos: Pos,
    at: Timestamp,
    attempted: Attempted,
}

struct Driver {
    client: Client,
    states: States,
    build: u64,
    version: u16,
    cancel: watch::Receiver<Option<CancelWhy>>,
    commits: Commits,
    clock: (Timestamp, Instant),
    bell: Arc<Notify>,
    job: towpath_core::JobId,
    run: RunHead,
    /// The chapter that stands in the keys of steps.
    keyed: u32,
    live: Live<RunEnd>,
    /// Lines that are not committed yet.
    pending: Vec<Payload>,
    /// What clients are shown with the next commit.
    shows: Vec<Showing>,
    /// Lines that steps write into streams.
    lines: (mpsc::Sender<Showing>, mpsc::Receiver<Showing>),
    must_commit: bool,
    /// Whether the run is paused: what has begun is brought to an end, and nothing else begins.
    is_paused: bool,
    /// How many lines the journal has, those that are not committed included.
    length: usize,
    in_flight: HashMap<Pos, (AbortHandle, Running)>,
    /// Steps that are tried again at an instant.
    waiting: BTreeMap<(Timestamp, Pos), Running>,
    /// Transactional steps that are to be done, one after the other.
    inside: VecDeque<(Pos, Running)>,
    finished: (mpsc::UnboundedSender<Finished>, mpsc::UnboundedReceiver<Finished>),
    has_read_inbox: bool,
    /// When the inbox was read last.
    looked_at: Instant,
}

/// A step at work.
struct Running {
    ident: Ident,
    work: Arc<StepWork>,
    failures: u32,
}

impl Drive {
    /// Drives the run until it parks, ends or leaves this worker. What it reports counts only if it was not settled.
    pub(crate) async fn run(self) -> Report {
        match self.begin().await {
            Err(Leave::Report(report)) => report,
            Ok(()) | Err(Leave::Over) => Report::Stopped,
        }
    }

    async fn begin(self) -> Step<()> {
        let Self { function, claimed, client, states, build, cancel, mut commits, clock, bell } = self;
        let Some(run) = claimed.run.clone() else {
            let problem = format!(
                "{} is a durable function, and this job is no run: start it by Client::start",
                claimed.head.kind
            );
            return Err(Leave::Report(Report::Undecodable { problem, build }));
        };
        let job = claimed.head.id;
        let entries = load(&client, job, &run).await?;
        let of = frame::Run { job, id: run.id.clone(), chapter: run.chapter };
        let now = clock.0 + clock.1.elapsed();
        let mut problem = None;
        let input = match entries.first() {
            Some(Entry::Began { input: Some(input), .. }) => Payload::json_bytes(input.json().to_owned()),
            _ => claimed.input,
        };
        let make = |ops: towpath_core::replay::Ops| match function.body(&input, ops, &of) {
            Ok(body) => body,
            Err(text) => {
                problem = Some(text);
                Box::pin(std::future::pending()) as towpath_core::replay::Body<RunEnd>
            }
        };
        let (is_known, written) = (!entries.is_empty(), entries.len());
        let keyed = keyed(&entries).unwrap_or(run.chapter);
        let rebuilt = Live::rebuild(entries, function.version, seed_of(job, run.chapter), now, make);
        if let Some(problem) = problem {
            return Err(Leave::Report(Report::Undecodable { problem, build }));
        }
        let live = match rebuilt {
            Ok(live) => live,
            Err(interrupt) => return block(&mut commits, build, &interrupt).await,
        };
        let mut driver = Driver {
            client,
            states,
            build,
            version: function.version,
            cancel,
            commits,
            clock,
            bell,
            job,
            run,
            keyed,
            live,
            pending: Vec::new(),
            shows: Vec::new(),
            lines: mpsc::channel(LINES),
            must_commit: false,
            is_paused: false,
            length: written,
            in_flight: HashMap::new(),
            waiting: BTreeMap::new(),
            inside: VecDeque::new(),
            finished: mpsc::unbounded_channel(),
            has_read_inbox: false,
            looked_at: Instant::now(),
        };
        if is_known {
            // Something has woken it, most likely a signal.
            driver.read_inbox().await?;
        }
        driver.go_on().await
    }
}

/// The chapter that stands in the keys of steps, if the journal names one.
fn keyed(entries: &[Entry]) -> Option<u32> {
    match entries.first()? {
        Entry::Began { carried, .. } => carried.as_ref()?.keyed,
        _ => None,
    }
}

async fn load(client: &Client, job: towpath_core::JobId, run: &RunHead) -> Step<Vec<Entry>> {
    let mut entries = Vec::with_capacity(run.entries as usize);
    let mut from = 0;
    while from < run.entries {
        let page = client.store().entries(job, run.chapter, from, PAGE).await.map_err(|e| later(&e))?;
        if page.is_empty() {
            break;
        }
        from += u32::try_from(page.len()).unwrap_or(PAGE);
        for line in page {
            let entry = Entry::read(&line).map_err(|e| {
                let problem = format!("line {} of the journal cannot be read: {}", line.seq, e.problem);
                Leave::Report(Report::Undecodable { problem, build: 0 })
            })?;
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The store cannot be asked now.
fn later(error: &StoreError) -> Leave {
    tracing::warn!(%error, "a run cannot be read; trying again");
    Leave::Report(Report::Snoozed { wait: Duration::from_secs(1) })
}

/// The run cannot go on with this code: nothing of the pass is written, and another build tries it.
async fn block(commits: &mut Commits, build: u64, interrupt: &Interrupt) -> Step<()> {
    let problem = limits::cut(&interrupt.to_string(), limits::ERROR_BYTES_MAX);
    tracing::error!(job = commits.fence.key, %problem, "a run is blocked");
    let then = Some(Report::Undecodable { problem, build });
    commits.commit(RunCommit { then, ..RunCommit::default() }).await;
    Err(Leave::Over)
}

impl Commits {
    async fn commit(&mut self, commit: RunCommit) -> Settled {
        let (answer, answered) = oneshot::channel();
        let message = Message::Commit { fence: self.fence, commit: Box::new(commit), answer };
        if self.outbox.send(message).is_err() {
            return Settled::Stale;
        }
        // Without an answer the claim is lost.
        answered.await.unwrap_or(Settled::Stale)
    }
}

impl Driver {
    fn now(&self) -> Timestamp {
        self.clock.0 + self.clock.1.elapsed()
    }

    async fn go_on(&mut self) -> Step<()> {
        loop {
            self.take_lines();
            let now = self.now();
            let pass = match self.live.pass(now) {
                Ok(pass) => pass,
                Err(interrupt) => {
                    self.abort_all();
                    return block(&mut self.commits, self.build, &interrupt).await;
                }
            };
            let Pass { entries, must_commit, commands, shows, closed, lost, ended, is_full } = pass;
            for Unfit { name, problem, .. } in self.live.take_unfit() {
                tracing::warn!(run = %self.run.id, signal = %name, %problem, "a signal does not fit its wait, and stays in the inbox");
            }
            self.write(entries)?;
            shows.into_iter().for_each(|showing| showing.add_to(&mut self.shows));
            self.must_commit |= must_commit;
            self.drop_closed(&closed);
            if let Some(end) = ended {
                return self.end(end).await;
            }
            let commands = self.unless_paused(commands);
            let commands = self.start_children(commands, lost).await?;
            let commands = self.queue_inside(commands);
            if is_full {
                self.commit(None).await?;
            } else if commands.is_empty() && self.in_flight.is_empty() && self.inside.is_empty() {
                // What became of a child's start is news already.
                if !self.live.has_news() && self.rest().await? {
                    return Ok(());
                }
                continue;
            } else if self.must_commit && (!commands.is_empty() || self.inside.is_empty()) {
                self.commit(None).await?;
            }
            let commands = self.unless_paused(commands);
            // A step alone need not leave this task if it is done at once.
            if self.in_flight.is_empty() && commands.len() == 1 {
                for command in commands {
                    self.start_here(command)?;
                }
            } else {
                for command in commands {
                    self.start(command);
                }
            }
            if is_full || self.live.has_news() {
                continue;
            }
            // One at a time: what it causes is to follow its line in the journal.
            match self.inside.pop_front() {
                Some((pos, running)) => self.transact(pos, running).await?,
                None => self.wait().await?,
            }
        }
    }

    fn write(&mut self, entries: Vec<Entry>) -> Step<()> {
        self.lengthen(entries.len())?;
        for entry in entries {
            match entry.encode() {
                Ok(payload) => self.pending.push(payload),
                Err(e) => {
                    let problem = format!("a line of the journal cannot be stored: {}", e.problem);
                    return Err(Leave::Report(Report::Undecodable { problem, build: self.build }));
                }
            }
        }
        Ok(())
    }

    /// Notes that the journal grows. A function that loops for ever is told of early, and stopped before replay takes so
    /// long that nobody could go on with it.
    fn lengthen(&mut self, by: usize) -> Step<()> {
        let (before, warn) = (self.length, limits::JOURNAL_WARN as usize);
        self.length += by;
        if before < warn && self.length >= warn {
            tracing::warn!(run = %self.run.id, lines = self.length, "a journal grows long: let the run end, and start another");
        }
        let max = limits::JOURNAL_MAX as usize;
        if self.length <= max {
            return Ok(());
        }
        self.abort_all();
        let problem = format!(
            "the journal has {} lines, at most {max} are allowed: cancel or end the run, and start another that does less",
            self.length
        );
        Err(Leave::Report(Report::Undecodable { problem, build: self.build }))
    }

    /// What is to be started, if the run is paused: only what is begun now or never. All else is asked for again when it is
    /// rebuilt.
    fn unless_paused(&self, mut commands: Vec<Command>) -> Vec<Command> {
        if self.is_paused {
            commands.retain(|command| command.at_most_once);
        }
        commands
    }

    // ---- commits ------------------------------------------------------------------------------

    /// What the next commit writes: lines of the journal, and what clients are shown.
    fn take_pending(&mut self) -> (Vec<Payload>, Vec<Showing>) {
        self.must_commit = false;
        (std::mem::take(&mut self.pending), std::mem::take(&mut self.shows))
    }

    /// Takes what steps have written into streams: before their ends, which come after it.
    fn take_lines(&mut self) {
        for _ in 0..LINES {
            let Ok(line) = self.lines.1.try_recv() else { return };
            self.shows.push(line);
            self.must_commit = true;
        }
    }

    async fn commit(&mut self, then: Option<Report>) -> Step<Settled> {
        let (journal, shows) = self.take_pending();
        let read = then.as_ref().map(|_| u32::try_from(self.live.read()).unwrap_or(u32::MAX));
        let kept = match then {
            Some(Report::Parked { .. }) | None => None,
            Some(_) => Some((journal.clone(), shows.clone())),
        };
        match self.commits.commit(RunCommit { journal, shows, read, then }).await {
            Settled::Paused => {
                self.is_paused = true;
                Ok(Settled::Done)
            }
            Settled::Done => Ok(Settled::Done),
            Settled::Unread => {
                if let Some((journal, shows)) = kept {
                    self.pending = journal;
                    self.shows = shows;
                }
                Ok(Settled::Unread)
            }
            Settled::Stale | Settled::Cancelled | Settled::Refused => {
                self.abort_all();
                Err(Leave::Over)
            }
        }
    }

    /// Nothing is at work: parks, and answers that the run has left. A run that goes on at once stays.
    async fn rest(&mut self) -> Step<bool> {
        if self.is_paused {
            // What was to be tried again is asked for again when it is rebuilt.
            self.commit(Some(Report::Held)).await?;
            return Ok(true);
        }
        if !self.has_read_inbox && self.live.waits_for_signal() {
            self.read_inbox().await?;
            return Ok(false);
        }
        let now = self.now();
        let again = self.waiting.first_key_value().map(|(key, _)| key.0);
        let due = self.live.waits().due.into_iter().chain(again).min();
        let wait = due.map(|due| due.since(now));
        if wait.is_some_and(|wait| wait <= LINGER) {
            if self.must_commit {
                self.commit(None).await?;
            }
            tokio::time::sleep(wait.unwrap_or_default()).await;
            self.start_waiting();
            return Ok(false);
        }
        self.commit(Some(Report::Parked { until: wait })).await?;
        Ok(true)
    }

    async fn end(&mut self, end: RunEnd) -> Step<()> {
        self.abort_all();
        self.write(vec![end.entry(self.now())])?;
        let report = match &end.how {
            How::Continued(input) => {
                let (at, version) = (self.now(), self.version);
                let first = Entry::Began { at, version, input: Some(input.clone()), carried: None }
                    .encode()
                    .unwrap_or_default();
                Report::Renewed { first, taken: self.live.taken() }
            }
            _ => report_of(end),
        };
        // An end that leaves signals unread is refused once; nobody is left to take them, so then it stands.
        while self.commit(Some(report.clone())).await? == Settled::Unread {
            self.read_inbox().await?;
        }
        Ok(())
    }

    // ---- steps --------------------------------------------------------------------------------

    /// Starts a step and lets it go on here as far as it comes without waiting.
    fn start_here(&mut self, command: Command) -> Step<()> {
        let Some((pos, running)) = self.accept(command) else { return Ok(()) };
        let mut attempt = self.begin(pos, &running);
        let polled = attempt.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(attempted) => {
                let at = self.now();
                self.judge(pos, running, at, attempted)
            }
            Poll::Pending => {
                self.spawn(pos, running, attempt);
                Ok(())
            }
        }
    }

    fn start(&mut self, command: Command) {
        if let Some((pos, running)) = self.accept(command) {
            self.attempt(pos, running);
        }
    }

    /// A step that is to be begun now; one that is to be tried again later, or never, is put where it belongs.
    fn accept(&mut self, command: Command) -> Option<(Pos, Running)> {
        let Command { pos, ident, work, failed, is_lost, .. } = command;
        let now = self.now();
        if is_lost {
            self.live.completed(pos, now, step::lost());
            return None;
        }
        let work = work.downcast::<StepWork>().ok()?;
        let (failures, due) = failed.unwrap_or((0, now));
        let running = Running { ident, work: Arc::new(*work), failures };
        if due > now {
            self.waiting.insert((due, pos), running);
            return None;
        }
        Some((pos, running))
    }

    fn attempt(&mut self, pos: Pos, running: Running) {
        let attempt = self.begin(pos, &running);
        self.spawn(pos, running, attempt);
    }

    fn begin(&self, pos: Pos, running: &Running) -> BoxFuture<Attempted> {
        let key = format!("{}/{}/{}", self.run.id, self.keyed, pos);
        let (client, states, lines) = (self.client.clone(), self.states.clone(), self.lines.0.clone());
        let notes = Some(self.commits.notes.clone());
        let cx = StepCx::new(client, states, key.into(), running.failures + 1, lines, notes);
        let span = trace::step(&running.ident, running.failures + 1);
        let attempt = running.work.attempt(cx);
        if span.is_disabled() { attempt } else { Box::pin(attempt.instrument(span)) }
    }

    fn spawn(&mut self, pos: Pos, running: Running, attempt: BoxFuture<Attempted>) {
        let (done, clock) = (self.finished.0.clone(), self.clock);
        let task = tokio::spawn(async move {
            let attempted = attempt.await;
            let _ = done.send(Finished { pos, at: clock.0 + clock.1.elapsed(), attempted });
        });
        self.in_flight.insert(pos, (task.abort_handle(), running));
    }

    fn start_waiting(&mut self) {
        if self.is_paused {
            return;
        }
        let now = self.now();
        while let Some(entry) = self.waiting.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let ((_, pos), running) = entry.remove_entry();
            if running.work.is_inside() {
                self.inside.push_back((pos, running));
            } else {
                self.attempt(pos, running);
            }
        }
    }

    fn finished(&mut self, done: Finished) -> Step<()> {
        let Finished { pos, at, attempted } = done;
        // One that a race has dropped is not waited for any more.
        let Some((_, running)) = self.in_flight.remove(&pos) else { return Ok(()) };
        self.judge(pos, running, at, attempted)
    }

    fn judge(&mut self, pos: Pos, mut running: Running, at: Timestamp, attempted: Attempted) -> Step<()> {
        running.failures += 1;
        let (error, wait) = match step::next(attempted, running.failures, &running.work, self.job) {
            step::Next::Again { error, wait } => (error, wait),
            step::Next::Done(outcome) => {
                self.live.completed(pos, at, outcome);
                return Ok(());
            }
            step::Next::Missing(problem) => {
                self.abort_all();
                return Err(Leave::Report(Report::Undecodable { problem, build: self.build }));
            }
        };
        let due = at + wait;
        self.write(vec![Entry::Failed { pos, failures: running.failures, due, error }])?;
        self.must_commit = true;
        self.waiting.insert((due, pos), running);
        Ok(())
    }

    fn drop_closed(&mut self, closed: &[Pos]) {
        for pos in closed {
            if let Some((task, _)) = self.in_flight.remove(pos) {
                task.abort();
            }
            self.waiting.retain(|key, _| key.1 != *pos);
            self.inside.retain(|(waiting, _)| waiting != pos);
        }
    }

    fn abort_all(&mut self) {
        for (task, _) in self.in_flight.values() {
            task.abort();
        }
        self.in_flight.clear();
        self.waiting.clear();
        self.inside.clear();
    }
}

impl Drop for Driver {
    /// A driver that is dropped leaves no step behind.
    fn drop(&mut self) {
        self.abort_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn report_of(end: RunEnd) -> Report {
    let RunEnd { how, undo_errors } = end;
    let undone =
        if undo_errors.is_empty() { String::new() } else { format!("; not undone: {}", undo_errors.join("; ")) };
    match how {
        How::Returned(Ok(output)) => {
            let (bytes, max) = (output.bytes.len(), limits::PAYLOAD_BYTES_MAX);
            if bytes > max {
                let error = format!("the output has {bytes} bytes, at most {max} are allowed: store it elsewhere");
                return Report::Failed { error, retry: Retry::Never, log: None };
            }
            let is_nothing = &output.bytes[..] == b"null";
            Report::Succeeded { output: (!is_nothing).then_some(output), branches: Vec::new() }
        }
        How::Returned(Err(problem)) => {
            let error = format!("the output cannot be stored: {problem}{undone}");
            Report::Failed { error, retry: Retry::Never, log: None }
        }
        How::Failed { text, .. } => {
            let error = limits::cut(&format!("{text}{undone}"), limits::ERROR_BYTES_MAX);
            Report::Failed { error, retry: Retry::Never, log: None }
        }
        How::Cancelled(CancelNote { actor, reason }) => Report::Obeyed { cause: Cause::Asked { actor, reason } },
        // A chapter that ends is told apart before.
        How::Overdue | How::Continued(_) => Report::Overdue,
    }
}
