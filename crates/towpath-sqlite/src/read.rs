//! What the runtime and the core's plans read, beside the writer.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;
use towpath_core::store::{
    Ancestor, DueStop, DueStops, Ended, Entry, HostId, InboxLine, Peer, Shown, StreamLine, Upstream, Wanted,
};
use towpath_core::{GraphId, JobId, Kind, Label, NodeName, Payload, Role, RunId, State, StopReason, Timestamp, limits};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;

pub(crate) fn upstream(db: &mut Db<'_>, job: JobId) -> Result<Vec<Upstream>, Fault> {
    let parents: Option<Vec<u8>> = db.maybe(Query::ParentKeys, [&job.as_bytes()[..]], |row| Ok(row.get(0)?))?.flatten();
    let mut upstream = Vec::new();
    for parent in rows::keys(&parents.unwrap_or_default())? {
        upstream.extend(seen(db, parent)?);
    }
    Ok(upstream)
}

/// A node as those below it see it. It is gone only while its whole graph is being pruned.
fn seen(db: &mut Db<'_>, job: i64) -> Result<Option<Upstream>, Fault> {
    db.maybe(Query::Upstream, [job], |row| {
        let node: String = row.get(0)?;
        Ok(Upstream {
            node: NodeName::from_stored(&node),
            state: rows::state(row.get(1)?)?,
            output: rows::payload(row, 2)?,
            error: row.get(4)?,
        })
    })
}

