//! The world of a run: virtual time, the wire between workers and the store, and what goes wrong on it.

mod chaos;
mod ending;
mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use towpath_conformance::Chance;
use towpath_core::dispatch::{CancelWhy, DispatchConfig, Dispatcher, Effect, Event, Failure, PeerNews, QueueSlots};
use towpath_core::store::{Beat, HostId, Rescue, Served, Settled, Turn, WorkerIdentity};
use towpath_core::{
    Fence, GraphId, Incarnation, JobId, Kind, ManualClock, MemoryStore, Queue, Report, RunId, Store, StoreError,
    StoreErrorKind, Timestamp,
};

use writing::Writing;

use super::script::{self, Behaviour, Heeds, up_to};
use super::watch::Watch;

/// How a run is spoilt, to see an oracle turn red.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    None,
    /// A handler's end is never told.
    LoseAnEnd,
    /// A worker is told that another one is gone which lives.
    FalseNews,
    /// The lease of a worker that lives is said to be over for a rescue.
    RescueTheLiving,
    SpoilACounter,
    TellASuccessTwice,
    HideAFailure,
    /// One worker is not told to leave.
    KeepAWorker,
    /// One worker hears nothing any more, not even the time.
    StopAClock,
}

/// What happened in a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    jobs: u64,
    successes: u64,
    failures: u64,
    crashes: u64,
    kills: u64,
    stalls: u64,
    outages: u64,
    lost_questions: u64,
    lost_answers: u64,
    late_questions: u64,
    cancels: u64,
    twice_at_once: u64,
    written: u64,
    signals: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.jobs += other.jobs;
        self.successes += other.successes;
        self.failures += other.failures;
        self.crashes += other.crashes;
        self.kills += other.kills;
        self.stalls += other.stalls;
        self.outages += other.outages;
        self.lost_questions += other.lost_questions;
        self.lost_answers += other.lost_answers;
        self.late_questions += other.late_questions;
        self.cancels += other.cancels;
        self.twice_at_once += other.twice_at_once;
        self.written += other.written;
        self.signals += other.signals;
    }

    /// Whether everything that can go wrong has.
    pub(super) fn proves_something(&self) -> bool {
        let counts = [
            self.successes / 1_000,
            self.failures / 100,
            self.crashes / 50,
            self.kills / 50,
            self.stalls / 50,
            self.outages / 50,
            self.lost_questions / 100,
            self.lost_answers / 100,
            self.late_questions / 50,
            self.cancels / 50,
            self.twice_at_once / 5,
            self.written / 1_000,
            self.signals / 50,
        ];
        counts.iter().all(|count| *count > 0)
    }
}

struct Worker {
    dispatcher: Dispatcher,
    id: Incarnation,
    started: Duration,
    build: u64,
    is_up: bool,
    hears: bool,
    /// Until then its beats do not get through.
    stalled_until: Duration,
    handlers: BTreeMap<Fence, Handler>,
    /// Only the newest look counts.
    looks: u64,
}

struct Handler {
    id: JobId,
    since: Timestamp,
    report: Report,
    heeds: Heeds,
    /// Only the newest plan to end counts.
    plan: u64,
    run: Option<Writing>,
}

enum What {
    Look { worker: usize, look: u64 },
    Asks { worker: usize, ask: Ask, answer: Wire },
    Hears { worker: usize, event: Event },
    Ends { worker: usize, fence: Fence, plan: u64 },
    Chaos,
}

enum Ask {
    Turn(Box<Turn>),
    Rescue(Box<Rescue>),
    Beat(Box<Beat>),
    Peers,
}

/// What becomes of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Whole,
    Lost,
    /// Nobody waits for it any more.
    Dropped,
}

pub(super) struct World {
    chance: Chance,
    sabotage: Sabotage,
    is_spoilt: bool,
    clock: ManualClock,
    store: MemoryStore,
    now: Duration,
    due: BTreeMap<(Duration, u64), What>,
    drawn: u64,
    workers: Vec<Worker>,
    watch: Watch,
    tally: Tally,
    outage_until: Duration,
    jobs: BTreeSet<JobId>,
    graphs: Vec<GraphId>,
    runs: BTreeMap<JobId, RunId>,
}

