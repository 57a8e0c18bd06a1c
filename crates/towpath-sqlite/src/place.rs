//! Where a job's row goes: every move between the tables that say where a job stands.

use rusqlite::params;
use towpath_core::store::{Arrival, AttemptRecord, Counters, Ending, Hint};
use towpath_core::{End, Standing, StopReason, Timestamp, limits};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Decide, Facts, Node, Phase, Place, Start};
use crate::tx::Tx;

/// A worker in a turn, and the index of the next job that it is given.
pub(crate) struct Holder {
    pub(crate) worker: i64,
    pub(crate) turn: i64,
    pub(crate) index: u16,
}

/// A row taken out of `running`.
pub(crate) struct Taken {
    pub(crate) decide: Decide,
    pub(crate) counters: Counters,
    pub(crate) started_at: i64,
    pub(crate) cancel: Option<towpath_core::Cause>,
}

/// What ends the wait of a row of `later`, as its column `parked` says.
#[derive(Clone, Copy)]
enum Wake {
    ByTime = 0,
    /// Or by time.
    BySignal = 1,
}

impl Tx<'_, '_> {
    pub(crate) fn facts(&mut self, job: i64) -> Result<Facts, Fault> {
        self.db.one(Query::JobFacts, [job], rows::facts)
    }

    /// Puts a job into the head, behind all of its priority, or where it waits for its time.
    pub(crate) fn make_due(&mut self, job: i64, place: Place, due: Timestamp, counters: Counters) -> Result<(), Fault> {
        if due <= self.now {
            return self.make_ready(job, place, counters);
        }
        self.make_later(job, place, due, counters, Wake::ByTime)
    }

    /// Keeps a run until its time or a signal, which may be never.
    pub(crate) fn park(&mut self, job: i64, place: Place, due: Timestamp, counters: Counters) -> Result<(), Fault> {
        if due <= self.now {
            return self.make_ready(job, place, counters);
        }
        self.make_later(job, place, due, counters, Wake::BySignal)
    }

    fn make_later(
        &mut self,
        job: i64,
        place: Place,
        due: Timestamp,
        counters: Counters,
        wake: Wake,
    ) -> Result<(), Fault> {
        let Counters { attempt, failures, crashes } = counters;
        let row = params![job, due.as_micros(), place.lane, place.turnout, attempt, failures, crashes, wake as i64];
        self.db.run(Query::LaterInsert, row)?;
        if due < Timestamp::NEVER { self.ring_lane(place.lane) } else { Ok(()) }
    }

    /// Puts a job into the head, behind all of its priority.
    pub(crate) fn make_ready(&mut self, job: i64, place: Place, counters: Counters) -> Result<(), Fault> {
        let seq = self.draw()?;
        self.insert_ready(job, place, seq, counters)
    }

    /// Puts a job into the head at this arrival.
    pub(crate) fn insert_ready(&mut self, job: i64, place: Place, seq: i64, counters: Counters) -> Result<(), Fault> {
        let Counters { attempt, failures, crashes } = counters;
        self.db.run(Query::ReadyInsert, params![place.lane, place.turnout, seq, job, attempt, failures, crashes])?;
        self.ring_lane(place.lane)
    }

    /// Looks at a waiting node whose counters have changed, and writes them. One that may start becomes
    /// ready; its delay counts from now. Whether it came for a decision instead.
    pub(crate) fn look_at(&mut self, node: &mut Node) -> Result<bool, Fault> {
        let standing = match node.phase {
            Phase::Waiting => self.standing(node)?,
            // Its parents have been judged before.
            Phase::Undecided | Phase::Released => Standing::Waits,
        };
        let undecided = match standing {
            Standing::Waits => false,
            Standing::Ready => {
                node.phase = Phase::Released;
                let start = match node.start {
                    Some(start) => start,
                    None => self.facts(node.job)?.start(),
                };
                let due = start.due(self.now);
                let counters = Counters { attempt: node.attempt, ..Counters::default() };
                if due <= self.now && self.stop(node.graph)?.is_none() {
                    self.free(node.job, start.place, counters)?;
                } else {
                    self.make_due(node.job, start.place, due, counters)?;
                }
                false
            }
            Standing::Undecided => true,
        };
        if undecided {
            node.phase = Phase::Undecided;
        }
        self.write_node(node)?;
        Ok(undecided)
    }

