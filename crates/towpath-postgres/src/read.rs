//! What the runtime and the core's plans read.

use std::collections::HashMap;
use std::sync::Arc;

use towpath_core::store::{
    Ancestor, DueStop, DueStops, Ended, Entry, HostId, InboxLine, Peer, Shown, StreamLine, Suspects, Upstream, Wanted,
};
use towpath_core::{
    GraphId, Incarnation, JobId, Kind, Label, NodeName, Payload, RunId, State, StopReason, Timestamp, limits,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, end, instant, parsed, payload, signed, state, stop, stored, unsigned};
use crate::session::Session;

pub(crate) async fn upstream(session: Session, job: JobId) -> Result<Vec<Upstream>, Fault> {
    let rows = session.run(Query::ParentsOf, &[&job.as_uuid()]).await?;
    let parents: Option<&[u8]> = rows.first().map(|row| row.try_get(0)).transpose()?.flatten();
    let keys: Vec<i64> = parents.unwrap_or_default().as_chunks().0.iter().map(|key| i64::from_le_bytes(*key)).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    seen(&session, &keys).await
}

pub(crate) async fn ancestors(
    session: Session,
    job: JobId,
    wanted: &Wanted,
    limit: u32,
) -> Result<Vec<Ancestor>, Fault> {
    let (name, kind) = match wanted {
        Wanted::Node(name) => (Some(name.as_str()), None),
        Wanted::Kind(kind) => (None, Some(kind.as_str())),
    };
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    for far in [false, true] {
        let rows = session.run(Query::Ancestors, &[&job.as_uuid(), &far, &name, &kind, &limit]).await?;
        if rows.is_empty() {
            continue;
        }
        let keys: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let kinds = rows.iter().map(|row| Ok(Kind::from_stored(row.try_get(1)?))).collect::<Result<Vec<_>, Fault>>()?;
        let upstream = seen(&session, &keys).await?;
        return Ok(kinds.into_iter().zip(upstream).map(|(kind, upstream)| Ancestor { kind, upstream }).collect());
    }
    Ok(Vec::new())
}

/// Nodes as those below them see them.
async fn seen(session: &Session, keys: &[i64]) -> Result<Vec<Upstream>, Fault> {
    let rows = session.run(Query::Upstream, &[&keys]).await?;
    let line = |row: &tokio_postgres::Row| {
        Ok(Upstream {
            node: NodeName::from_stored(row.try_get::<_, Option<&str>>(0)?.unwrap_or_default()),
            state: state(row.try_get(1)?)?,
            output: payload(row.try_get(2)?, row.try_get(3)?),
            error: row.try_get(4)?,
        })
    };
    rows.iter().map(line).collect()
}

pub(crate) async fn graph_input(session: Session, graph: GraphId) -> Result<Option<Payload>, Fault> {
    let rows = session.run(Query::GraphInput, &[&graph.as_uuid()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(payload(row.try_get(0)?, row.try_get(1)?))
}

pub(crate) async fn settleable(session: Session, graph: GraphId, limit: u32) -> Result<Vec<JobId>, Fault> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let rows = session.run(Query::Settleable, &[&graph.as_uuid(), &limit]).await?;
    rows.iter().map(|row| Ok(JobId::from(row.try_get::<_, Uuid>(0)?))).collect()
}

pub(crate) async fn stops(session: Session, limit: u32) -> Result<DueStops, Fault> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let mut due = DueStops::default();
    for row in session.run(Query::StopDue, &[&limit]).await? {
        let now = Timestamp::from_micros(row.try_get(0)?);
        due.next = instant(row.try_get(1)?).map(|next| next.since(now));
        let Some(graph) = row.try_get::<_, Option<Uuid>>(2)?.map(GraphId::from) else { continue };
        let since = Timestamp::from_micros(row.try_get(4)?);
        let reason = stop(row.try_get(3)?).unwrap_or(StopReason::Cancel);
        due.graphs.push(DueStop { graph, reason, age: now.since(since) });
    }
    Ok(due)
}

pub(crate) async fn peers(session: Session) -> Result<Vec<Peer>, Fault> {
    let rows = session.run(Query::Peers, &[]).await?;
    let peer = |row: &tokio_postgres::Row| {
        Ok(Peer {
            worker: Incarnation::from_bytes(row.try_get::<_, Uuid>(0)?.into_bytes()),
            host: HostId {
                machine: row.try_get(1)?,
                boot: row.try_get(2)?,
                pid_namespace: row.try_get(3)?,
                pid: u32::try_from(row.try_get::<_, i64>(4)?).unwrap_or(0),
                started: unsigned(row.try_get(5)?),
            },
            lease_until: Timestamp::from_micros(row.try_get(6)?),
        })
    };
    rows.iter().map(peer).collect()
}

