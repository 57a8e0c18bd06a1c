//! Durable functions: a future that is polled, dropped, and rebuilt from the journal of what it was told.
//!
//! The rule of a pass: deliver one completion, poll the function until it is quiet, again while there is more; then the
//! worker commits the deliveries with the lines that they caused, and only then starts what the function asked for. So
//! nothing that follows from a completion leaves the process before the completion is on disk, and who won a race is
//! history. There is no IO here, no clock and no runtime.

mod carried;
mod entry;
mod history;
mod inbox;
mod interrupt;
mod ops;
mod record;
mod stopped;
#[cfg(test)]
mod tests;
mod waker;

pub use carried::{Carried, Cut, CutFrom, CutRefusal, Kept, Rewind, Seed};
pub use entry::{Entry, Ident, OpKind, Outcome, Pos};
pub use history::{HISTORY_VERSION, History, HistoryHeader};
pub use inbox::Unfit;
pub use interrupt::{Disagreement, Interrupt, Mismatch, Misuse};
pub use ops::{Ahead, Command, Fits, Lost, Ops, Request, Wants, Work, frame_ident};
pub use stopped::Stopped;

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::id::JobId;
use crate::name::Label;
use crate::store::{InboxLine, Showing};
use crate::time::Timestamp;
use inbox::Inbox;
use record::Record;
use waker::{RootWaker, Turn};

/// What a run's random numbers and ids come from: the same whenever it is rebuilt, and another in each chapter.
pub fn seed_of(job: JobId, chapter: u32) -> u64 {
    job.as_uuid().as_u64_pair().1.swap_bytes() ^ u64::from(chapter)
}

/// A function at work.
pub type Body<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A run in memory.
pub struct Live<T> {
    ops: Ops,
    body: Option<Body<T>>,
    root: Arc<RootWaker>,
    inbox: Inbox,
    completed: BTreeMap<(Timestamp, Pos), Outcome>,
    version: u16,
    has_begun: bool,
    is_fresh: bool,
    /// What the function returned before the pass that says so.
    returned: Option<T>,
    /// Lines that were caused before the pass that writes them.
    lines: Vec<Entry>,
    /// Signals that were passed over since the last look.
    unfit: Vec<Unfit>,
}

/// What a pass came to.
#[derive(Debug)]
pub struct Pass<T> {
    /// Lines for the journal, in order.
    pub entries: Vec<Entry>,
    /// Whether they must be on disk before a command is started.
    pub must_commit: bool,
    /// What to start, by place.
    pub commands: Vec<Command>,
    /// What it shows to clients with the commit of these lines.
    pub shows: Vec<Showing>,
    /// Work in flight that is not wanted any more.
    pub closed: Vec<Pos>,
    /// Children that are not wanted any more, and are to be cancelled once what this pass says is on disk.
    pub lost: Vec<Lost>,
    /// What the function returned.
    pub ended: Option<T>,
    /// Whether completions are left over for another pass.
    pub is_full: bool,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "start {} {}", self.pos, self.ident)
    }
}

/// What a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// How much work is in flight or to be started.
    pub working: usize,
    /// The earliest of its timers.
    pub due: Option<Timestamp>,
}

/// Bytes of lines after which a pass ends, so that its commit stays within what a turn may hold.
const PASS_BYTES: usize = 4 * 1024 * 1024;
/// Deliveries after which it does.
const PASS_DELIVERIES: usize = 4_096;
/// What the line of a failure says of what was ahead; of a success nothing is asked.
fn of_failure(kind: OpKind, outcome: &Outcome, ahead: Ahead) -> (Option<Pos>, Vec<Pos>) {
    if carried::is_failure(kind, outcome) { (Some(ahead.next), ahead.unopened) } else { (None, Vec::new()) }
}

/// So often a function may wake itself without touching an operation.
const SPINS_MAX: u32 = 1_000;
/// So often it may at all: a join of many parts yields now and then.
const ROUNDS_MAX: u32 = 1_000_000;

