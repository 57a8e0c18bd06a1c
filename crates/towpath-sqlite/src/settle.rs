//! Writes what becomes of a job that a worker held, if its claim still holds.

use std::borrow::Cow;

use rusqlite::{OptionalExtension, params};
use serde_json::json;
use towpath_core::store::{
    Arrival, CancelNote, Closing, Counters, Ending, Hint, Move, Parent, Renewal, RunHead, Settle, Settled, Showing,
};
use towpath_core::{Cause, End, Fence, Incarnation, Payload, Timestamp, defaults, fault};

use crate::error::Fault;
use crate::place::Over;
use crate::queries::Query;
use crate::rows::{self, Decide, Facts, Place};
use crate::tx::Tx;

/// A claim that still holds.
struct Held {
    facts: Facts,
    decide: Decide,
    counters: Counters,
    started_at: i64,
    cancel: Option<Cause>,
}

impl Tx<'_, '_> {
    /// Settles one item and notes the job in `ended` if its children are to be released.
    pub(crate) fn settle(
        &mut self,
        worker: i64,
        incarnation: Incarnation,
        item: &Settle,
        ended: &mut Vec<Over>,
    ) -> Result<Settled, Fault> {
        if item.fence.token.worker != incarnation && !fault::is_put_back(fault::Fault::SkipFence) {
            return Ok(Settled::Stale);
        }
        let Some(mut held) = self.held(worker, item)? else { return Ok(Settled::Stale) };
        let (then, answer) = self.choose(&mut held, item)?;
        let job = held.facts.key;
        let is_end = held.decide == Decide::End;
        if matches!((&*then, is_end), (Move::End(_), true) | (Move::Close(_) | Move::Undo(_) | Move::Retry(_), false)) {
            return Ok(Settled::Stale);
        }
        let (mut unread, mut paused) = (false, false);
        if item.is_of_run() {
            let Some(run) = self.run_with_handler(&held)? else { return Ok(Settled::Stale) };
            unread = self.is_unread(&run, item.read)?;
            paused = run.paused;
            if unread && answer == Settled::Done && matches!(&*then, Move::End(_)) {
                return Ok(Settled::Unread);
            }
            self.append_entries(job, &run, &item.journal)?;
            self.show(job, &item.shows)?;
        }
        if let Move::Stay { counters } = &*then {
            if let Some(counters) = *counters {
                self.count_running(job, counters)?;
            }
            return Ok(if paused && answer == Settled::Done { Settled::Paused } else { answer });
        }
        self.db.run(Query::RunningDelete, [job])?;
        if let Move::End(Ending { counters, .. })
        | Move::Again { counters, .. }
        | Move::Block { counters, .. }
        | Move::Hold { counters }
        | Move::Park { counters, .. } = &*then
        {
            self.note_refund(&held.facts, held.decide, held.counters, *counters)?;
        }
        match &*then {
            Move::End(ending) => {
                let started_at = (held.decide == Decide::Handler).then_some(held.started_at);
                ended.push(self.end(&held.facts, ending, started_at)?);
            }
            Move::Close(closing) => ended.extend(self.close(&held, closing)?),
            Move::Undo(step) => self.step_undos(&held.facts, step)?,
            Move::Retry(later) => self.retry_later(&held.facts, later)?,
            // What was to be decided is still to be decided.
            Move::Again { .. } | Move::Block { .. } if self.is_undecided(job, held.decide)? => {
                self.leave_undecided(job)?;
            }
            Move::Again { after, counters, record } => {
                if let Some(record) = record {
                    self.keep_attempt(job, record, held.started_at)?;
                }
                self.make_due(job, held.facts.place, self.now + *after, *counters)?;
            }
            Move::Block { reason, build, counters } => {
                let Place { lane, turnout } = held.facts.place;
                let Counters { attempt, failures, crashes } = *counters;
                let build = build.cast_signed();
                let row = params![job, lane, turnout, attempt, failures, crashes, build, reason];
                self.db.run(Query::BlockedInsert, row)?;
            }
            Move::Park { counters, .. } if unread => self.make_ready(job, held.facts.place, *counters)?,
            Move::Park { until, counters } => {
                let due = until.map_or(Timestamp::NEVER, |wait| self.now + wait);
                self.park(job, held.facts.place, due, *counters)?;
            }
            Move::Hold { counters } => {
                let due = if paused { Timestamp::NEVER } else { self.now };
                self.make_due(job, held.facts.place, due, *counters)?;
            }
            Move::Renew(renewal) => self.renew(&held.facts, renewal)?,
            // Answered above.
            Move::Stay { .. } => {}
        }
        Ok(answer)
    }

