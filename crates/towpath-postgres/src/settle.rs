//! Writes what becomes of jobs that a worker held, if their claims still hold.

use std::collections::HashMap;

use futures_util::future::{try_join, try_join3, try_join4};
use tokio_postgres::Row;
use towpath_core::store::{
    Arrival, AttemptRecord, CancelNote, Closing, Counters, Ending, Move, Renewal, Settle, Settled, Showing,
};
use towpath_core::{
    End, GraphId, Incarnation, JobId, RetryLater, SkipKind, StopReason, Timestamp, UndoStep, defaults, fault, limits,
};
use uuid::Uuid;

use crate::columns::columns;
use crate::error::Fault;
use crate::queries::Query;
use crate::retry::Retries;
use crate::rows::{branches, cancel, job_key, json, signed, stop, stored, with};
use crate::runs::{Journal, Run, Runs, Shows, Sight};
use crate::session::{Params, Session};
use crate::store::News;
use crate::told::{self, Told};
use crate::undo::Steps;

/// The statements that a plan may need. They are prepared before it is written: the commit leaves with them, and one that
/// had to be prepared first would come after it.
pub(crate) const QUERIES: [Query; 13] = [
    Query::SettlePlain,
    Query::SettleEnd,
    Query::SettleOutput,
    Query::SettleAttempts,
    Query::SettleAgain,
    Query::SettleBlock,
    Query::SettleClose,
    Query::StopByFailure,
    Query::RunLook,
    Query::RunArrived,
    Query::SettleJournal,
    Query::SettleStay,
    Query::SettleShow,
];

/// What a turn has seen behind the locks: the rows of `settle_look`, and the runs among them.
pub(crate) struct Looked {
    pub(crate) rows: Vec<Row>,
    pub(crate) runs: Runs,
}

/// What came of writing a plan.
pub(crate) struct Written {
    pub(crate) graphs_ended: Vec<GraphId>,
    pub(crate) told: Told,
}

/// What a turn writes before it releases, by column.
#[derive(Default)]
pub(crate) struct Plan {
    ends: Ends,
    outputs: Outputs,
    records: Records,
    again: Again,
    journal: Journal,
    shows: Shows,
    stays: Stays,
    renewed: Renewed,
    taken: Taken,
    blocked: Blocked,
    closed: Closed,
    /// What `end` nodes do to the undos of their graphs.
    pub(crate) undos: Steps,
    /// What `end` nodes of graphs decide that are tried again.
    pub(crate) retries: Retries,
    /// Nodes that are put back as if they had not been claimed.
    refunded: Vec<i64>,
    /// Nodes whose end stops their graph.
    pub(crate) stops: Vec<i64>,
    /// Nodes that ended, whose children are to be counted; and others that are to be locked with them.
    pub(crate) nodes: Vec<i64>,
    /// Undecided nodes that were put back.
    pub(crate) back: Vec<i64>,
    pub(crate) lanes: Vec<i32>,
    /// What ends tell to runs that wait for them.
    tells: Vec<Arrival>,
}

columns!(Ends of EndRow {
    job: i64,
    state: i16,
    cause: Option<String>,
    attempt: i32,
    failures: i32,
    crashes: i32,
    started_at: Option<i64>,
    prune_at: Option<i64>,
    branches: Option<String>,
});

columns!(Outputs of OutputRow {
    job: i64,
    codec: i16,
    bytes: Vec<u8>,
});

columns!(Records of RecordRow {
    job: i64,
    attempt: i32,
    outcome: i16,
    started_at: i64,
    error: Option<String>,
    log: Option<String>,
});

columns!(Again of AgainRow {
    job: i64,
    due: Option<i64>,
    lane: i32,
    turnout: i32,
    attempt: i32,
    failures: i32,
    crashes: i32,
    parked: Option<bool>,
});

columns!(Stays of StayRow {
    job: i64,
    attempt: i32,
    failures: i32,
    crashes: i32,
});

impl Stays {
    /// A run goes on, with these counters.
    pub(crate) fn add(&mut self, job: i64, counters: Counters) {
        let (attempt, failures, crashes) = stored_counters(counters);
        self.push(StayRow { job, attempt, failures, crashes });
    }
}