impl<T> Live<T> {
    /// Rebuilds a run from its journal, which is empty for one that has not begun. `seed` is drawn from the run's id
    /// and the same each time; `now` is the store's clock.
    ///
    /// # Errors
    /// The code does not fit the journal, or misbehaves. Nothing has been written.
    pub fn rebuild(
        entries: impl IntoIterator<Item = Entry>,
        version: u16,
        seed: u64,
        now: Timestamp,
        make: impl FnOnce(Ops) -> Body<T>,
    ) -> Result<Self, Interrupt> {
        let record = Record::new(entries);
        let (has_begun, has_lines, taken) = (!record.is_empty(), record.has_lines(), record.taken.clone());
        let ops = Ops::new(record, seed, now);
        let root = Arc::new(RootWaker::new(ops.number()));
        let inbox = Inbox::new(taken);
        let mut live = Self {
            ops,
            body: None,
            root,
            inbox,
            completed: BTreeMap::new(),
            version,
            has_begun,
            is_fresh: true,
            returned: None,
            lines: Vec::new(),
            unfit: Vec::new(),
        };
        let turn = Turn::of(live.ops.number());
        live.body = Some(make(live.ops.clone()));
        drop(turn);
        if has_lines {
            live.replay()?;
        }
        Ok(live)
    }

    fn replay(&mut self) -> Result<(), Interrupt> {
        let mut state = self.ops.lock();
        state.replays &= !state.record.is_at_end_of_carried();
        drop(state);
        let mut ended = self.poll_root()?;
        self.is_fresh = false;
        self.lines.extend(self.ops.lock().take_lines()?);
        loop {
            let Some(next) = self.ops.lock().record.deliveries.pop_front() else { break };
            let missed = |how| Interrupt::Mismatch(self.ops.lock().record.missed(next.pos, how));
            if ended.is_some() {
                return Err(missed(Disagreement::ReturnedEarly));
            }
            if !self.ops.lock().is_waiting(next.pos) {
                return Err(missed(Disagreement::NotReached));
            }
            let mut state = self.ops.lock();
            // What a line that was committed alone has caused may not be on disk: from here on it is no replay any more.
            let is_frontier = next.alone && state.record.is_at_its_end() || state.record.is_at_end_of_carried();
            state.replays &= !is_frontier;
            drop(state);
            ended = self.deliver(next.pos, next.at, next.outcome)?.1;
            self.lines.extend(self.ops.lock().take_lines()?);
        }
        let mut state = self.ops.lock();
        if let Some(pos) = state.record.first_unreached() {
            return Err(Interrupt::Mismatch(state.record.missed(pos, Disagreement::NotReached)));
        }
        if state.record.has_ended() && ended.is_none() {
            return Err(Interrupt::Mismatch(state.goes_on()));
        }
        state.replays = false;
        drop(state);
        self.returned = ended;
        Ok(())
    }

    /// The line of a piece that is committed alone.
    pub fn line_alone(pos: Pos, op: Ident, at: Timestamp, outcome: Outcome, ahead: Ahead) -> Entry {
        let (next, unopened) = of_failure(op.kind, &outcome, ahead);
        Entry::Done { pos, op, at, outcome, arrival: None, alone: true, next, unopened }
    }

    /// What the function has not come to.
    pub fn ahead(&self) -> Ahead {
        self.ops.lock().ahead()
    }

    /// The instant of something that the function is told now: time never goes back for it.
    pub fn at(&self, now: Timestamp) -> Timestamp {
        now.max(self.ops.now())
    }

    /// Takes in a signal. One that the journal or an earlier call has taken is ignored.
    pub fn arrived(&mut self, line: InboxLine) {
        self.inbox.add(line);
    }

    /// Whether a signal of this name is there that no wait has taken.
    pub fn has_arrived(&self, name: &Label) -> bool {
        self.inbox.has(name)
    }

    /// The numbers of the signals that the function has taken.
    pub fn taken(&self) -> Vec<i64> {
        self.inbox.taken()
    }

    /// How many signals of the run are known, taken or not.
    pub fn read(&self) -> usize {
        self.inbox.known()
    }

    /// Whether the function waits for a signal.
    pub fn waits_for_signal(&self) -> bool {
        let state = self.ops.lock();
        let own = |waits: &std::collections::BTreeSet<Pos>| waits.iter().any(|pos| !pos.is_reserved());
        state.signals.values().any(own)
    }

    /// The signals that were passed over since the last look: they stay in the inbox.
    pub fn take_unfit(&mut self) -> Vec<Unfit> {
        std::mem::take(&mut self.unfit)
    }

