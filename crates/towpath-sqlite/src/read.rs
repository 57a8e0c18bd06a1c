//! What the runtime and the core's plans read, beside the writer.

use rusqlite::params;
use towpath_core::store::{Ended, Entry, HostId, InboxLine, Peer, Upstream};
use towpath_core::{GraphId, JobId, Label, NodeName, Payload, Role, RunId, State, StopReason, limits};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;

pub(crate) fn upstream(db: &mut Db<'_>, job: JobId) -> Result<Vec<Upstream>, Fault> {
    let parents: Option<Vec<u8>> = db.maybe(Query::ParentKeys, [&job.as_bytes()[..]], |row| Ok(row.get(0)?))?.flatten();
    let mut upstream = Vec::new();
    for parent in rows::keys(&parents.unwrap_or_default())? {
        // A parent is gone only while its whole graph is being pruned.
        upstream.extend(db.maybe(Query::Upstream, [parent], |row| {
            let node: String = row.get(0)?;
            Ok(Upstream {
                node: NodeName::from_stored(&node),
                state: rows::state(row.get(1)?)?,
                output: rows::payload(row, 2)?,
                error: row.get(4)?,
            })
        })?);
    }
    Ok(upstream)
}

pub(crate) fn graph_input(db: &mut Db<'_>, graph: GraphId) -> Result<Option<Payload>, Fault> {
    let which = params![&graph.as_bytes()[..], StopReason::Prune.code()];
    Ok(db.maybe(Query::GraphInput, which, |row| rows::payload(row, 0))?.flatten())
}

pub(crate) fn settleable(db: &mut Db<'_>, graph: GraphId, limit: u32) -> Result<Vec<JobId>, Fault> {
    let which = params![&graph.as_bytes()[..], StopReason::Prune.code(), Role::END.bits(), limit];
    db.all(Query::Settleable, which, |row| rows::job_id(row, 0))
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