columns!(Renewed of RenewedRow {
    job: i64,
    chapter: i32,
    codec: i16,
    bytes: Vec<u8>,
});

columns!(Taken of TakenRow {
    job: i64,
    seq: i64,
});

columns!(Blocked of BlockedRow {
    job: i64,
    build: i64,
    lane: i32,
    turnout: i32,
    attempt: i32,
    failures: i32,
    crashes: i32,
    reason: String,
});

columns!(Closed of ClosedRow {
    graph: i64,
    end: i16,
    counts: String,
    prune_at: i64,
});

impl Plan {
    /// Decides each item by the locked rows of `settle_look`. One that has no row, as a plain one, is stale so far.
    pub(crate) fn of(
        settle: &[Settle],
        Looked { rows, runs }: &Looked,
        (incarnation, worker, now): (Incarnation, i64, i64),
        news: &mut News,
    ) -> Result<(Self, Vec<Settled>), Fault> {
        let mut held: HashMap<i64, &Row> = HashMap::with_capacity(rows.len());
        for row in rows {
            held.insert(row.try_get(0)?, row);
        }
        let mut plan = Self::default();
        let mut answers = Vec::with_capacity(settle.len());
        for item in settle {
            answers.push(match held.remove(&job_key(item.fence.key)) {
                Some(row) if fault::is_put_back(fault::Fault::SkipFence) => plan.item(item, row, runs, now, news)?,
                Some(row) if is_held(item, row, incarnation, worker)? => plan.item(item, row, runs, now, news)?,
                _ => Settled::Stale,
            });
        }
        Ok((plan, answers))
    }

    /// Whether nothing is settled that has children, must be decided again, is told to a run, or begins anew: nothing that a
    /// claim must come after.
    pub(crate) fn is_lone(&self) -> bool {
        self.nodes.is_empty() && self.back.is_empty() && self.tells.is_empty() && self.renewed.rows == 0
    }

    /// Settles an item, and appends to the journal if it is of a run.
    fn item(&mut self, item: &Settle, row: &Row, runs: &Runs, now: i64, news: &mut News) -> Result<Settled, Fault> {
        if !item.is_of_run() {
            return self.make_move(item, row, Sight::Read, now, news);
        }
        let (job, decide): (i64, i16) = (row.try_get(0)?, row.try_get(5)?);
        let Some(run) = runs.get(job).filter(|_| decide == with::HANDLER) else { return Ok(Settled::Stale) };
        let answer = self.make_move(item, row, run.sight(item), now, news)?;
        if answer == Settled::Done {
            self.tells.extend(run.untold(&item.then).cloned());
        }
        match (answer, &item.then) {
            (Settled::Done, Move::Renew(renewal)) => self.renew(job, run, renewal),
            (Settled::Done, Move::Hold { counters }) => self.hold(run.held_until(now), row, *counters)?,
            _ => {}
        }
        if matches!(answer, Settled::Done | Settled::Cancelled) {
            self.journal.append(job, run, &item.journal);
            self.shows.add(job, &item.shows);
        }
        let goes_on = answer == Settled::Done && matches!(item.then, Move::Stay { .. });
        Ok(if goes_on && run.is_paused() { Settled::Paused } else { answer })
    }

