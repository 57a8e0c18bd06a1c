//! The operations of a run that are open, shared between the function's futures and the engine that delivers to them.
//!
//! A lock is held for moments only, and never while foreign code runs: wakers and works are moved out before they are
//! woken or dropped.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::entry::{Entry, Ident, OpKind, Outcome, Pos};
use super::interrupt::{Disagreement, Interrupt, Mismatch, Misuse};
use super::record::Record;
use super::waker;
use crate::fingerprint::mix;
use crate::name::Label;
use crate::store::{Child, Parent, Showing};
use crate::time::Timestamp;

/// What a step is to do. The engine carries it and does not look inside.
pub type Work = Box<dyn Any + Send>;

/// What an operation asks for when it is first polled.
pub struct Request {
    /// Who it is.
    pub ident: Ident,
    /// What it waits for.
    pub wants: Wants,
    /// Where it stands in the code.
    pub place: Option<&'static Location<'static>>,
}

/// What an operation waits for.
pub enum Wants {
    /// That this work is done.
    Work {
        /// What to do.
        work: Work,
        /// Whether it is never begun twice: its beginning is then recorded first.
        at_most_once: bool,
    },
    /// An instant.
    Instant(Timestamp),
    /// The next signal of this name that fits. One that does not is left for another wait, or for other code.
    Signal {
        /// Its name.
        label: Label,
        /// Whether what it carries means anything to this wait, or why not.
        fits: Fits,
    },
    /// That a child ends, which is started first. It is started even if nobody waits for it any more by then, and is to be
    /// cancelled after that.
    Child {
        /// How to start it.
        work: Work,
        /// The arrival that tells of its end.
        label: Label,
        /// Whom to cancel.
        child: Child,
    },
}

/// Which operations a function has not come to: what it is told of one of them later follows from what it is told now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The place of the operation that is built next.
    pub next: Pos,
    /// Those below that are built, and that nobody has waited for yet.
    pub unopened: Vec<Pos>,
}

/// Operations that are built and not waited for, of which the line of a failure tells one by one.
const UNOPENED_MAX: usize = 100;

/// Whether an outcome means anything to who waits for it, or why not.
pub type Fits = fn(&Outcome) -> Result<(), String>;

/// Work to start, once what caused it is on disk.
pub struct Command {
    /// The operation.
    pub pos: Pos,
    /// Who it is.
    pub ident: Ident,
    /// What to do.
    pub work: Work,
    /// How often it has failed before, and when it is to be tried again.
    pub failed: Option<(u32, Timestamp)>,
    /// Whether it was begun before, may have been done, and must not be done again.
    pub is_lost: bool,
    /// Whether its beginning is recorded, so that it is begun now or never.
    pub at_most_once: bool,
}

/// A run's operations, as its `cx` and its futures see them. Cheap to clone.
#[derive(Clone)]
pub struct Ops {
    shared: Arc<Shared>,
}

struct Shared {
    number: u64,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) record: Record,
    next: Pos,
    /// Operations that are built and were never polled.
    unopened: BTreeSet<Pos>,
    open: BTreeMap<Pos, Slot>,
    /// Open waits, by what they wait for.
    pub(super) timers: BTreeSet<(Timestamp, Pos)>,
    pub(super) signals: HashMap<Label, BTreeSet<Pos>>,
    pub(super) working: usize,
    commands: BTreeMap<Pos, Command>,
    /// Lines that this delivery has caused, by place.
    opened: BTreeMap<Pos, Entry>,
    patches: Vec<String>,
    memo: HashMap<String, bool>,
    /// Since a patch came in, the code may have what the journal does not.
    is_patched: bool,
    /// Whether the journal is being replayed.
    pub(super) replays: bool,
    /// Whether a line was caused that must be on disk before any command of it starts.
    pub(super) must_commit: bool,
    /// How many lines the journal has, as the function sees it.
    pub(super) lines: usize,
    /// What the function shows to clients since the last pass.
    shows: Vec<Showing>,
    /// What the function asks its next chapter to begin with.
    renewal: Option<Outcome>,
    /// Whether that chapter goes on with the children of this one.
    keeps_children: bool,
    closed: Vec<Pos>,
    /// Children that nobody waits for any more.
    lost: Vec<Lost>,
    /// Children that were started and have not ended, by place.
    children: BTreeMap<Pos, Label>,
    pub(super) now: Timestamp,
    pub(super) began_at: Timestamp,
    draws: u64,
    seed: u64,
    /// Whether the function is over and a line is to say so.
    is_left: bool,
    interrupt: Option<Interrupt>,
    /// Whether an operation was built or polled since the last look.
    touched: bool,
}