type Verdict = Result<(), String>;

const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
/// So long things go wrong.
const CHAOS: Duration = Duration::from_secs(60);
/// By then everything must have ended.
const END_BY: Duration = Duration::from_secs(1_800);
/// More events at one instant than this: the workers go round in circles.
const AT_ONCE_MAX: u32 = 20_000;

fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the store in memory waits for nothing"),
    }
}

impl World {
    pub(super) fn new(seed: u64, sabotage: Sabotage) -> Self {
        let clock = ManualClock::at(START);
        Self {
            chance: Chance::new(seed),
            sabotage,
            is_spoilt: false,
            store: MemoryStore::new(clock.clone()),
            clock,
            now: Duration::ZERO,
            due: BTreeMap::new(),
            drawn: 0,
            workers: Vec::new(),
            watch: Watch::default(),
            tally: Tally::default(),
            outage_until: Duration::ZERO,
            jobs: BTreeSet::new(),
            graphs: Vec::new(),
            runs: BTreeMap::new(),
        }
    }

    /// One run from its beginning to an empty store.
    pub(super) fn run(mut self) -> Result<Tally, String> {
        for _ in 0..2 + self.chance.below(3) {
            self.join();
        }
        self.at(Duration::ZERO, What::Chaos);
        self.go_on(CHAOS, |_| false)?;
        self.outage_until = Duration::ZERO;
        self.join();
        self.go_on(CHAOS + Duration::from_secs(200), |world| world.is_over())?;
        // Another build tries what the last one could not read.
        self.join();
        self.go_on(END_BY, |world| world.is_over())?;
        self.everything_has_ended()?;
        // Who was killed last is still to be found by the living, and handlers that have lost their jobs come to an end:
        // a worker with one that does not says no goodbye.
        self.go_on(self.now + Duration::from_secs(120), |_| false)?;
        self.everybody_leaves()?;
        self.nothing_is_left()?;
        self.tally.crashes = self.watch.crashes;
        Ok(self.tally)
    }

    fn at(&mut self, after: Duration, what: What) {
        self.drawn += 1;
        self.due.insert((self.now + after, self.drawn), what);
    }

    /// Lets things happen up to a moment, or until it is so.
    fn go_on(&mut self, until: Duration, is_so: impl Fn(&Self) -> bool) -> Verdict {
        let (mut at_once, mut checked) = (0, self.now);
        while let Some(entry) = self.due.first_entry() {
            let (at, _) = *entry.key();
            if at > until {
                break;
            }
            let what = entry.remove();
            at_once = if at > self.now { 0 } else { at_once + 1 };
            if at_once > AT_ONCE_MAX {
                return Err(format!("the workers go round in circles at {at:?}"));
            }
            self.now = at;
            self.clock.set(self.instant());
            self.happen(what)?;
            if self.now > checked + Duration::from_secs(5) {
                checked = self.now;
                if is_so(self) {
                    return Ok(());
                }
            }
        }
        self.now = until;
        self.clock.set(self.instant());
        Ok(())
    }

    fn instant(&self) -> Timestamp {
        START + self.now
    }

    fn is_calm(&self) -> bool {
        self.now >= CHAOS
    }

    fn happen(&mut self, what: What) -> Verdict {
        match what {
            What::Look { worker, look } => {
                if self.workers[worker].looks == look {
                    self.tell(worker, Event::Timer)?;
                }
                Ok(())
            }
            What::Hears { worker, event } => self.tell(worker, event),
            What::Ends { worker, fence, plan } => self.handler_ends(worker, fence, plan),
            What::Asks { worker, ask, answer } => self.ask(worker, ask, answer),
            What::Chaos => self.chaos(),
        }
    }

    // ---- workers ------------------------------------------------------------------------------

