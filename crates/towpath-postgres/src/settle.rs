//! Writes what becomes of jobs that a worker held, if their claims still hold.

use std::collections::HashMap;

use tokio_postgres::Row;
use towpath_core::store::{AttemptRecord, Closing, Counters, Ending, Move, Settle, Settled};
use towpath_core::{End, GraphId, Incarnation, JobId, Timestamp, fault, limits};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{branches, cancel, job_key, json, signed, stored, trimmed, with};
use crate::runs::{Journal, Runs, Sight};
use crate::session::Session;
use crate::store::News;

/// The statements that a plan may need.
pub(crate) const QUERIES: [Query; 11] = [
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
];

/// What a turn has seen behind the locks: the rows of `settle_look`, and the runs among them.
pub(crate) struct Looked {
    pub(crate) rows: Vec<Row>,
    pub(crate) runs: Runs,
}

/// What a turn writes before it releases, by column.
#[derive(Default)]
pub(crate) struct Plan {
    ends: Ends,
    records: Records,
    again: Moved,
    due: Vec<Option<i64>>,
    parked: Vec<Option<bool>>,
    journal: Journal,
    blocked: Moved,
    builds: Vec<i64>,
    reasons: Vec<String>,
    closed: Closed,
    /// Nodes whose end stops their graph.
    stops: Vec<i64>,
    /// Nodes that ended: their children are to be counted.
    pub(crate) nodes: Vec<i64>,
    /// Undecided nodes that were put back.
    pub(crate) back: Vec<i64>,
    pub(crate) lanes: Vec<i32>,
}

#[derive(Default)]
struct Ends {
    jobs: Vec<i64>,
    states: Vec<i16>,
    causes: Vec<Option<String>>,
    counters: ColumnsOfCounters,
    started_at: Vec<Option<i64>>,
    prune_at: Vec<Option<i64>>,
    branches: Vec<Option<String>>,
    outputs: Vec<i64>,
    codecs: Vec<i16>,
    bytes: Vec<Vec<u8>>,
}

#[derive(Default)]
struct ColumnsOfCounters {
    attempts: Vec<i32>,
    failures: Vec<i32>,
    crashes: Vec<i32>,
}

#[derive(Default)]
struct Records {
    jobs: Vec<i64>,
    attempts: Vec<i32>,
    outcomes: Vec<i16>,
    started_at: Vec<i64>,
    errors: Vec<Option<String>>,
    logs: Vec<Option<String>>,
}

#[derive(Default)]
struct Moved {
    jobs: Vec<i64>,
    lanes: Vec<i32>,
    turnouts: Vec<i32>,
    counters: ColumnsOfCounters,
}

#[derive(Default)]
struct Closed {
    graphs: Vec<i64>,
    ends: Vec<i16>,
    counts: Vec<String>,
    prune_at: Vec<i64>,
}

impl ColumnsOfCounters {
    fn push(&mut self, counters: Counters) {
        self.attempts.push(stored(counters.attempt));
        self.failures.push(stored(counters.failures));
        self.crashes.push(stored(counters.crashes));
    }
}

