//! One verb's view of the transaction it runs in: statements, the instant, the sequence, lanes, stops
//! and hints.

use std::collections::{BTreeSet, HashMap};

use towpath_core::store::Hint;
use towpath_core::{Cause, Incarnation, NewJob, Queue, Standing, StopReason, Timestamp};

use crate::care::Care;
use crate::db::Db;
use crate::error::Fault;
use crate::freed::Freed;
use crate::lane::{Lane, Lanes};
use crate::queries::Query;
use crate::rows::{self, Node};

/// What a verb works with.
pub(crate) struct Tx<'t, 'c> {
    /// The writer's statements.
    pub(crate) db: &'t mut Db<'c>,
    /// The store's clock, read once for this verb.
    pub(crate) now: Timestamp,
    pub(crate) care: Care,
    pub(crate) freed: Freed,
    pub(crate) idle: &'t mut IdleTurns,
    lanes: &'t mut Lanes,
    sequence: &'t mut Sequence,
    rings: &'t mut Rings,
    /// Whether any graph is held back, if that is known.
    stopped: Option<bool>,
    stops: HashMap<i64, Option<StopReason>>,
}

/// What a store keeps in memory from one transaction to the next.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) lanes: Lanes,
    pub(crate) idle: IdleTurns,
}

/// The numbers of turns that did nothing, by worker: they are not written, so that an idle worker costs
/// no disk. When the process dies with them, the same number may be used again.
#[derive(Default)]
pub(crate) struct IdleTurns {
    numbers: HashMap<i64, u64>,
}

/// Workers to remember; a leaver that another process has seen off is never taken out.
const IDLE_MAX: usize = 4_096;

impl IdleTurns {
    /// The worker's last number, given what is written of it.
    pub(crate) fn last(&self, worker: i64, written: u64) -> u64 {
        self.numbers.get(&worker).copied().unwrap_or(0).max(written)
    }

    pub(crate) fn remember(&mut self, worker: i64, number: u64) {
        if self.numbers.len() >= IDLE_MAX {
            self.numbers.clear();
        }
        self.numbers.insert(worker, number);
    }

    pub(crate) fn forget(&mut self, worker: i64) {
        self.numbers.remove(&worker);
    }
}

/// The sequence of keys and arrivals, read when it is first drawn from and written before the commit.
#[derive(Default)]
pub(crate) struct Sequence {
    next: Option<i64>,
}

/// Hints to be rung after the commit, each once.
#[derive(Default)]
pub(crate) struct Rings {
    /// Whether anybody listens; if not, nothing is kept.
    pub(crate) heard: bool,
    /// Queues for which a row went into the head, and the worker whose turn then claimed from it.
    pub(crate) queues: BTreeSet<(Queue, Option<Incarnation>)>,
    /// The worker whose turn this is, if it claims.
    pub(crate) claimed_by: Option<Incarnation>,
    pub(crate) ends: Vec<Hint>,
    pub(crate) cancel: bool,
    pub(crate) anything: bool,
}

impl<'t, 'c> Tx<'t, 'c> {
    pub(crate) fn new(
        db: &'t mut Db<'c>,
        now: Timestamp,
        memory: &'t mut Memory,
        sequence: &'t mut Sequence,
        rings: &'t mut Rings,
    ) -> Self {
        let Memory { lanes, idle } = memory;
        Self {
            db,
            now,
            care: Care::None,
            freed: Freed::default(),
            idle,
            lanes,
            sequence,
            rings,
            stopped: None,
            stops: HashMap::new(),
        }
    }

    /// The present instant, in microseconds.
    pub(crate) fn now_us(&self) -> i64 {
        self.now.as_micros()
    }

    /// Draws the next number.
    pub(crate) fn draw(&mut self) -> Result<i64, Fault> {
        let next = match self.sequence.next {
            Some(next) => next,
            None => self.db.one(Query::SequenceRead, [], |row| Ok(row.get(0)?))?,
        };
        self.sequence.next = Some(next + 1);
        Ok(next)
    }

    /// The lane of a job, made when it is the first there.
    pub(crate) fn lane_of(&mut self, job: &NewJob) -> Result<i64, Fault> {
        self.lanes.intern(self.db, Lane::of(job))
    }

    /// What a lane stands for.
    pub(crate) fn lane(&mut self, number: i64) -> Result<&Lane, Fault> {
        self.lanes.name(self.db, number)
    }