struct Slot {
    ident: Ident,
    kind: SlotKind,
    ready: Option<Outcome>,
    waker: Option<Waker>,
    place: Option<&'static Location<'static>>,
}

enum SlotKind {
    Work,
    Timer(Timestamp),
    Signal(Label, Fits),
    Child(Label, Child),
}

/// A child that nobody waits for any more: it is to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The operation.
    pub pos: Pos,
    /// The arrival that tells of its end.
    pub label: Label,
    /// Whom to cancel.
    pub child: Child,
}

impl Ops {
    pub(super) fn new(record: Record, seed: u64, now: Timestamp) -> Self {
        let began_at = record.began.map_or(now, |(at, _)| at);
        let state = State {
            replays: record.has_lines(),
            lines: 1,
            record,
            next: Pos::FIRST,
            unopened: BTreeSet::new(),
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
            signals: HashMap::new(),
            working: 0,
            commands: BTreeMap::new(),
            opened: BTreeMap::new(),
            patches: Vec::new(),
            memo: HashMap::new(),
            is_patched: false,
            must_commit: false,
            shows: Vec::new(),
            renewal: None,
            keeps_children: false,
            closed: Vec::new(),
            lost: Vec::new(),
            children: BTreeMap::new(),
            now: began_at,
            began_at,
            draws: 0,
            seed,
            is_left: false,
            interrupt: None,
            touched: false,
        };
        Self { shared: Arc::new(Shared { number: waker::new_number(), state: Mutex::new(state) }) }
    }