    fn join(&mut self) {
        let id = Incarnation::from_bytes(script::id(&mut self.chance));
        let build = self.workers.len() as u64 + 1;
        let identity = WorkerIdentity {
            name: format!("w{build}"),
            host: HostId::default(),
            build,
            queues: vec![],
            kinds: Default::default(),
        };
        let serves: Arc<[Served]> = vec![Served::up_to(Kind::from_stored("echo"), 1)].into();
        let queues = vec![QueueSlots { queue: Queue::default(), slots: 1 + self.chance.below(4) as u16, serves }];
        self.workers.push(Worker {
            dispatcher: Dispatcher::new(DispatchConfig::new(id, identity, queues)),
            id,
            started: self.now,
            build,
            is_up: true,
            hears: true,
            stalled_until: Duration::ZERO,
            handlers: BTreeMap::new(),
            looks: 0,
        });
        let worker = self.workers.len() - 1;
        self.at(Duration::ZERO, What::Hears { worker, event: Event::Timer });
    }

    fn tell(&mut self, worker: usize, event: Event) -> Verdict {
        let it = &mut self.workers[worker];
        if !it.is_up || !it.hears {
            return Ok(());
        }
        let local = self.now - it.started;
        let effects = it.dispatcher.advance(event, local);
        for effect in effects {
            self.carry_out(worker, effect)?;
        }
        let it = &mut self.workers[worker];
        if it.is_up {
            it.looks += 1;
            let wake = it.dispatcher.next_wake().saturating_sub(local).min(Duration::from_secs(3_600));
            let look = it.looks;
            self.at(wake, What::Look { worker, look });
        }
        Ok(())
    }

    fn carry_out(&mut self, worker: usize, effect: Effect) -> Verdict {
        match effect {
            Effect::Turn(turn) => self.send(worker, Ask::Turn(turn)),
            Effect::Rescue(ask) => self.send(worker, Ask::Rescue(ask)),
            Effect::Beat(beat) => self.send(worker, Ask::Beat(beat)),
            Effect::LookForPeers => self.send(worker, Ask::Peers),
            Effect::Prune => drop(at_once(self.store.prune(100)).map_err(|error| error.to_string())?),
            Effect::Start(job) => {
                let run = job.run.map(|run| run.id);
                return self.handler_begins(worker, job.head.fence, job.head.id, run);
            }
            Effect::Cancel { fence, why } => self.interrupt(worker, fence, Some(why)),
            Effect::Abort { fence } => self.interrupt(worker, fence, None),
            Effect::Committed { fence, settled } => return self.committed(worker, fence, settled),
            Effect::Stuck { .. } | Effect::Refused { .. } => {}
            Effect::Gone => {
                let it = &mut self.workers[worker];
                it.is_up = false;
                // One that left in a hurry has left its jobs to its lease.
                self.watch.excused.insert(it.id);
                it.handlers.clear();
            }
        }
        Ok(())
    }

    fn handler_begins(&mut self, worker: usize, fence: Fence, id: JobId, run: Option<RunId>) -> Verdict {
        let since = self.instant();
        for other in self.workers.iter().filter(|other| other.is_up) {
            // A run that waits for the answer to its park or its end does nothing any more.
            let is_at_work = |handler: &Handler| handler.run.as_ref().is_none_or(|run| !run.leaves);
            let same = other.handlers.iter().filter(|(_, handler)| handler.id == id && is_at_work(handler));
            for (fence, handler) in same {
                self.tally.twice_at_once += 1;
                self.watch.begins(id, *fence, handler.since, since)?;
            }
        }
        let build = self.workers[worker].build;
        let is_calm = self.is_calm();
        let Behaviour { report, takes, heeds } = script::behaviour(&mut self.chance, build, is_calm);
        let plan = self.drawn;
        let run = run.map(|id| {
            let (left, park) = script::run(&mut self.chance);
            let read = if self.chance.percent(70) { self.arrived(&id) } else { 0 };
            Writing { id, left, park, read, leaves: false }
        });
        self.workers[worker].handlers.insert(fence, Handler { id, since, report, heeds, plan, run });
        if self.spoils(Sabotage::LoseAnEnd) {
            return Ok(());
        }
        self.at(takes, What::Ends { worker, fence, plan });
        Ok(())
    }