    pub(crate) fn count_running(&mut self, job: i64, counters: Counters) -> Result<(), Fault> {
        let Counters { attempt, failures, crashes } = counters;
        self.db.run(Query::RunningCount, params![job, attempt, failures, crashes])?;
        Ok(())
    }

    /// The run that a handler holds under a claim.
    pub(crate) fn held_run(&mut self, fence: Fence) -> Result<Option<(i64, RunHead, Counters)>, Fault> {
        let worker = [&fence.token.worker.as_bytes()[..]];
        let Some(worker) = self.db.maybe(Query::WorkerTurn, worker, |row| Ok(row.get(0)?))? else { return Ok(None) };
        let Some(held) = self.held(worker, &Settle::stay(fence, Vec::new()))? else { return Ok(None) };
        let run = self.run_with_handler(&held)?;
        Ok(run.map(|run| (held.facts.key, run, held.counters)))
    }

    /// The run that is held, unless it is none, or there for a decision.
    fn run_with_handler(&mut self, held: &Held) -> Result<Option<RunHead>, Fault> {
        if held.decide == Decide::Handler { self.run_head(held.facts.key) } else { Ok(None) }
    }

    /// Whether more has arrived for a run than its worker has read.
    fn is_unread(&mut self, run: &RunHead, read: Option<u32>) -> Result<bool, Fault> {
        let Some(read) = read else { return Ok(false) };
        let arrived: u32 = self.db.one(Query::ArrivalCount, [run.id.as_str()], |row| Ok(row.get(0)?))?;
        Ok(arrived > read)
    }

    pub(crate) fn append_entries(&mut self, job: i64, run: &RunHead, journal: &[Payload]) -> Result<(), Fault> {
        let mut seq = run.entries;
        for entry in journal {
            let row = params![job, run.chapter, seq, entry.codec.code(), self.now_us(), &entry.bytes[..]];
            self.db.run(Query::EntryInsert, row)?;
            seq += 1;
        }
        if seq > run.entries {
            self.db.run(Query::RunGrow, params![job, seq])?;
        }
        Ok(())
    }

    /// Writes what a run shows.
    pub(crate) fn show(&mut self, job: i64, shows: &[Showing]) -> Result<(), Fault> {
        for Showing { name, payload, is_line } in shows {
            let row = params![job, name, payload.codec.code(), self.now_us(), &payload.bytes[..]];
            self.db.run(if *is_line { Query::StreamAdd } else { Query::ShownPut }, row)?;
        }
        Ok(())
    }

    /// Begins a run's next chapter.
    fn renew(&mut self, facts: &Facts, renewal: &Renewal) -> Result<(), Fault> {
        let Renewal { first, taken, counters } = renewal;
        let job = facts.key;
        let Some(old) = self.run_head(job)? else { return Ok(()) };
        let run = self.next_chapter(job, old)?;
        self.append_entries(job, &run, std::slice::from_ref(first))?;
        let old = (self.now - defaults::KEEP_ANSWER).as_micros();
        let passing = params![job, Showing::PASSING.to_string(), Showing::PAST_PASSING.to_string(), old];
        self.db.run(Query::ShownForget, passing)?;
        for seq in taken {
            if self.db.run(Query::ArrivalTaken, params![run.id.as_str(), seq])? == 0 {
                self.db.run(Query::ArrivalBlank, params![run.id.as_str(), seq, Arrival::TAKEN])?;
            }
        }
        self.make_ready(job, facts.place, *counters)
    }