    fn make_move(
        &mut self,
        item: &Settle,
        row: &Row,
        sight: Sight,
        now: i64,
        news: &mut News,
    ) -> Result<Settled, Fault> {
        let cause = cancel(row.try_get(7)?, row.try_get(11)?);
        if let (Some(cause), Some(ending)) = (cause, &item.if_cancelled) {
            let mut ending = ending.clone();
            ending.cause.get_or_insert(cause);
            return self.end(&ending, row, now, Settled::Cancelled, news);
        }
        let (job, decide): (i64, i16) = (row.try_get(0)?, row.try_get(5)?);
        let undecided = matches!(decide, with::PARENTS | with::END) || row.try_get::<_, Option<i16>>(12)? == Some(1);
        match &item.then {
            Move::End(_) if item.read.is_some() && sight != Sight::Read => return Ok(Settled::Unread),
            Move::End(ending) => return self.end(ending, row, now, Settled::Done, news),
            Move::Close(closing) => return self.close(closing, row, now, news),
            Move::Undo(step) => return self.step_undos(step, row, now),
            Move::Retry(later) => return self.retry_later(later, row, news),
            // What was to be decided is still to be decided.
            Move::Again { .. } | Move::Block { .. } if undecided => {
                self.back.push(job);
                news.undecided = true;
            }
            Move::Again { after, counters, record } => {
                self.note_refund(row, *counters)?;
                let due = (!after.is_zero()).then(|| (Timestamp::from_micros(now) + *after).as_micros());
                self.put_back(job, place(row)?, *counters, due, None);
                self.lanes.push(row.try_get(9)?);
                if let Some(record) = record {
                    self.record(job, record, row.try_get(6)?);
                }
            }
            Move::Block { reason, build, counters } => {
                self.note_refund(row, *counters)?;
                let ((lane, turnout), build, reason) = (place(row)?, signed(*build), without_nul(reason));
                let (attempt, failures, crashes) = stored_counters(*counters);
                self.blocked.push(BlockedRow { job, build, lane, turnout, attempt, failures, crashes, reason });
            }
            Move::Park { until, counters } => {
                self.note_refund(row, *counters)?;
                let due = sight.due(*until, now);
                self.put_back(job, place(row)?, *counters, due, Some(true));
                if due != Some(Timestamp::NEVER.as_micros()) {
                    self.lanes.push(row.try_get(9)?);
                }
            }
            Move::Renew(renewal) => {
                self.put_back(job, place(row)?, renewal.counters, None, None);
                self.lanes.push(row.try_get(9)?);
            }
            // What becomes of it depends on its pause.
            Move::Hold { .. } => {}
            Move::Stay { counters: None } => {}
            Move::Stay { counters: Some(counters) } => self.stays.add(job, *counters),
        }
        Ok(Settled::Done)
    }

    /// Puts a paused run where neither time nor a signal wakes it.
    fn hold(&mut self, due: Option<i64>, row: &Row, counters: Counters) -> Result<(), Fault> {
        self.note_refund(row, counters)?;
        self.put_back(row.try_get(0)?, place(row)?, counters, due, None);
        if due != Some(Timestamp::NEVER.as_micros()) {
            self.lanes.push(row.try_get(9)?);
        }
        Ok(())
    }

    /// Begins a run's next chapter.
    fn renew(&mut self, job: i64, run: &Run, renewal: &Renewal) {
        let (codec, bytes) = (renewal.first.codec.code(), renewal.first.bytes.to_vec());
        self.renewed.push(RenewedRow { job, chapter: run.chapter() + 1, codec, bytes });
        for seq in &renewal.taken {
            self.taken.push(TakenRow { job, seq: *seq });
        }
    }

    fn end(
        &mut self,
        ending: &Ending,
        row: &Row,
        now: i64,
        answer: Settled,
        news: &mut News,
    ) -> Result<Settled, Fault> {
        let decide: i16 = row.try_get(5)?;
        if decide == with::END {
            return Ok(Settled::Stale);
        }
        let started_at = if decide == with::HANDLER { row.try_get(6)? } else { None };
        self.note_refund(row, ending.counters)?;
        let lone = row.try_get::<_, Option<i64>>(8)?.is_none();
        let job = row.try_get(0)?;
        self.end_job(job, ending, started_at, lone, now);
        if let Some(record) = &ending.record {
            self.record(job, record, row.try_get(6)?);
        }
        news.cancel |= ending.stop.is_some();
        news.ended.push(JobId::from(row.try_get::<_, Uuid>(1)?));
        Ok(answer)
    }