    /// A handler is told to stop, or (without a why) stopped by force.
    fn interrupt(&mut self, worker: usize, fence: Fence, why: Option<CancelWhy>) {
        let wait = match why {
            Some(_) => up_to(&mut self.chance, 500),
            None => up_to(&mut self.chance, 30_000),
        };
        let plan = self.drawn;
        let Some(handler) = self.workers[worker].handlers.get_mut(&fence) else { return };
        let stops = match (&why, handler.heeds) {
            (Some(_), Heeds::Cancel) | (None, _) => true,
            (Some(_), Heeds::Abort | Heeds::Nothing) => false,
        };
        if !stops {
            return;
        }
        let wait = if why.is_none() && handler.heeds != Heeds::Nothing { Duration::ZERO } else { wait };
        handler.report = Report::Stopped;
        handler.plan = plan;
        self.at(wait, What::Ends { worker, fence, plan });
    }

    fn handler_ends(&mut self, worker: usize, fence: Fence, plan: u64) -> Verdict {
        let it = &mut self.workers[worker];
        if it.handlers.get(&fence).is_none_or(|handler| handler.plan != plan) {
            return Ok(());
        }
        if let Some(handler) = it.handlers.get_mut(&fence)
            && let Some(run) = &mut handler.run
            && handler.report != Report::Stopped
        {
            let commit = run.write(&handler.report, self.drawn);
            return self.tell(worker, Event::Commit { fence, commit });
        }
        let Some(Handler { report, .. }) = it.handlers.remove(&fence) else { return Ok(()) };
        self.tell(worker, Event::Finished { fence, report })
    }

    /// A run hears what became of what it wrote. One that was stopped meanwhile does not listen.
    fn committed(&mut self, worker: usize, fence: Fence, settled: Settled) -> Verdict {
        let wait = up_to(&mut self.chance, 60);
        let plan = self.drawn;
        let Some(handler) = self.workers[worker].handlers.get_mut(&fence) else { return Ok(()) };
        let Some(run) = &mut handler.run else { return Ok(()) };
        let goes_on = match settled {
            Settled::Done => !run.leaves,
            Settled::Unread => true,
            _ => false,
        };
        if settled == Settled::Done {
            self.tally.written += 1;
        }
        if !goes_on {
            self.workers[worker].handlers.remove(&fence);
            return self.tell(worker, Event::Finished { fence, report: Report::Stopped });
        }
        let id = run.id.clone();
        if handler.report != Report::Stopped {
            handler.plan = plan;
            self.at(wait, What::Ends { worker, fence, plan });
        }
        let read = self.arrived(&id);
        if let Some(run) = self.workers[worker].handlers.get_mut(&fence).and_then(|handler| handler.run.as_mut()) {
            run.read = read;
        }
        Ok(())
    }

    /// How many signals a run has been sent.
    fn arrived(&self, run: &RunId) -> u32 {
        at_once(self.store.inbox(run.clone(), 0, 1_000)).map_or(0, |lines| lines.len() as u32)
    }

    // ---- the wire -----------------------------------------------------------------------------

    fn send(&mut self, worker: usize, ask: Ask) {
        let way = up_to(&mut self.chance, 40);
        let is_stalled = self.now < self.workers[worker].stalled_until;
        let is_beat = matches!(ask, Ask::Beat(_));
        let roll = if self.is_calm() { 99 } else { self.chance.below(100) };
        let patience = Duration::from_secs(1) + up_to(&mut self.chance, 2_000);
        match roll {
            // Beats are lost only where that is what a worker suffers from, so that nobody's lease is over by accident.
            _ if is_beat && is_stalled => self.fail(worker, &ask, Failure::Other, patience),
            0..4 if !is_beat => {
                self.tally.lost_questions += 1;
                self.fail(worker, &ask, Failure::Other, patience);
            }
            4..7 => {
                self.tally.lost_answers += 1;
                self.at(way, What::Asks { worker, ask, answer: Wire::Lost });
            }
            7..9 if !is_beat => {
                self.tally.late_questions += 1;
                self.fail(worker, &ask, Failure::Other, patience);
                let late = patience + up_to(&mut self.chance, 3_000);
                self.at(late, What::Asks { worker, ask, answer: Wire::Dropped });
            }
            _ => self.at(way, What::Asks { worker, ask, answer: Wire::Whole }),
        }
    }