    /// What a node's counters say, in a graph that may be stopped: of one that is being retried nothing is placed.
    pub(crate) fn standing(&mut self, node: &Node) -> Result<Standing, Fault> {
        let standing = node.counters.standing();
        if standing == Standing::Waits {
            return Ok(standing);
        }
        Ok(match (self.stop(node.graph)?, standing) {
            (Some(StopReason::Retry), _) => Standing::Waits,
            (Some(stop), Standing::Ready) if node.role.is_held_by(stop) => Standing::Undecided,
            (_, standing) => standing,
        })
    }

    pub(crate) fn write_node(&mut self, node: &Node) -> Result<(), Fault> {
        let counters = &node.counters;
        let rank = counters.cause.map(|rank| rank.stored());
        let (left, ok, untaken, spoiled) = (counters.left, counters.ok, counters.untaken, counters.spoiled);
        let row = params![node.job, node.phase as i64, left, ok, untaken, spoiled, rank, node.cause_parent];
        self.db.run(Query::NodeUpdate, row)?;
        Ok(())
    }

    /// Keeps a node of phase undecided for whoever claims decisions.
    pub(crate) fn leave_undecided(&mut self, job: i64) -> Result<(), Fault> {
        self.db.run(Query::UndecidedInsert, [job])?;
        self.ring_anything();
        Ok(())
    }

    /// Gives a job to a worker.
    pub(crate) fn hold(
        &mut self,
        job: i64,
        decide: Decide,
        place: Place,
        counters: Counters,
        holder: &mut Holder,
    ) -> Result<(), Fault> {
        let Counters { attempt, failures, crashes } = counters;
        let Holder { worker, turn, index } = *holder;
        let Place { lane, turnout } = place;
        let started_at = self.now_us();
        let row =
            params![job, worker, turn, index, decide as i64, lane, turnout, attempt, failures, crashes, started_at];
        self.db.run(Query::RunningInsert, row)?;
        holder.index += 1;
        Ok(())
    }

    /// Takes a job out of `running`.
    pub(crate) fn take_running(&mut self, job: i64) -> Result<Option<Taken>, Fault> {
        let taken = self.db.maybe(Query::RunningTake, [job], |row| {
            Ok(Taken {
                decide: rows::decide(row.get(0)?)?,
                counters: rows::counters(row, 1)?,
                started_at: row.get(4)?,
                cancel: rows::cause(row, 5)?,
            })
        })?;
        Ok(taken)
    }