    /// Ends a job, wherever it stands; its row there is gone, or goes with this.
    pub(crate) fn end_job(&mut self, job: i64, ending: &Ending, started_at: Option<i64>, lone: bool, now: i64) {
        let (attempt, failures, crashes) = stored_counters(ending.counters);
        self.ends.push(EndRow {
            job,
            state: ending.end.code(),
            cause: ending.cause.as_ref().and_then(json),
            attempt,
            failures,
            crashes,
            started_at,
            prune_at: lone.then(|| (Timestamp::from_micros(now) + ending.keep).as_micros()),
            branches: branches(&ending.branches),
        });
        if let Some(output) = &ending.output {
            self.outputs.push(OutputRow { job, codec: output.codec.code(), bytes: output.bytes.to_vec() });
        }
        self.tells.extend(ending.arrival());
        if !lone {
            self.nodes.push(job);
            self.stops.extend(ending.stop.is_some().then_some(job));
        }
    }

    /// Makes a job ready again, at once or when it is due.
    pub(crate) fn put_back(
        &mut self,
        job: i64,
        (lane, turnout): (i32, i32),
        counters: Counters,
        due: Option<i64>,
        parked: Option<bool>,
    ) {
        let (attempt, failures, crashes) = stored_counters(counters);
        self.again.push(AgainRow { job, due, lane, turnout, attempt, failures, crashes, parked });
    }

    /// Keeps the record of an attempt.
    pub(crate) fn record(&mut self, job: i64, record: &AttemptRecord, started_at: i64) {
        self.records.push(RecordRow {
            job,
            attempt: stored(record.attempt),
            outcome: record.outcome.code(),
            started_at,
            error: record.error.as_deref().map(without_nul),
            log: record.log.as_deref().map(without_nul),
        });
    }

    fn close(&mut self, closing: &Closing, row: &Row, now: i64, news: &mut News) -> Result<Settled, Fault> {
        let (with::END, Some(graph)) = (row.try_get(5)?, row.try_get::<_, Option<i64>>(8)?) else {
            return Ok(Settled::Stale);
        };
        let ending = Ending::plain(End::Succeeded, None, closing.keep, Counters::default());
        self.end_job(row.try_get(0)?, &ending, None, false, now);
        news.ended.push(JobId::from(row.try_get::<_, Uuid>(1)?));
        self.tells.extend(closing.arrival());
        let counts: Vec<_> = closing.counts.iter().map(|c| (c.end.code(), c.role.bits(), c.nodes)).collect();
        self.closed.push(ClosedRow {
            graph,
            end: closing.end.code(),
            counts: json(&counts).unwrap_or_default(),
            prune_at: (Timestamp::from_micros(now) + closing.keep).as_micros(),
        });
        Ok(Settled::Done)
    }

    /// Remembers of a node that it was with a handler, where its counters will not say so.
    fn note_refund(&mut self, row: &Row, counters: Counters) -> Result<(), Fault> {
        let is_node = row.try_get::<_, Option<i64>>(8)?.is_some();
        if is_node && row.try_get::<_, i16>(5)? == with::HANDLER && stored(counters.attempt) < row.try_get(13)? {
            self.nodes.push(row.try_get(0)?);
            self.refunded.push(row.try_get(0)?);
        }
        Ok(())
    }

    fn step_undos(&mut self, step: &UndoStep, row: &Row, now: i64) -> Result<Settled, Fault> {
        let (with::END, Some(graph)) = (row.try_get(5)?, row.try_get::<_, Option<i64>>(8)?) else {
            return Ok(Settled::Stale);
        };
        for passed in &step.pass {
            let (end, cause) = (End::Skipped(SkipKind::Untaken), Some(passed.cause.clone()));
            let ending = Ending::plain(end, cause, std::time::Duration::ZERO, Counters::default());
            self.end_job(passed.key, &ending, None, false, now);
        }
        let end = row.try_get(0)?;
        self.nodes.push(end);
        self.nodes.extend(&step.start);
        self.undos.push(end, graph, step);
        Ok(Settled::Done)
    }