    pub(super) fn number(&self) -> u64 {
        self.shared.number
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of the function never happens under this lock, and a broken state is found by the next check.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is this run's turn. If it is another's, both have misused an operation.
    fn is_on_turn(&self, state: &mut State) -> bool {
        match waker::current() {
            Some(current) if current == self.shared.number => true,
            Some(_) => {
                state.interrupt.get_or_insert(Interrupt::Misuse(Misuse::OtherRun));
                waker::accuse();
                false
            }
            None => false,
        }
    }

    // ---- for the function ---------------------------------------------------------------------

    /// Takes the next place. Where no operation can be built (in a destructor after the run has gone) it is nowhere.
    pub fn claim(&self) -> Pos {
        let mut state = self.lock();
        if !self.is_on_turn(&mut state) || state.interrupt.is_some() {
            return Pos::NOWHERE;
        }
        state.touched = true;
        let pos = state.next;
        state.next = Pos(pos.0 + 1);
        state.unopened.insert(pos);
        pos
    }

    /// Whether work is asked for that was not started.
    pub(super) fn has_commands(&self) -> bool {
        !self.lock().commands.is_empty()
    }

    /// Whether the outcome of a place is recorded, so that its input is not needed.
    pub fn is_recorded(&self, pos: Pos) -> bool {
        self.lock().record.is_done(pos)
    }

    /// Polls an operation. The request is taken at the first poll.
    pub fn poll(&self, pos: Pos, request: &mut Option<Request>, waker: &Waker) -> Poll<Outcome> {
        let mut state = self.lock();
        if !self.is_on_turn(&mut state) || state.interrupt.is_some() || pos == Pos::NOWHERE {
            return Poll::Pending;
        }
        state.touched |= !pos.is_reserved();
        if let Some(request) = request.take() {
            // On an interrupt nothing more is said: the whole pass is over.
            if let Err(interrupt) = state.open(pos, request) {
                state.interrupt = Some(interrupt);
                return Poll::Pending;
            }
        }
        let Some(slot) = state.open.get_mut(&pos) else { return Poll::Pending };
        if let Some(outcome) = slot.ready.take() {
            let slot = state.open.remove(&pos);
            drop(state);
            drop(slot);
            return Poll::Ready(outcome);
        }
        let replaced = match &slot.waker {
            Some(known) if known.will_wake(waker) => None,
            _ => slot.waker.replace(waker.clone()),
        };
        drop(state);
        drop(replaced);
        Poll::Pending
    }

    /// An operation is dropped: what it waits for is not wanted any more.
    pub fn close(&self, pos: Pos) {
        let mut state = self.lock();
        state.unopened.remove(&pos);
        let slot = state.close(pos);
        if let Some(Slot { ready: None, kind: SlotKind::Child(label, child), .. }) = &slot
            && !state.keeps_children
        {
            // What was opened is in the journal, so it is started whatever becomes of the wait: then replay sees the same.
            let lost = Lost { pos, label: label.clone(), child: *child };
            state.lost.push(lost);
            drop(state);
            drop(slot);
            return;
        }
        let command = state.commands.remove(&pos);
        if slot.as_ref().is_some_and(|slot| slot.ready.is_none() && matches!(slot.kind, SlotKind::Work)) {
            state.closed.push(pos);
        }
        drop(state);
        drop((slot, command));
    }

    /// Whether what the function shows now is news: of what the journal has, its clients were shown with the commit of that.
    pub fn shows_news(&self) -> bool {
        let mut state = self.lock();
        state.touched = true;
        self.is_on_turn(&mut state) && state.interrupt.is_none() && !state.replays
    }

    /// Shows something to clients, with the next commit.
    pub fn show(&self, showing: Showing) {
        if self.shows_news() {
            let mut state = self.lock();
            state.must_commit = true;
            showing.add_to(&mut state.shows);
        }
    }

    /// Asks for the next chapter.
    pub fn renew(&self, input: Outcome) {
        self.lock().renewal.get_or_insert(input);
    }

    /// Asks for the next chapter, which goes on with the children of this one: it asks for them again, under the same ids and
    /// arrivals.
    pub fn renew_with_children(&self, input: Outcome) {
        let mut state = self.lock();
        state.renewal.get_or_insert(input);
        state.keeps_children = true;
    }

    /// Whether an operation has its outcome, and the function was not polled for it yet.
    pub fn has_untold(&self) -> bool {
        self.lock().open.values().any(|slot| slot.ready.is_some())
    }

    /// What the next chapter is to begin with, if the function has asked for one.
    pub fn renewal(&self) -> Option<Outcome> {
        self.lock().renewal.clone()
    }

    /// How many lines the function has been told or has caused, the first one included: the same in every replay.
    pub fn history_len(&self) -> usize {
        self.lock().lines
    }

    /// The children that were started, and whose ends the function was not told: place and arrival.
    pub fn children(&self) -> Vec<(Pos, Label)> {
        let state = self.lock();
        if state.keeps_children {
            return Vec::new();
        }
        state.children.iter().map(|(pos, label)| (*pos, label.clone())).collect()
    }

    /// The instant at which the function was last told something.
    pub fn now(&self) -> Timestamp {
        self.lock().now
    }

    /// When the function was first entered.
    pub fn began_at(&self) -> Timestamp {
        self.lock().began_at
    }

    /// From when the longest time counts that it may take: from its beginning, or from its retry or fork.
    pub fn limited_from(&self) -> Timestamp {
        let state = self.lock();
        state.record.carried.as_ref().and_then(|carried| carried.since).unwrap_or(state.began_at)
    }

    /// The next 64 random bits: the same in every replay.
    pub fn random(&self) -> u64 {
        let mut state = self.lock();
        state.draws += 1;
        let carried = state.record.carried.as_ref().and_then(|carried| carried.seed_at(state.next));
        let (seed, next, draws) = (carried.unwrap_or(state.seed), u64::from(state.next.0), state.draws);
        mix(mix(seed, next), draws)
    }

    /// Says that the function is over, before anything is done behind it.
    pub fn leave(&self) {
        let mut state = self.lock();
        state.is_left |= !std::mem::replace(&mut state.record.has_left, true);
    }

    /// Whether a patch is in: it is for runs that come to it for the first time, and not for those that went by before
    /// it was there.
    pub fn patched(&self, id: &str) -> bool {
        let mut state = self.lock();
        state.touched = true;
        if let Some(known) = state.memo.get(id) {
            return *known;
        }
        let is_recorded = state.record.patched.contains(id);
        let is_in = is_recorded || !state.record.is_ahead_of(state.next);
        if is_in && !is_recorded {
            state.patches.push(id.to_owned());
            state.is_patched = true;
        }
        state.memo.insert(id.to_owned(), is_in);
        is_in
    }

    /// Stops the run: what it says is shown to people.
    pub fn interrupt(&self, interrupt: Interrupt) {
        self.lock().interrupt.get_or_insert(interrupt);
    }

    /// An operation's outcome means nothing to the code.
    pub fn undecodable(&self, pos: Pos, op: Ident, problem: String) {
        self.interrupt(Interrupt::Undecodable { pos, op, problem });
    }
}

impl State {
    fn open(&mut self, pos: Pos, request: Request) -> Result<(), Interrupt> {
        let Request { ident, wants, place } = request;
        self.unopened.remove(&pos);
        let is_known = self.record.reach(pos, &ident).map_err(|mut mismatch| {
            mismatch.place = place;
            Interrupt::Mismatch(mismatch)
        })?;
        let is_done = self.record.is_done(pos);
        let mut due_of_entry = None;
        let (kind, is_lasting) = match wants {
            Wants::Work { work, at_most_once } => {
                self.working += 1;
                if !is_done {
                    let failed = self.record.failures_of(pos);
                    let is_lost = at_most_once && is_known;
                    self.commands
                        .insert(pos, Command { pos, ident: ident.clone(), work, failed, is_lost, at_most_once });
                }
                self.must_commit |= at_most_once && !is_known;
                (SlotKind::Work, at_most_once)
            }
            Wants::Instant(due) => {
                self.timers.insert((due, pos));
                due_of_entry = Some(due);
                (SlotKind::Timer(due), true)
            }
            Wants::Signal { label, fits } => {
                self.signals.entry(label.clone()).or_default().insert(pos);
                (SlotKind::Signal(label, fits), true)
            }
            Wants::Child { work, label, child } => {
                if !is_done && !self.record.is_started(pos) {
                    self.commands.insert(
                        pos,
                        Command { pos, ident: ident.clone(), work, failed: None, is_lost: false, at_most_once: false },
                    );
                }
                self.must_commit |= !is_known;
                self.signals.entry(label.clone()).or_default().insert(pos);
                self.children.insert(pos, label.clone());
                (SlotKind::Child(label, child), true)
            }
        };
        self.lines += usize::from(is_lasting && !pos.is_reserved());
        if is_lasting && !is_known && !pos.is_reserved() {
            self.opened.insert(pos, Entry::Opened { pos, op: ident.clone(), due: due_of_entry });
        }
        self.open.insert(pos, Slot { ident, kind, ready: None, waker: None, place });
        Ok(())
    }