    /// What holds a graph back, as it was when this verb first asked.
    pub(crate) fn stop(&mut self, graph: i64) -> Result<Option<StopReason>, Fault> {
        let stopped = match self.stopped {
            Some(stopped) => stopped,
            None => *self.stopped.insert(self.db.one(Query::StopAny, [], |row| Ok(row.get(0)?))?),
        };
        if !stopped {
            return Ok(None);
        }
        if let Some(stop) = self.stops.get(&graph) {
            return Ok(*stop);
        }
        let stop = self.db.maybe(Query::StopRead, [graph], |row| rows::stop_reason(row.get(0)?))?;
        self.stops.insert(graph, stop);
        Ok(stop)
    }

    /// Whether an undecided node came because its graph is stopped: one that fails fast says more of what waits for a failed node.
    pub(crate) fn is_stopped(&mut self, node: &Node) -> Result<bool, Fault> {
        Ok(match self.stop(node.graph)? {
            Some(StopReason::Cancel) => true,
            Some(stop @ StopReason::Fail) => node.role.is_held_by(stop) && node.counters.standing() == Standing::Ready,
            _ => false,
        })
    }

    /// Why a job that runs is to stop, if its graph asks for it. An undo goes on, and a handler of the failure that stopped it.
    pub(crate) fn cancelled_by(&mut self, job: i64, graph: Option<i64>) -> Result<Option<Cause>, Fault> {
        let Some(graph) = graph else { return Ok(None) };
        match self.stop(graph)? {
            Some(stop @ (StopReason::Cancel | StopReason::Fail)) => {
                let node = self.db.one(Query::NodeRead, [job], rows::node)?;
                Ok(node.role.is_held_by(stop).then_some(Cause::GraphStopped { stop }))
            }
            _ => Ok(None),
        }
    }

    /// Forgets what holds a graph back, because this verb changes it.
    pub(crate) fn forget_stop(&mut self, graph: i64) {
        self.stopped = None;
        self.stops.remove(&graph);
    }

    /// Says that a job of this lane became ready, or will.
    pub(crate) fn ring_lane(&mut self, lane: i64) -> Result<(), Fault> {
        if self.rings.heard {
            let queue = self.lanes.name(self.db, lane)?.queue.clone();
            self.rings.queues.insert((queue, None));
        }
        Ok(())
    }

    /// Says that there may be jobs to claim in a queue.
    pub(crate) fn ring_queue(&mut self, queue: &Queue) {
        if self.rings.heard {
            self.rings.queues.insert((queue.clone(), None));
        }
    }

    /// Says that this is a turn of a worker which claims, so that it needs no telling of what it released.
    pub(crate) fn ring_others(&mut self, claims: Incarnation) {
        self.rings.claimed_by = Some(claims);
    }

    /// Says that a job or graph ended, or a signal came.
    pub(crate) fn ring_end(&mut self, hint: Hint) {
        if self.rings.heard {
            self.rings.ends.push(hint);
        }
    }

    /// Says that something that runs was asked to stop.
    pub(crate) fn ring_cancel(&mut self) {
        self.rings.cancel = true;
    }

    /// Says that there are decisions for whoever asks.
    pub(crate) fn ring_anything(&mut self) {
        self.rings.anything = true;
    }

    /// Does a part of the verb that may be undone alone: `Ok(Err(_))` and `Err(_)` undo it.
    pub(crate) fn part<T, R>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<Result<T, R>, Fault>,
    ) -> Result<Result<T, R>, Fault> {
        self.db.run(Query::PartBegin, [])?;
        let done = work(self);
        if matches!(done, Ok(Ok(_))) {
            self.db.run(Query::PartKeep, [])?;
        } else if !self.db.conn.is_autocommit() {
            // SQLite may have rolled the whole back by itself; the first error is the one to tell.
            self.lanes.forget();
            self.db.run(Query::PartUndo, [])?;
            self.db.run(Query::PartKeep, [])?;
        }
        done
    }
}

impl Sequence {
    /// Writes back what was drawn. Numbers of an undone verb are skipped, never drawn again.
    pub(crate) fn write(&self, db: &mut Db<'_>) -> Result<(), Fault> {
        if let Some(next) = self.next {
            db.run(Query::SequenceWrite, [next])?;
        }
        Ok(())
    }
}

impl Rings {
    /// Adds what another verb has to say.
    pub(crate) fn append(&mut self, mut other: Self) {
        let by = other.claimed_by;
        self.queues.extend(other.queues.into_iter().map(|(queue, _)| (queue, by)));
        self.ends.append(&mut other.ends);
        self.cancel |= other.cancel;
        self.anything |= other.anything;
    }
}