    fn fail(&mut self, worker: usize, ask: &Ask, failure: Failure, after: Duration) {
        let event = match ask {
            Ask::Turn(_) => Event::Turn(Err(failure)),
            Ask::Rescue(_) => Event::Rescued(Err(failure)),
            Ask::Beat(_) => Event::Beat(Err(failure)),
            Ask::Peers => return,
        };
        self.at(after, What::Hears { worker, event });
    }

    /// A question has come to the store.
    fn ask(&mut self, worker: usize, ask: Ask, answer: Wire) -> Verdict {
        let patience = up_to(&mut self.chance, 2_000);
        if self.now < self.outage_until {
            if answer != Wire::Dropped {
                self.fail(worker, &ask, Failure::Other, patience);
            }
            return Ok(());
        }
        let event = match &ask {
            Ask::Turn(turn) => Event::Turn(self.turn(turn)?),
            Ask::Rescue(ask) => Event::Rescued(self.rescue(ask)?),
            Ask::Beat(beat) => {
                let reply = at_once(self.store.extend(Beat::clone(beat))).map_err(|error| error.to_string())?;
                self.watch.beaten(beat, reply.now);
                Event::Beat(Ok(reply))
            }
            Ask::Peers => Event::Peers(self.peers(worker)?),
        };
        match answer {
            Wire::Whole => {
                let way = up_to(&mut self.chance, 40);
                self.at(way, What::Hears { worker, event });
            }
            Wire::Lost => self.fail(worker, &ask, Failure::Other, patience),
            Wire::Dropped => {}
        }
        Ok(())
    }

    fn turn(&mut self, turn: &Turn) -> Result<Result<Box<towpath_core::store::TurnReply>, Failure>, String> {
        let reply = match at_once(self.store.turn(turn.clone())) {
            Ok(reply) => reply,
            Err(error) => return failed(&error).map(Err),
        };
        self.watch.turned(turn, &reply)?;
        if let Some(id) = self.watch.any_success().filter(|_| self.spoils(Sabotage::TellASuccessTwice)) {
            self.watch.tell_twice(id)?;
        }
        Ok(Ok(Box::new(reply)))
    }

    fn rescue(&mut self, ask: &Rescue) -> Result<Result<towpath_core::store::RescueReply, Failure>, String> {
        let reply = match at_once(self.store.rescue(ask.clone())) {
            Ok(reply) => reply,
            Err(error) => return failed(&error).map(Err),
        };
        if self.sabotage != Sabotage::FalseNews {
            self.watch.rescued(ask, &reply)?;
        } else {
            // This oracle would see it first.
            let _ = self.watch.rescued(ask, &reply);
        }
        Ok(Ok(reply))
    }

    fn peers(&mut self, worker: usize) -> Result<PeerNews, String> {
        let now = self.instant();
        let me = self.workers[worker].id;
        let peers = at_once(self.store.peers()).map_err(|error| error.to_string())?;
        let mut news = PeerNews::default();
        for peer in peers.iter().filter(|peer| peer.worker != me) {
            news.expired |= peer.lease_until <= now;
        }
        let lies = matches!(self.sabotage, Sabotage::FalseNews | Sabotage::RescueTheLiving);
        let others = self.workers.iter().filter(|other| other.is_up && other.id != me && !other.handlers.is_empty());
        if lies && let Some(other) = others.map(|other| other.id).next() {
            news.gone.push(other);
        }
        Ok(news)
    }

    /// Whether it is this run's sabotage, and its first time.
    fn spoils(&mut self, sabotage: Sabotage) -> bool {
        let spoils = self.sabotage == sabotage && !self.is_spoilt;
        self.is_spoilt |= spoils;
        spoils
    }
}

/// What a store may refuse a worker.
fn failed(error: &StoreError) -> Result<Failure, String> {
    match error.kind {
        StoreErrorKind::UnknownWorker => Ok(Failure::UnknownWorker),
        StoreErrorKind::StaleTurn => Ok(Failure::StaleTurn),
        _ => Err(format!("the store refuses a worker: {error}")),
    }
}