    /// Lets a run's next chapter have an empty journal. The one before is kept, older ones go.
    pub(crate) fn next_chapter(&mut self, job: i64, old: RunHead) -> Result<RunHead, Fault> {
        self.db.run(Query::EntryDeleteOld, params![job, old.chapter])?;
        let run = RunHead { chapter: old.chapter + 1, entries: 0, ..old };
        self.db.run(Query::RunRenew, params![job, run.chapter])?;
        Ok(run)
    }

    /// Lets an ended run that has begun be one that has not: its next chapter is empty, and what the engine has told it
    /// goes. What it was sent is there again.
    pub(crate) fn begin_anew(&mut self, job: i64) -> Result<(), Fault> {
        let Some(old) = self.run_head(job)?.filter(|run| run.entries > 0) else { return Ok(()) };
        let run = self.next_chapter(job, old)?;
        self.db.run(Query::ArrivalUntell, params![run.id.as_str(), CancelNote::NAME, Parent::PREFIX])?;
        Ok(())
    }

    fn held(&mut self, worker: i64, item: &Settle) -> Result<Option<Held>, Fault> {
        let token = item.fence.token;
        let claim = (worker, token.turn.cast_signed(), token.index);
        let claim =
            if fault::is_put_back(fault::Fault::SkipFence) { self.any_claim(item)?.unwrap_or(claim) } else { claim };
        let fence = params![item.fence.key, claim.0, claim.1, claim.2];
        self.db.maybe(Query::RunningHeld, fence, |row| {
            Ok(Held {
                facts: rows::facts(row)?,
                decide: rows::decide(row.get(8)?)?,
                counters: rows::counters(row, 9)?,
                started_at: row.get(12)?,
                cancel: rows::cause(row, 13)?,
            })
        })
    }

    /// Whoever has the job, and since when: what a store without a fence would go by.
    fn any_claim(&mut self, item: &Settle) -> Result<Option<(i64, i64, u16)>, Fault> {
        let text = "select worker, turn, idx from running where job = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        Ok(self.db.conn.query_row(text, [item.fence.key], read).optional()?)
    }

    /// The move to make: the one for a cancel, if there is one and somebody asked.
    fn choose<'i>(&mut self, held: &mut Held, item: &'i Settle) -> Result<(Cow<'i, Move>, Settled), Fault> {
        let Some(ending) = &item.if_cancelled else { return Ok((Cow::Borrowed(&item.then), Settled::Done)) };
        let cause = match held.cancel.take() {
            Some(cause) => cause,
            // A run is cancelled by an arrival, which its function obeys.
            None if self.run_with_handler(held)?.is_some() => return Ok((Cow::Borrowed(&item.then), Settled::Done)),
            None => match self.cancelled_by(held.facts.key, held.facts.graph)? {
                Some(cause) => cause,
                None => return Ok((Cow::Borrowed(&item.then), Settled::Done)),
            },
        };
        let mut ending = ending.clone();
        ending.cause.get_or_insert(cause);
        Ok((Cow::Owned(Move::End(ending)), Settled::Cancelled))
    }

    /// Ends a graph with its hidden last node; answers that, if somebody is to be told.
    fn close(&mut self, held: &Held, closing: &Closing) -> Result<Option<Over>, Fault> {
        let Some(graph) = held.facts.graph else { return Ok(None) };
        let over = self.end(&held.facts, &Ending::plain(End::Succeeded, None, closing.keep, held.counters), None)?;
        let counts: Vec<_> =
            closing.counts.iter().map(|count| json!([count.end.code(), count.role.bits(), count.nodes])).collect();
        let prune_at = (self.now + closing.keep).as_micros();
        let row = params![graph, closing.end.code(), self.now_us(), json!(counts).to_string(), prune_at];
        let id = self.db.one(Query::GraphClose, row, |row| rows::graph_id(row, 0))?;
        self.ring_end(Hint::GraphEnded(id));
        let tells = closing.arrival();
        Ok(tells.is_some().then(|| Over { is_node: false, tells, ..over }))
    }
}