    fn close(&mut self, pos: Pos) -> Option<Slot> {
        let slot = self.open.remove(&pos)?;
        if slot.ready.is_none() {
            self.stop_waiting(pos, &slot.kind);
        }
        Some(slot)
    }

    fn stop_waiting(&mut self, pos: Pos, kind: &SlotKind) {
        match kind {
            SlotKind::Work => self.working -= 1,
            SlotKind::Timer(due) => {
                self.timers.remove(&(*due, pos));
            }
            SlotKind::Signal(label, _) | SlotKind::Child(label, _) => {
                if let Some(waits) = self.signals.get_mut(label) {
                    waits.remove(&pos);
                    if waits.is_empty() {
                        self.signals.remove(label);
                    }
                }
            }
        }
    }

    // ---- for the engine -----------------------------------------------------------------------

    /// Gives an open operation its outcome; answers whom to wake, who it is, and the work that need not be started any
    /// more. `None` if nobody waits for it.
    pub(super) fn deliver(&mut self, pos: Pos, outcome: Outcome) -> Option<(Option<Waker>, Ident, Option<Command>)> {
        let slot = self.open.get_mut(&pos).filter(|slot| slot.ready.is_none())?;
        slot.ready = Some(outcome);
        self.lines += 1;
        let (waker, ident) = (slot.waker.take(), slot.ident.clone());
        let kind = std::mem::replace(&mut slot.kind, SlotKind::Work);
        self.stop_waiting(pos, &kind);
        match &kind {
            SlotKind::Child(..) => {
                self.children.remove(&pos);
            }
            // The end of a child that was waited for elsewhere before.
            SlotKind::Signal(label, _) if label.as_str().starts_with(Parent::PREFIX) => {
                self.children.retain(|_, awaited| awaited != label);
            }
            _ => {}
        }
        Some((waker, ident, self.commands.remove(&pos)))
    }