impl Moved {
    fn push(&mut self, row: &Row, counters: Counters) -> Result<(), Fault> {
        self.jobs.push(row.try_get(0)?);
        self.lanes.push(row.try_get(9)?);
        self.turnouts.push(row.try_get(10)?);
        self.counters.push(counters);
        Ok(())
    }
}

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
            let token = item.fence.token;
            answers.push(match held.remove(&job_key(item.fence.key)) {
                Some(row) if fault::is_put_back(fault::Fault::SkipFence) => plan.item(item, row, runs, now, news)?,
                Some(row)
                    if token.worker == incarnation
                        && row.try_get::<_, i64>(2)? == worker
                        && row.try_get::<_, i64>(3)? == signed(token.turn)
                        && row.try_get::<_, i32>(4)? == i32::from(token.index) =>
                {
                    plan.item(item, row, runs, now, news)?
                }
                _ => Settled::Stale,
            });
        }
        Ok((plan, answers))
    }

    /// Whether anything is settled that has children or must be decided again.
    pub(crate) fn is_lone(&self) -> bool {
        self.nodes.is_empty() && self.back.is_empty()
    }

    /// Settles an item, and appends to the journal if it is of a run.
    fn item(&mut self, item: &Settle, row: &Row, runs: &Runs, now: i64, news: &mut News) -> Result<Settled, Fault> {
        if !item.is_of_run() {
            return self.make_move(item, row, Sight::Read, now, news);
        }
        let (job, decide): (i64, i16) = (row.try_get(0)?, row.try_get(5)?);
        let Some(run) = runs.get(job).filter(|_| decide == with::HANDLER) else { return Ok(Settled::Stale) };
        let answer = self.make_move(item, row, run.sight(item.read), now, news)?;
        if matches!(answer, Settled::Done | Settled::Cancelled) {
            self.journal.push(job, run, &item.journal);
        }
        Ok(answer)
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
            // What was to be decided is still to be decided.
            Move::Again { .. } | Move::Block { .. } if undecided => {
                self.back.push(job);
                news.undecided = true;
            }
            Move::Again { after, counters, record } => {
                self.again.push(row, *counters)?;
                let due = (!after.is_zero()).then(|| (Timestamp::from_micros(now) + *after).as_micros());
                self.due.push(due);
                self.parked.push(None);
                self.lanes.push(row.try_get(9)?);
                if let Some(record) = record {
                    self.records.push(job, record, row.try_get(6)?);
                }
            }
            Move::Block { reason, build, counters } => {
                self.blocked.push(row, *counters)?;
                self.builds.push(signed(*build));
                self.reasons.push(reason.clone());
            }
            Move::Park { until, counters } => {
                self.again.push(row, *counters)?;
                let due = sight.due(*until, now);
                if due != Some(Timestamp::NEVER.as_micros()) {
                    self.lanes.push(row.try_get(9)?);
                }
                self.due.push(due);
                self.parked.push(Some(true));
            }
            Move::Stay => {}
        }
        Ok(Settled::Done)
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
        let lone = row.try_get::<_, Option<i64>>(8)?.is_none();
        let job = row.try_get(0)?;
        self.end_job(job, ending, started_at, lone, now);
        if let Some(record) = &ending.record {
            self.records.push(job, record, row.try_get(6)?);
        }
        news.cancel |= ending.stop.is_some();
        news.ended.push(JobId::from(row.try_get::<_, Uuid>(1)?));
        Ok(answer)
    }

    /// Ends a job, wherever it stands; its row there is gone, or goes with this.
    pub(crate) fn end_job(&mut self, job: i64, ending: &Ending, started_at: Option<i64>, lone: bool, now: i64) {
        self.ends.push(job, ending, started_at, lone, now);
        if let Some(output) = &ending.output {
            self.ends.outputs.push(job);
            self.ends.codecs.push(output.codec.code());
            self.ends.bytes.push(output.bytes.to_vec());
        }
        if !lone {
            self.nodes.push(job);
            self.stops.extend(ending.stop.is_some().then_some(job));
        }
    }

    /// Keeps the record of a job that has not just run.
    pub(crate) fn record(&mut self, job: i64, record: &AttemptRecord, started_at: i64) {
        self.records.push(job, record, started_at);
    }

    fn close(&mut self, closing: &Closing, row: &Row, now: i64, news: &mut News) -> Result<Settled, Fault> {
        let (with::END, Some(graph)) = (row.try_get(5)?, row.try_get::<_, Option<i64>>(8)?) else {
            return Ok(Settled::Stale);
        };
        let ending = Ending::plain(End::Succeeded, None, closing.keep, Counters::default());
        self.end_job(row.try_get(0)?, &ending, None, false, now);
        news.ended.push(JobId::from(row.try_get::<_, Uuid>(1)?));
        let counts: Vec<_> = closing.counts.iter().map(|c| (c.end.code(), c.role.bits(), c.nodes)).collect();
        self.closed.graphs.push(graph);
        self.closed.ends.push(closing.end.code());
        self.closed.counts.push(json(&counts).unwrap_or_default());
        self.closed.prune_at.push((Timestamp::from_micros(now) + closing.keep).as_micros());
        Ok(Settled::Done)
    }

    /// Writes everything, in one go; answers the graphs that are over.
    pub(crate) async fn write(&self, session: &Session, now: i64) -> Result<Vec<GraphId>, Fault> {
        let ends = futures_util::future::try_join3(self.ends.write(session, now), self.ends.outputs(session), async {
            if !self.stops.is_empty() {
                session.run(Query::StopByFailure, &[&now, &self.stops]).await?;
            }
            self.records.write(session, now).await
        });
        let moves = futures_util::future::try_join4(
            self.write_again(session),
            self.write_blocked(session),
            self.closed.write(session, now),
            self.journal.write(session, now),
        );
        let (_, (_, _, graphs, ())) = futures_util::future::try_join(ends, moves).await?;
        graphs.iter().map(|row| Ok(GraphId::from(row.try_get::<_, Uuid>(0)?))).collect()
    }

    async fn write_again(&self, session: &Session) -> Result<(), Fault> {
        let Moved { jobs, lanes, turnouts, counters } = &self.again;
        if jobs.is_empty() {
            return Ok(());
        }
        let ColumnsOfCounters { attempts, failures, crashes } = counters;
        let (due, parked) = (trimmed(&self.due), trimmed(&self.parked));
        session.run(Query::SettleAgain, &[jobs, &due, lanes, turnouts, attempts, failures, crashes, &parked]).await?;
        Ok(())
    }

    async fn write_blocked(&self, session: &Session) -> Result<(), Fault> {
        let Moved { jobs, lanes, turnouts, counters } = &self.blocked;
        if jobs.is_empty() {
            return Ok(());
        }
        let ColumnsOfCounters { attempts, failures, crashes } = counters;
        session
            .run(Query::SettleBlock, &[jobs, &self.builds, lanes, turnouts, attempts, failures, crashes, &self.reasons])
            .await?;
        Ok(())
    }
}