pub(crate) async fn ended(session: Session, jobs: Arc<Vec<JobId>>) -> Result<Vec<Option<Ended>>, Fault> {
    let ids: Vec<Uuid> = jobs.iter().map(JobId::as_uuid).collect();
    let mut found: HashMap<JobId, Ended> = HashMap::with_capacity(jobs.len());
    for row in session.run(Query::Ended, &[&ids]).await? {
        let id = JobId::from(row.try_get::<_, Uuid>(0)?);
        let ended = Ended {
            id,
            state: State::Ended(end(row.try_get(1)?)?),
            cause: parsed(row.try_get(2)?),
            output: payload(row.try_get(3)?, row.try_get(4)?),
            error: row.try_get(5)?,
            ended_at: Timestamp::from_micros(row.try_get(6)?),
        };
        found.insert(id, ended);
    }
    Ok(jobs.iter().map(|id| found.get(id).cloned()).collect())
}

/// A page of a journal: the run's job, the chapter, the first place.
pub(crate) async fn entries(session: Session, from: (JobId, u32, u32), limit: u32) -> Result<Vec<Entry>, Fault> {
    let (job, chapter, seq) = from;
    let limit = stored(limit.min(limits::PAGE_MAX));
    let rows = session.run(Query::EntryList, &[&job.as_uuid(), &stored(chapter), &i64::from(seq), &limit]).await?;
    let entry = |row: &tokio_postgres::Row| {
        let payload = payload(row.try_get(1)?, row.try_get(2)?).unwrap_or_default();
        Ok(Entry { seq: count(row.try_get(0)?), payload, at: Timestamp::from_micros(row.try_get(3)?) })
    };
    rows.iter().map(entry).collect()
}

pub(crate) async fn inbox(session: Session, run: Arc<RunId>, after: i64, limit: u32) -> Result<Vec<InboxLine>, Fault> {
    let limit = stored(limit.min(limits::PAGE_MAX));
    let rows = session.run(Query::ArrivalList, &[&run.as_str(), &after, &limit]).await?;
    let line = |row: &tokio_postgres::Row| {
        Ok(InboxLine {
            seq: row.try_get(0)?,
            name: Label::from_stored(row.try_get(1)?),
            payload: payload(row.try_get(2)?, row.try_get(3)?).unwrap_or_default(),
            at: Timestamp::from_micros(row.try_get(4)?),
        })
    };
    rows.iter().map(line).collect()
}

pub(crate) async fn shown(session: Session, which: Arc<(RunId, String)>) -> Result<Option<Shown>, Fault> {
    let (run, name) = &*which;
    let rows = session.run(Query::ShownRead, &[&run.as_str(), name]).await?;
    let line = |row: &tokio_postgres::Row| {
        let payload = payload(row.try_get(0)?, row.try_get(1)?).unwrap_or_default();
        Ok(Shown { payload, at: Timestamp::from_micros(row.try_get(2)?) })
    };
    rows.first().map(line).transpose()
}

pub(crate) async fn stream(
    session: Session,
    which: Arc<(RunId, String)>,
    after: u64,
    limit: u32,
) -> Result<Vec<StreamLine>, Fault> {
    let ((run, name), limit) = (&*which, stored(limit.min(limits::PAGE_MAX)));
    let rows = session.run(Query::StreamRead, &[&run.as_str(), name, &signed(after), &limit]).await?;
    let line = |row: &tokio_postgres::Row| {
        let payload = payload(row.try_get(1)?, row.try_get(2)?).unwrap_or_default();
        Ok(StreamLine { number: unsigned(row.try_get(0)?), payload, at: Timestamp::from_micros(row.try_get(3)?) })
    };
    rows.iter().map(line).collect()
}

/// Open graphs of which something is miscounted.
pub(crate) async fn suspects(session: Session, after: Option<i64>, size_max: u32) -> Result<Suspects, Fault> {
    let (from, size) = (after.unwrap_or(i64::MIN), i64::from(size_max));
    let most = i32::try_from(limits::SWEEP_GRAPHS_MAX).unwrap_or(i32::MAX);
    let mut suspects = Suspects::default();
    for row in session.run(Query::Suspects, &[&from, &size, &most]).await? {
        suspects.next = Some(row.try_get(0)?);
        if row.try_get(2)? {
            suspects.graphs.push(GraphId::from(row.try_get::<_, Uuid>(1)?));
        }
    }
    Ok(suspects)
}