    /// Takes in the outcome of work.
    pub fn completed(&mut self, pos: Pos, at: Timestamp, outcome: Outcome) {
        self.completed.insert((at, pos), outcome);
    }

    /// Tells the function what is on disk already, with rows of the application's.
    ///
    /// # Errors
    /// The run cannot go on here.
    pub fn recorded(&mut self, pos: Pos, at: Timestamp, outcome: Outcome) -> Result<(), Interrupt> {
        let ended = self.deliver(pos, at, outcome)?.1;
        self.returned = self.returned.take().or(ended);
        self.lines.extend(self.ops.lock().take_lines()?);
        Ok(())
    }

    /// Delivers what is there, singly and in the order in which it became true.
    ///
    /// # Errors
    /// The run cannot go on here. What this pass did is to be forgotten, with the run.
    pub fn pass(&mut self, now: Timestamp) -> Result<Pass<T>, Interrupt> {
        let mut pass = Pass {
            entries: std::mem::take(&mut self.lines),
            must_commit: false,
            commands: Vec::new(),
            shows: Vec::new(),
            closed: Vec::new(),
            lost: Vec::new(),
            ended: self.returned.take(),
            is_full: false,
        };
        if !self.has_begun {
            self.has_begun = true;
            let at = self.ops.began_at();
            pass.entries.push(Entry::Began { at, version: self.version, input: None, carried: None });
        }
        if std::mem::take(&mut self.is_fresh) {
            pass.ended = self.poll_root()?;
            pass.entries.extend(self.ops.lock().take_lines()?);
        }
        let (mut bytes, mut count) = (0, 0);
        while pass.ended.is_none() {
            if count >= PASS_DELIVERIES || bytes + self.ops.lock().shown_bytes() >= PASS_BYTES {
                pass.is_full = true;
                break;
            }
            let Some((pos, outcome, arrival)) = self.next_completion(now)? else { break };
            let (at, ahead) = (self.at(now), self.ahead());
            bytes += 128 + outcome.json().len();
            let (ident, ended) = self.deliver(pos, at, outcome.clone())?;
            if let Some(op) = ident {
                count += 1;
                pass.must_commit = true;
                let (next, unopened) = of_failure(op.kind, &outcome, ahead);
                pass.entries.push(Entry::Done { pos, op, at, outcome, arrival, alone: false, next, unopened });
            }
            pass.ended = ended;
            pass.entries.extend(self.ops.lock().take_lines()?);
        }
        let mut state = self.ops.lock();
        pass.must_commit |= std::mem::take(&mut state.must_commit);
        pass.shows = state.take_shows();
        pass.commands = state.take_commands();
        pass.closed = state.take_closed();
        pass.lost = state.take_lost();
        drop(state);
        if pass.ended.is_some() {
            self.drop_body();
        }
        Ok(pass)
    }

    /// The earliest signal that somebody waits for and that means something to the wait.
    fn next_signal(&mut self) -> Option<(inbox::Found, Result<Outcome, String>)> {
        let state = self.ops.lock();
        loop {
            let found = self.inbox.first(&state.signals)?;
            let outcome = self.inbox.outcome(&found);
            // The end of a child is the engine's own: there the code is wrong, and the run is blocked.
            let fit =
                state.fits(found.pos).map_or(Ok(()), |fits| outcome.as_ref().map_err(Clone::clone).and_then(fits));
            let Err(problem) = fit else { return Some((found, outcome)) };
            self.inbox.pass_over(&found);
            self.unfit.push(Unfit { seq: found.seq, name: found.label, problem });
        }
    }

