//! Changes what jobs were enqueued with, as long as no worker has them.
//!
//! Lock, then look: nodes, so that nothing is released meanwhile; then the rows where jobs stand, which a claim that has
//! them keeps. Only then is a `job` row written: whoever reads it next, as it claims or releases, reads all of it.

use std::collections::HashMap;

use towpath_core::store::{Changed, Counters, Edit};
use towpath_core::{JobId, Timestamp};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, state, stored};
use crate::session::Session;
use crate::store::Inner;
use crate::turn::lock_nodes;
use crate::{signal, told};

/// A job that was taken out of where it stood.
struct Idle {
    counters: Counters,
    turnout: i32,
    /// Its arrival, if it was in the head.
    seq: Option<i64>,
    /// When it was due, if that was later.
    due: Option<i64>,
}

/// A job by its id, as `find_jobs` says.
struct Found {
    key: i64,
    is_node: bool,
    is_end: bool,
    run: Option<String>,
}

/// Rows to be written: one entry of each per job.
#[derive(Default)]
struct Rows<'a> {
    jobs: Vec<i64>,
    priorities: Vec<Option<i16>>,
    codecs: Vec<Option<i16>>,
    inputs: Vec<Option<&'a [u8]>>,
    /// Of nodes that wait.
    dues: Vec<Option<i64>>,
}

#[derive(Default)]
struct Places {
    jobs: Vec<i64>,
    attempts: Vec<i32>,
    failures: Vec<i32>,
    crashes: Vec<i32>,
    dues: Vec<Option<i64>>,
    /// Of a job that keeps its place in the head.
    seqs: Vec<Option<i64>>,
}

/// Carries out edits of different jobs; answers each, and the lanes that have more.
pub(crate) async fn edit(
    inner: &Inner,
    session: &Session,
    now: i64,
    edits: &[(JobId, &Edit)],
) -> Result<(Vec<Changed>, Vec<i32>), Fault> {
    let found = find(session, edits).await?;
    let runs: Vec<&str> = found.values().filter_map(|job| job.run.as_deref()).collect();
    signal::lock(session, &runs).await?;
    let keys: Vec<i64> = found.values().map(|job| job.key).collect();
    let of = |which: fn(&&Found) -> bool| -> Vec<i64> { found.values().filter(which).map(|job| job.key).collect() };
    let (nodes, runs) = (of(|job| job.is_node), of(|job| job.run.is_some()));
    session.run(Query::LockRunning, &[&keys]).await?;
    lock_nodes(session, &nodes).await?;
    let begun = told::begun(session, &runs).await?;
    let may: Vec<i64> =
        found.values().filter(|job| !job.is_end && !begun.contains(&job.key)).map(|job| job.key).collect();
    let idle = take(session, &may).await?;
    let taken_runs: Vec<i64> = runs.iter().filter(|run| idle.contains_key(run)).copied().collect();
    if !told::begun(session, &taken_runs).await?.is_empty() {
        return Err(Fault::Again("a run began just now"));
    }
    let waiting: Vec<i64> =
        session.run(Query::EditWaiting, &[&may]).await?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let mut stands = HashMap::new();
    for row in session.run(Query::StateOf, &[&keys]).await? {
        stands.insert(row.try_get::<_, i64>(0)?, state(row.try_get(1)?)?);
    }
    let (mut rows, mut places) = (Rows::default(), Places::default());
    let mut answers = Vec::with_capacity(edits.len());
    for (id, edit) in edits {
        let job = found.get(id).map(|job| job.key);
        answers.push(match job {
            Some(job) if idle.contains_key(&job) => {
                rows.push(job, edit, None);
                places.push(job, edit, &idle[&job]);
                Changed::Edited
            }
            Some(job) if waiting.contains(&job) => {
                rows.push(job, edit, edit.due.map(Timestamp::as_micros));
                Changed::Edited
            }
            Some(job) => stands.get(&job).map_or(Changed::Unknown, |state| Changed::Left(*state)),
            None => Changed::Unknown,
        });
    }
    Ok((answers, write(inner, session, now, &rows, &places).await?))
}

async fn find(session: &Session, edits: &[(JobId, &Edit)]) -> Result<HashMap<JobId, Found>, Fault> {
    let ids: Vec<Uuid> = edits.iter().map(|(id, _)| id.as_uuid()).collect();
    let mut found = HashMap::with_capacity(ids.len());
    for row in session.run(Query::FindJobs, &[&ids]).await? {
        let is_node = row.try_get::<_, Option<i64>>(2)?.is_some();
        let job = Found { key: row.try_get(1)?, is_node, is_end: row.try_get(3)?, run: row.try_get(4)? };
        found.insert(JobId::from(row.try_get::<_, Uuid>(0)?), job);
    }
    Ok(found)
}

async fn take(session: &Session, jobs: &[i64]) -> Result<HashMap<i64, Idle>, Fault> {
    let mut idle = HashMap::with_capacity(jobs.len());
    for row in session.run(Query::EditTake, &[&jobs]).await? {
        let counters = rows::counters(&row, 1)?;
        let found = Idle { counters, turnout: row.try_get(4)?, seq: row.try_get(5)?, due: row.try_get(6)? };
        idle.insert(row.try_get(0)?, found);
    }
    Ok(idle)
}

async fn write(
    inner: &Inner,
    session: &Session,
    now: i64,
    rows: &Rows<'_>,
    places: &Places,
) -> Result<Vec<i32>, Fault> {
    let Rows { jobs, priorities, codecs, inputs, dues } = rows;
    if !jobs.is_empty() {
        session.run(Query::EditJobs, &[jobs, priorities, codecs, inputs, dues]).await?;
    }
    let mut lanes = Vec::with_capacity(places.jobs.len());
    if !places.jobs.is_empty() {
        let Places { jobs, attempts, failures, crashes, dues, seqs } = places;
        for row in session.run(Query::EditPlace, &[&now, jobs, attempts, failures, crashes, dues, seqs]).await? {
            let (lane, seq): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
            // A row that kept its place may stand below where this process looks.
            inner.inserted(std::iter::once(lane), Some(seq));
            lanes.push(lane);
        }
    }
    Ok(lanes)
}

impl<'a> Rows<'a> {
    fn push(&mut self, job: i64, edit: &'a Edit, due: Option<i64>) {
        self.jobs.push(job);
        self.priorities.push(edit.priority);
        self.codecs.push(edit.input.as_ref().map(|input| input.codec.code()));
        self.inputs.push(edit.input.as_ref().map(|input| &input.bytes[..]));
        self.dues.push(due);
    }
}

impl Places {
    fn push(&mut self, job: i64, edit: &Edit, idle: &Idle) {
        let Counters { attempt, failures, crashes } = idle.counters;
        let stays = edit.priority.is_none_or(|priority| -i32::from(priority) == idle.turnout);
        self.jobs.push(job);
        self.attempts.push(stored(attempt));
        self.failures.push(stored(failures));
        self.crashes.push(stored(crashes));
        self.dues.push(edit.due.map(Timestamp::as_micros).or(idle.due));
        self.seqs.push(idle.seq.filter(|_| stays && edit.due.is_none()));
    }
}