    /// Takes a job out of the tables of those that are released and not running.
    pub(crate) fn take_idle(&mut self, facts: &Facts) -> Result<Option<Counters>, Fault> {
        let Place { lane, turnout } = facts.place;
        let unmoved = params![lane, turnout, facts.key];
        let counters = |row: &rusqlite::Row<'_>| rows::counters(row, 0);
        if let Some(found) = self.db.maybe(Query::ReadyTake, unmoved, counters)? {
            return Ok(Some(found));
        }
        for query in [Query::ReadyTakeMoved, Query::LaterTake, Query::BlockedTake] {
            if let Some(found) = self.db.maybe(query, [facts.key], counters)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether a held decision is about a node of phase undecided, rather than one that was ready.
    pub(crate) fn is_undecided(&mut self, job: i64, decide: Decide) -> Result<bool, Fault> {
        match decide {
            Decide::Parents | Decide::End => Ok(true),
            Decide::Handler | Decide::Deadline => Ok(false),
            Decide::Stopped => {
                let phase = self.db.maybe(Query::NodePhase, [job], |row| Ok(row.get::<_, i64>(0)?))?;
                Ok(phase == Some(Phase::Undecided as i64))
            }
        }
    }

    /// Gives a job back unrun, at no cost. One that was to be cancelled ends so, for nobody would
    /// remember; its children are then to be released.
    pub(crate) fn hand_back(&mut self, job: i64) -> Result<Option<Over>, Fault> {
        let Some(taken) = self.take_running(job)? else { return Ok(None) };
        let mut counters = taken.counters;
        if taken.decide == Decide::Handler {
            counters.attempt = counters.attempt.saturating_sub(1);
        }
        if self.is_undecided(job, taken.decide)? {
            self.leave_undecided(job)?;
            return Ok(None);
        }
        let facts = self.facts(job)?;
        self.note_refund(&facts, taken.decide, taken.counters, counters)?;
        if let Some(cause) = taken.cancel {
            let rules = self.db.one(Query::JobRules, [job], |row| rows::rules(row, 0))?;
            let ending = Ending::plain(End::Cancelled, Some(cause), rules.keep(End::Cancelled), counters);
            let ending = Ending { tells: rules.tells(), ..ending };
            return self.end(&facts, &ending, Some(taken.started_at)).map(Some);
        }
        self.make_ready(job, facts.place, counters)?;
        Ok(None)
    }

    /// Remembers of a node that it was with a handler, where its counters will not say so.
    pub(crate) fn note_refund(
        &mut self,
        facts: &Facts,
        held: Decide,
        before: Counters,
        after: Counters,
    ) -> Result<(), Fault> {
        if held == Decide::Handler && facts.graph.is_some() && after.attempt < before.attempt {
            self.db.run(Query::NodeNote, [facts.key])?;
        }
        Ok(())
    }

    /// Writes a job's end. Its row elsewhere is gone already; its children are still to be counted.
    pub(crate) fn end(&mut self, facts: &Facts, ending: &Ending, started_at: Option<i64>) -> Result<Over, Fault> {
        let job = facts.key;
        if let Some(deadline) = facts.deadline {
            self.db.run(Query::DeadlineDelete, [deadline, job])?;
        }
        if let Some(record) = &ending.record {
            self.keep_attempt(job, record, started_at.unwrap_or(self.now_us()))?;
        }
        if let Some(output) = &ending.output {
            self.db.run(Query::OutputInsert, params![job, output.codec.code(), &output.bytes[..]])?;
        }
        let prune_at = facts.graph.is_none().then(|| (self.now + ending.keep).as_micros());
        let Counters { attempt, failures, crashes } = ending.counters;
        let row = params![
            job,
            ending.end.code(),
            rows::cause_text(ending.cause.as_ref())?,
            rows::list_text(&ending.branches),
            attempt,
            failures,
            crashes,
            started_at,
            self.now_us(),
            prune_at
        ];
        self.db.run(Query::EndedInsert, row)?;
        self.ring_end(Hint::Ended(facts.id));
        let stop = facts.graph.zip(ending.stop);
        let (branches, tells) = (ending.branches.clone(), ending.arrival());
        Ok(Over { job, is_node: facts.graph.is_some(), end: ending.end, branches, stop, tells })
    }

    /// Keeps an attempt: of all, the first one and the newest.
    pub(crate) fn keep_attempt(&mut self, job: i64, record: &AttemptRecord, started_at: i64) -> Result<(), Fault> {
        let AttemptRecord { attempt, outcome, error, log } = record;
        let row = params![job, attempt, outcome.code(), started_at, self.now_us(), error, log];
        self.db.run(Query::AttemptInsert, row)?;
        if *attempt > limits::ATTEMPTS_KEPT_NEWEST {
            self.db.run(Query::AttemptTrim, params![job, limits::ATTEMPTS_KEPT_NEWEST])?;
        }
        Ok(())
    }
}

/// A job that has just ended, for its children.
pub(crate) struct Over {
    pub(crate) job: i64,
    pub(crate) is_node: bool,
    pub(crate) end: End,
    pub(crate) branches: Vec<towpath_core::Label>,
    /// What it holds its graph back for.
    pub(crate) stop: Option<(i64, StopReason)>,
    /// What it tells the run that waits for it.
    pub(crate) tells: Option<Arrival>,
}

impl Facts {
    pub(crate) fn start(&self) -> Start {
        Start { place: self.place, delay_us: self.delay_us, due_at: self.due_at }
    }
}

impl Start {
    /// When a node falls due that is released now.
    pub(crate) fn due(&self, now: Timestamp) -> Timestamp {
        match (self.delay_us, self.due_at) {
            (Some(delay), _) => now + towpath_core::from_micros(delay),
            (None, Some(at)) => now.max(Timestamp::from_micros(at)),
            (None, None) => now,
        }
    }
}