    fn retry_later(&mut self, later: &RetryLater, row: &Row, news: &mut News) -> Result<Settled, Fault> {
        let (with::END, Some(graph)) = (row.try_get(5)?, row.try_get::<_, Option<i64>>(8)?) else {
            return Ok(Settled::Stale);
        };
        let end = row.try_get(0)?;
        if matches!(stop(row.try_get(11)?), None | Some(StopReason::Fail)) {
            self.nodes.push(end);
            self.retries.push(end, graph, later);
        } else {
            // Somebody was quicker: it is decided anew.
            self.back.push(end);
            news.undecided = true;
        }
        Ok(Settled::Done)
    }

    /// Writes everything, in one go, and holds graphs back once all of it is written.
    pub(crate) async fn write(&self, session: &Session, now: i64) -> Result<Written, Fault> {
        let kept = stored(limits::ATTEMPTS_KEPT_NEWEST);
        let (at, at_and_kept): (Params<'_>, Params<'_>) = (&[&now], &[&now, &kept]);
        let ends = try_join3(
            self.ends.run(session, Query::SettleEnd, at),
            self.outputs.run(session, Query::SettleOutput, &[]),
            self.records.run(session, Query::SettleAttempts, at_and_kept),
        );
        let moves = try_join4(
            self.again.run(session, Query::SettleAgain, &[]),
            self.blocked.run(session, Query::SettleBlock, &[]),
            self.closed.run(session, Query::SettleClose, at),
            self.journal.run(session, Query::SettleJournal, at),
        );
        let runs =
            try_join(self.stays.run(session, Query::SettleStay, &[]), self.shows.run(session, Query::SettleShow, at));
        let (_, (_, _, graphs, _), _) = try_join3(ends, moves, runs).await?;
        if !self.refunded.is_empty() {
            session.run(Query::NodeNote, &[&self.refunded]).await?;
        }
        let graphs_ended = graphs.iter().map(|row| Ok::<_, Fault>(GraphId::from(row.try_get::<_, Uuid>(0)?)));
        let graphs_ended = graphs_ended.collect::<Result<_, _>>()?;
        // The lines of the old chapters are written by now.
        let old = (Timestamp::from_micros(now) - defaults::KEEP_ANSWER).as_micros();
        let passing = (Showing::PASSING.to_string(), Showing::PAST_PASSING.to_string());
        let to_forget: Params<'_> = &[&now, &old, &passing.0, &passing.1];
        self.renewed.run(session, Query::SettleRenew, to_forget).await?;
        self.taken.run(session, Query::RenewArrivals, &[&Arrival::TAKEN]).await?;
        let mut told = told::tell(session, now, &self.tells).await?;
        told.append(hold_back(session, now, &self.stops).await?);
        Ok(Written { graphs_ended, told })
    }
}

/// Holds back the graphs of nodes that have failed, and tells their runs.
pub(crate) async fn hold_back(session: &Session, now: i64, nodes: &[i64]) -> Result<Told, Fault> {
    let mut told = Told::default();
    if nodes.is_empty() {
        return Ok(told);
    }
    let note = CancelNote { actor: "towpath".into(), reason: "a node failed".into() };
    for row in session.run(Query::StopByFailure, &[&now, &nodes, &note.actor, &note.reason]).await? {
        let stopped = (row.try_get(0)?, StopReason::Fail);
        told.append(told::tell_runs_of(session, now, stopped, &note).await?);
    }
    Ok(told)
}

/// Whether a row of `settle_look` is under the claim of this outcome.
pub(crate) fn is_held(item: &Settle, row: &Row, incarnation: Incarnation, worker: i64) -> Result<bool, Fault> {
    let token = item.fence.token;
    Ok(token.worker == incarnation
        && row.try_get::<_, i64>(2)? == worker
        && row.try_get::<_, i64>(3)? == signed(token.turn)
        && row.try_get::<_, i32>(4)? == i32::from(token.index))
}

/// The lane and the turnout of a row of `settle_look`.
fn place(row: &Row) -> Result<(i32, i32), Fault> {
    Ok((row.try_get(9)?, row.try_get(10)?))
}

fn stored_counters(counters: Counters) -> (i32, i32, i32) {
    let Counters { attempt, failures, crashes } = counters;
    (stored(attempt), stored(failures), stored(crashes))
}

/// PostgreSQL keeps no NUL in a text, and an outcome must not be lost for one.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}