impl Ends {
    fn push(&mut self, job: i64, ending: &Ending, started_at: Option<i64>, lone: bool, now: i64) {
        self.jobs.push(job);
        self.states.push(ending.end.code());
        self.causes.push(ending.cause.as_ref().and_then(json));
        self.counters.push(ending.counters);
        self.started_at.push(started_at);
        self.prune_at.push(lone.then(|| (Timestamp::from_micros(now) + ending.keep).as_micros()));
        self.branches.push(branches(&ending.branches));
    }

    async fn write(&self, session: &Session, now: i64) -> Result<(), Fault> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        let ColumnsOfCounters { attempts, failures, crashes } = &self.counters;
        let (causes, branches) = (trimmed(&self.causes), trimmed(&self.branches));
        let (started_at, prune_at) = (trimmed(&self.started_at), trimmed(&self.prune_at));
        session
            .run(
                Query::SettleEnd,
                &[
                    &now,
                    &self.jobs,
                    &self.states,
                    &causes,
                    attempts,
                    failures,
                    crashes,
                    &started_at,
                    &prune_at,
                    &branches,
                ],
            )
            .await?;
        Ok(())
    }

    async fn outputs(&self, session: &Session) -> Result<(), Fault> {
        if !self.outputs.is_empty() {
            session.run(Query::SettleOutput, &[&self.outputs, &self.codecs, &self.bytes]).await?;
        }
        Ok(())
    }
}

impl Records {
    fn push(&mut self, job: i64, record: &AttemptRecord, started_at: i64) {
        self.jobs.push(job);
        self.attempts.push(stored(record.attempt));
        self.outcomes.push(record.outcome.code());
        self.started_at.push(started_at);
        // PostgreSQL keeps no NUL in a text, and an outcome must not be lost for one.
        self.errors.push(record.error.as_ref().map(|error| error.replace('\0', "\u{2400}")));
        self.logs.push(record.log.as_ref().map(|log| log.replace('\0', "\u{2400}")));
    }

    async fn write(&self, session: &Session, now: i64) -> Result<(), Fault> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        let kept = stored(limits::ATTEMPTS_KEPT_NEWEST);
        session
            .run(
                Query::SettleAttempts,
                &[&now, &self.jobs, &self.attempts, &self.outcomes, &self.started_at, &self.errors, &self.logs, &kept],
            )
            .await?;
        Ok(())
    }
}

impl Closed {
    async fn write(&self, session: &Session, now: i64) -> Result<Vec<Row>, Fault> {
        if self.graphs.is_empty() {
            return Ok(Vec::new());
        }
        session.run(Query::SettleClose, &[&now, &self.graphs, &self.ends, &self.counts, &self.prune_at]).await
    }
}