    /// The completion that became true first, of those that somebody waits for.
    fn next_completion(&mut self, now: Timestamp) -> Result<Option<(Pos, Outcome, Option<i64>)>, Interrupt> {
        let state = self.ops.lock();
        while let Some(entry) = self.completed.first_entry() {
            // Nobody waits any more for what a race has lost.
            if state.is_waiting(entry.key().1) {
                break;
            }
            entry.remove();
        }
        let work = self.completed.first_key_value().map(|(key, _)| *key);
        let timer = state.timers.first().copied().filter(|(due, _)| *due <= now);
        drop(state);
        let signal = self.next_signal();
        let first = [work, timer, signal.as_ref().map(|(found, _)| (found.at, found.pos))].into_iter().flatten().min();
        let Some(key) = first else { return Ok(None) };
        if work == Some(key) {
            let outcome = self.completed.remove(&key).unwrap_or_else(Outcome::null);
            return Ok(Some((key.1, outcome, None)));
        }
        match signal {
            Some((found, outcome)) if (found.at, found.pos) == key => {
                self.inbox.take(&found);
                let outcome = outcome.map_err(|problem| {
                    let op = Ident { name: found.label.as_str().to_owned().into(), ..frame_ident(OpKind::Signal) };
                    Interrupt::Undecodable { pos: found.pos, op, problem }
                })?;
                Ok(Some((found.pos, outcome, Some(found.seq))))
            }
            _ => Ok(Some((key.1, Outcome::null(), None))),
        }
    }

    /// Tells the function one thing and lets it go on until it is quiet.
    fn deliver(&mut self, pos: Pos, at: Timestamp, outcome: Outcome) -> Result<(Option<Ident>, Option<T>), Interrupt> {
        let mut state = self.ops.lock();
        let Some((waker, ident, unstarted)) = state.deliver(pos, outcome) else { return Ok((None, None)) };
        state.now = at;
        drop(state);
        drop(unstarted);
        let turn = Turn::of(self.ops.number());
        if let Some(waker) = waker {
            waker.wake();
        }
        drop(turn);
        Ok((Some(ident), self.poll_root()?))
    }

    fn poll_root(&mut self) -> Result<Option<T>, Interrupt> {
        let polled = self.poll_until_quiet();
        let interrupt = self.ops.lock().take_interrupt();
        match interrupt {
            // It is looked at before what the function says: it may have said it because of it.
            Some(interrupt) => {
                self.drop_body();
                Err(interrupt)
            }
            None => Ok(polled),
        }
    }

    fn poll_until_quiet(&mut self) -> Option<T> {
        let body = self.body.as_mut()?;
        let waker = Waker::from(Arc::clone(&self.root));
        let mut context = Context::from_waker(&waker);
        let (mut spins, mut rounds) = (0, 0);
        loop {
            self.root.take();
            let turn = Turn::of(self.ops.number());
            let polled = std::panic::catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(&mut context)));
            drop(turn);
            let mut state = self.ops.lock();
            if waker::is_accused() {
                state.interrupt(Interrupt::Misuse(Misuse::OtherRun));
            }
            if let Some(thread) = self.root.stranger() {
                state.interrupt(Interrupt::Misuse(Misuse::ForeignWake { thread }));
                return None;
            }
            match polled {
                Err(panic) => {
                    state.interrupt(Interrupt::Panicked { text: text_of(&*panic) });
                    return None;
                }
                Ok(Poll::Ready(value)) => return Some(value),
                Ok(Poll::Pending) => {}
            }
            if state.is_interrupted() {
                return None;
            }
            rounds += 1;
            spins = if state.take_touched() { 0 } else { spins + 1 };
            if spins > SPINS_MAX || rounds > ROUNDS_MAX {
                state.interrupt(Interrupt::Misuse(Misuse::Spins));
                return None;
            }
            if self.root.take() {
                continue;
            }
            if !state.waits_for_own() {
                state.interrupt(Interrupt::Misuse(Misuse::WaitsForNothing));
            }
            return None;
        }
    }

    /// Whether there is something for the next pass: work that is done and was not told, or lines that are not written.
    pub fn has_news(&self) -> bool {
        !self.completed.is_empty() || !self.lines.is_empty() || self.returned.is_some() || self.ops.has_commands()
    }

    /// What it waits for now.
    pub fn waits(&self) -> Waits {
        let state = self.ops.lock();
        Waits { working: state.working, due: state.timers.first().map(|(due, _)| *due) }
    }

    /// What it waits for, for people: place and name.
    pub fn waits_for(&self) -> Vec<(Pos, Ident)> {
        self.ops.lock().waits()
    }

    /// Drops the function; its destructors run, and what they build is nowhere.
    fn drop_body(&mut self) {
        if let Some(body) = self.body.take() {
            // A destructor that panics must not take the worker with it.
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| drop(body)));
        }
    }
}

impl<T> Drop for Live<T> {
    fn drop(&mut self) {
        self.drop_body();
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".into())
}