    /// What the function has not come to.
    pub(super) fn ahead(&self) -> Ahead {
        // Of more than these nobody is told one by one: the first one stands for all that follow it.
        match self.unopened.first() {
            Some(first) if self.unopened.len() > UNOPENED_MAX => Ahead { next: *first, unopened: Vec::new() },
            _ => Ahead { next: self.next, unopened: self.unopened.iter().copied().collect() },
        }
    }

    pub(super) fn is_waiting(&self, pos: Pos) -> bool {
        self.open.get(&pos).is_some_and(|slot| slot.ready.is_none())
    }

    /// What tells whether a signal fits the wait at a place; `None` if that waits for something else.
    pub(super) fn fits(&self, pos: Pos) -> Option<Fits> {
        match self.open.get(&pos).map(|slot| &slot.kind) {
            Some(SlotKind::Signal(_, fits)) => Some(*fits),
            _ => None,
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_some()
    }

    pub(super) fn take_interrupt(&mut self) -> Option<Interrupt> {
        self.interrupt.take()
    }

    pub(super) fn interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt.get_or_insert(interrupt);
    }

    /// Whether an operation was touched since the last look.
    pub(super) fn take_touched(&mut self) -> bool {
        std::mem::take(&mut self.touched)
    }

    /// Whether the function waits for something of its own.
    pub(super) fn waits_for_own(&self) -> bool {
        self.open.keys().any(|pos| !pos.is_reserved())
    }

    /// The lines that the last delivery has caused. While the journal is replayed there are none, or it does not fit.
    pub(super) fn take_lines(&mut self) -> Result<Vec<Entry>, Interrupt> {
        if self.replays
            && !self.is_patched
            && let Some((pos, Entry::Opened { op, .. })) = self.opened.first_key_value()
        {
            let place = self.open.get(pos).and_then(|slot| slot.place);
            let how = Disagreement::NotRecorded;
            let mismatch = Mismatch { pos: *pos, how, journal: None, code: Some(op.clone()), place };
            return Err(Interrupt::Mismatch(Box::new(mismatch)));
        }
        let at = self.now;
        let left = std::mem::take(&mut self.is_left).then_some(Entry::Left { at });
        let patches = self.patches.drain(..).map(|id| Entry::Patched { id });
        Ok(patches.chain(left).chain(std::mem::take(&mut self.opened).into_values()).collect())
    }

    /// The function waits, where the journal has its end.
    pub(super) fn goes_on(&self) -> Box<Mismatch> {
        let own = self.open.iter().find(|(pos, _)| !pos.is_reserved());
        let (pos, code) = own.map_or((self.next, None), |(pos, slot)| (*pos, Some(slot)));
        let (place, code) = (code.and_then(|slot| slot.place), code.map(|slot| slot.ident.clone()));
        Box::new(Mismatch { pos, how: Disagreement::GoesOn, journal: None, code, place })
    }

    pub(super) fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands).into_values().collect()
    }

    pub(super) fn take_closed(&mut self) -> Vec<Pos> {
        std::mem::take(&mut self.closed)
    }

    pub(super) fn take_shows(&mut self) -> Vec<Showing> {
        std::mem::take(&mut self.shows)
    }

    /// How many bytes it shows since the last pass.
    pub(super) fn shown_bytes(&self) -> usize {
        self.shows.iter().map(Showing::bytes).sum()
    }

    pub(super) fn take_lost(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.lost)
    }

    /// How the operation kind of an open slot reads, for people.
    pub(super) fn waits(&self) -> Vec<(Pos, Ident)> {
        let own = self.open.iter().filter(|(pos, slot)| !pos.is_reserved() && slot.ready.is_none());
        own.map(|(pos, slot)| (*pos, slot.ident.clone())).collect()
    }
}

/// The identity of an operation of the frame.
pub fn frame_ident(kind: OpKind) -> Ident {
    Ident { kind, name: "".into(), version: 0, input: 0 }
}