pub(crate) fn ancestors(db: &mut Db<'_>, job: JobId, wanted: &Wanted, limit: u32) -> Result<Vec<Ancestor>, Fault> {
    let parents: Option<Vec<u8>> = db.maybe(Query::ParentKeys, [&job.as_bytes()[..]], |row| Ok(row.get(0)?))?.flatten();
    let mut ahead = rows::keys(&parents.unwrap_or_default())?;
    let mut known: BTreeSet<i64> = ahead.iter().copied().collect();
    let mut found: BTreeMap<i64, Kind> = BTreeMap::new();
    let direct = ahead.len();
    let mut looked = 0;
    // Breadth first: the direct parents come before all others, and may make them superfluous.
    while let Some(&job) = ahead.get(looked) {
        if looked == direct && !found.is_empty() {
            break;
        }
        looked += 1;
        let node: Option<(String, String, Option<Vec<u8>>)> =
            db.maybe(Query::Above, [job], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some((name, kind, parents)) = node else { continue };
        if wanted.is(&name, &kind) {
            found.insert(job, Kind::from_stored(&kind));
        }
        ahead.extend(rows::keys(&parents.unwrap_or_default())?.into_iter().filter(|parent| known.insert(*parent)));
    }
    let mut ancestors = Vec::new();
    for (job, kind) in found.into_iter().take(limit as usize) {
        ancestors.extend(seen(db, job)?.map(|upstream| Ancestor { kind, upstream }));
    }
    Ok(ancestors)
}

pub(crate) fn graph_input(db: &mut Db<'_>, graph: GraphId) -> Result<Option<Payload>, Fault> {
    let which = params![&graph.as_bytes()[..], StopReason::Prune.code()];
    Ok(db.maybe(Query::GraphInput, which, |row| rows::payload(row, 0))?.flatten())
}

pub(crate) fn settleable(db: &mut Db<'_>, graph: GraphId, limit: u32) -> Result<Vec<JobId>, Fault> {
    let stop = db.maybe(Query::StopOf, [&graph.as_bytes()[..]], |row| rows::stop_reason(row.get(0)?))?;
    let left_out = Role::not_settled(stop).bits();
    let which = params![&graph.as_bytes()[..], StopReason::Prune.code(), left_out, limit];
    if stop == Some(StopReason::Fail) {
        return db.all(Query::SettleableIdle, which, |row| rows::job_id(row, 0));
    }
    let held = db.all(Query::SettleableHeld, which, |row| rows::job_id(row, 0))?;
    if held.is_empty() { db.all(Query::SettleableIdle, which, |row| rows::job_id(row, 0)) } else { Ok(held) }
}

pub(crate) fn stops(db: &mut Db<'_>, now: Timestamp, limit: u32) -> Result<DueStops, Fault> {
    let graphs = db.all(Query::StopDue, params![now.as_micros(), limit], |row| {
        let since = Timestamp::from_micros(row.get(2)?);
        Ok(DueStop { graph: rows::graph_id(row, 0)?, reason: rows::stop_reason(row.get(1)?)?, age: now.since(since) })
    })?;
    let next = db.one(Query::StopNext, [now.as_micros()], |row| rows::instant_or_none(row, 0))?;
    Ok(DueStops { graphs, next: next.map(|due| due.since(now)) })
}

pub(crate) fn peers(db: &mut Db<'_>) -> Result<Vec<Peer>, Fault> {
    db.all(Query::Peers, [], |row| {
        let started: i64 = row.get(5)?;
        let host = HostId {
            machine: row.get(1)?,
            boot: row.get(2)?,
            pid_namespace: row.get(3)?,
            pid: row.get(4)?,
            started: started.cast_unsigned(),
        };
        Ok(Peer { worker: rows::incarnation(row, 0)?, host, lease_until: rows::instant(row, 6)? })
    })
}

pub(crate) fn ended(db: &mut Db<'_>, jobs: &[JobId]) -> Result<Vec<Option<Ended>>, Fault> {
    let mut ended = Vec::with_capacity(jobs.len());
    for id in jobs {
        ended.push(db.maybe(Query::Ended, [&id.as_bytes()[..]], |row| {
            Ok(Ended {
                id: *id,
                state: State::Ended(rows::end(row.get(0)?)?),
                cause: rows::cause(row, 1)?,
                output: rows::payload(row, 2)?,
                error: row.get(4)?,
                ended_at: rows::instant(row, 5)?,
            })
        })?);
    }
    Ok(ended)
}

pub(crate) fn entries(db: &mut Db<'_>, job: JobId, chapter: u32, from: u32, limit: u32) -> Result<Vec<Entry>, Fault> {
    let which = params![&job.as_bytes()[..], chapter, from, limit.min(limits::PAGE_MAX)];
    db.all(Query::EntryList, which, |row| {
        let payload = rows::payload(row, 1)?.unwrap_or_default();
        Ok(Entry { seq: row.get(0)?, payload, at: rows::instant(row, 3)? })
    })
}

pub(crate) fn inbox(db: &mut Db<'_>, run: &RunId, after: i64, limit: u32) -> Result<Vec<InboxLine>, Fault> {
    db.all(Query::ArrivalList, params![run.as_str(), after, limit.min(limits::PAGE_MAX)], |row| {
        let name: String = row.get(1)?;
        let payload = rows::payload(row, 2)?.unwrap_or_default();
        Ok(InboxLine { seq: row.get(0)?, name: Label::from_stored(&name), payload, at: rows::instant(row, 4)? })
    })
}

pub(crate) fn shown(db: &mut Db<'_>, run: &RunId, name: &str) -> Result<Option<Shown>, Fault> {
    db.maybe(Query::ShownRead, params![run.as_str(), name], |row| {
        let payload = rows::payload(row, 0)?.unwrap_or_default();
        Ok(Shown { payload, at: rows::instant(row, 2)? })
    })
}

pub(crate) fn stream(
    db: &mut Db<'_>,
    run: &RunId,
    name: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<StreamLine>, Fault> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    db.all(Query::StreamRead, params![run.as_str(), name, after, limit.min(limits::PAGE_MAX)], |row| {
        let payload = rows::payload(row, 1)?.unwrap_or_default();
        Ok(StreamLine {
            number: u64::try_from(row.get::<_, i64>(0)?).unwrap_or_default(),
            payload,
            at: rows::instant(row, 3)?,
        })
    })
}
