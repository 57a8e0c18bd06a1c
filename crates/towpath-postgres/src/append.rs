//! Adds nodes to a graph that is stored already.

use std::collections::HashMap;

use tokio_postgres::Row;
use towpath_core::store::{Placed, Refusal, Settle};
use towpath_core::{Incarnation, JobId, NewJob, NodeName, PreparedAppend, StopReason};
use uuid::Uuid;

use crate::enqueue::{Growth, KnownRuns, Stored, Written, known_jobs};
use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival, Release};
use crate::requeue::graph_key_again;
use crate::rows::{count, job_key, stop, stored, with};
use crate::session::Session;
use crate::settle::is_held;
use crate::store::Inner;

/// Writes an append inside the transaction of its batch, or refuses it. A graph that has ended goes on with it, and has its
/// unique key again: that is locked first, as an enqueue does.
pub(crate) async fn append(
    inner: &Inner,
    session: &Session,
    now: i64,
    append: &PreparedAppend,
    written: &mut Written,
) -> Result<Result<Placed, Refusal>, Fault> {
    let graphs = vec![append.graph().as_uuid()];
    session.run(Query::KeyLockGraphs, &[&graphs]).await?;
    let placed = match look(session, append).await? {
        Looked::Found(graph) => match graph_key_again(session, now, graph.key).await? {
            Some((key, by)) => Err(Refusal::KeyTaken { key, by }),
            None => write(inner, session, now, append, graph, written).await.map(Ok)?,
        },
        Looked::There => Ok(Placed::Existing),
        Looked::Refused(refusal) => Err(refusal),
    };
    session.run(Query::KeyUnlockGraphs, &[&graphs]).await?;
    Ok(placed)
}

async fn write(
    inner: &Inner,
    session: &Session,
    now: i64,
    append: &PreparedAppend,
    graph: Stored,
    written: &mut Written,
) -> Result<Placed, Fault> {
    let (nodes, edges) = (append.nodes(), append.edges());
    let drawn = session.one(Query::DrawKeys, &[&stored(nodes.len() as u32)]).await?;
    let keys: Vec<i64> = drawn.try_get(1)?;
    let first = keys.iter().copied().min().unwrap_or_default();
    let mut growth = Growth::default();
    growth.grow(inner, &graph, nodes, edges, &mut keys.into_iter(), written)?;
    growth.write(session, now, written).await?;

    let to_end = stored(append.edges_to_end());
    let (new_nodes, new_edges) = (stored(nodes.len() as u32), stored(edges.len() as u32));
    session.run(Query::AppendReopen, &[&graph.key, &graph.end, &new_nodes, &new_edges, &to_end, &first]).await?;

    if session.one(Query::AppendLeft, &[&graph.end]).await?.try_get(0)? {
        return Err(Fault::Again("the decision of the graph's end changed hands just now"));
    }
    let parents: Vec<i64> = graph.parents.into_values().collect();
    let rows = session.run(Query::CountChildren, &[&parents, &graph.first_edge, &false]).await?;
    let release = Release::of(&rows)?;
    written.undecided |= !release.undecided.is_empty();
    written.lanes.extend(release::to_nobody(session, now, release, Arrival::Appended).await?);
    Ok(Placed::Inserted)
}

/// The jobs that outcomes add to graphs.
pub(crate) fn jobs_of(settle: &[Settle]) -> impl Iterator<Item = &NewJob> {
    settle.iter().filter_map(Settle::appends).flat_map(|(append, _)| append.nodes.nodes()).map(|node| &node.job)
}

/// Locks the decisions of the `end`s that outcomes let wait again, as far as nobody has them; answers the ends.
pub(crate) async fn lock_ends(session: &Session, settle: &[Settle]) -> Result<Vec<i64>, Fault> {
    let ends =
        settle.iter().filter_map(Settle::appends).map(|(append, _)| JobId::end_of(append.nodes.graph()).as_uuid());
    let mut ends: Vec<Uuid> = ends.collect();
    ends.sort_unstable();
    ends.dedup();
    for end in &ends {
        session.run(Query::AppendLockUndecided, &[end]).await?;
    }
    let rows = session.run(Query::FindJobs, &[&ends]).await?;
    rows.iter().map(|row| Ok(row.try_get(1)?)).collect()
}

/// Adds what nodes add to their graphs with their ends, before anything ends: the edges from what ends in the same turn are
/// counted with its end. Answers what is to be settled then. `rows` are those of `settle_look`; the graphs are locked, and
/// the decisions of their ends.
pub(crate) async fn append_first(
    inner: &Inner,
    session: &Session,
    now: i64,
    (incarnation, worker): (Incarnation, i64),
    settle: &[Settle],
    rows: &[Row],
) -> Result<(Vec<Settle>, Written), Fault> {
    let mut held: HashMap<i64, &Row> = HashMap::with_capacity(rows.len());
    for row in rows {
        held.insert(row.try_get(0)?, row);
    }
    let jobs: Vec<i64> = held.keys().copied().collect();
    let (mut graphs, mut names) = (Vec::new(), Vec::new());
    for (append, _) in settle.iter().filter_map(Settle::appends) {
        let wanted = append.nodes.parent_names().into_iter().map(NodeName::as_str).chain([NodeName::END]);
        for name in wanted {
            graphs.push(append.nodes.graph().as_uuid());
            names.push(name);
        }
    }
    session.run(Query::AppendLockFirst, &[&jobs, &graphs, &names]).await?;
    let mut written = Written::default();
    let mut items = Vec::with_capacity(settle.len());
    for item in settle {
        let row = held.get(&job_key(item.fence.key)).copied();
        items.push(match (item.appends(), row) {
            (Some((appending, _)), Some(row))
                if row.try_get::<_, i16>(5)? == with::HANDLER && is_held(item, row, incarnation, worker)? =>
            {
                // The node is of this graph and has not ended, so neither has the graph: its unique key is its own.
                match look(session, &appending.nodes).await? {
                    Looked::Found(graph) => {
                        write(inner, session, now, &appending.nodes, graph, &mut written).await?;
                        item.appended(None)
                    }
                    Looked::There => item.appended(None),
                    Looked::Refused(refusal) => item.appended(Some(&refusal)),
                }
            }
            _ => item.clone(),
        });
    }
    Ok((items, written))
}

enum Looked {
    Found(Stored),
    /// Its nodes are there, each with the same job.
    There,
    Refused(Refusal),
}

/// Locks what the append touches, then looks whether it may.
async fn look(session: &Session, append: &PreparedAppend) -> Result<Looked, Fault> {
    let id = append.graph();
    let refused = |refusal| Ok(Looked::Refused(refusal));
    let wanted: Vec<&str> = append.parent_names().into_iter().map(NodeName::as_str).collect();
    let names: Vec<&str> = append.nodes().iter().map(|node| node.name.as_str()).collect();
    let Some(graph) = session.run(Query::AppendLockGraph, &[&id.as_uuid()]).await?.into_iter().next() else {
        return refused(Refusal::UnknownGraph { id });
    };
    // Who takes the decision of its end moves a row from one table to the other: that one is waited for first.
    session.run(Query::AppendLockUndecided, &[&JobId::end_of(id).as_uuid()]).await?;
    session.run(Query::AppendLockEnd, &[&JobId::end_of(id).as_uuid()]).await?;
    let locked = session.run(Query::AppendLockNodes, &[&id.as_uuid(), &wanted]).await?;
    let key: i64 = graph.try_get(0)?;
    let seen = session.one(Query::AppendLook, &[&key, &names]).await?;
    let stopped = stop(seen.try_get(0)?);
    if stopped == Some(StopReason::Prune) {
        return refused(Refusal::UnknownGraph { id });
    }
    let taken: HashMap<String, Uuid> =
        seen.try_get::<_, Vec<String>>(1)?.into_iter().zip(seen.try_get::<_, Vec<Uuid>>(2)?).collect();
    if append.nodes().iter().all(|node| taken.get(node.name.as_str()) == Some(&node.job.id.as_uuid())) {
        return Ok(Looked::There);
    }
    if let Some(reason) = stopped {
        return refused(Refusal::Stopped { graph: id, reason });
    }
    if graph.try_get::<_, Option<i32>>(3)?.is_some() {
        return refused(Refusal::Undone { graph: id });
    }
    if let Some(taken) = append.refuse_taken(|name| taken.contains_key(name.as_str())) {
        return refused(taken);
    }
    let mut end = None;
    let mut parents: HashMap<NodeName, i64> = HashMap::new();
    let mut depths: HashMap<i64, u32> = HashMap::new();
    for row in &locked {
        depths.insert(row.try_get(1)?, count(row.try_get(3)?));
        match NodeName::from_stored(row.try_get(0)?) {
            name if name.as_str() == NodeName::END => end = Some(row.try_get(1)?),
            name => drop(parents.insert(name, row.try_get(1)?)),
        }
    }
    let end = end.ok_or_else(|| Fault::corrupt("append", format!("graph {id} has no end")))?;
    let refusal = append
        .refuse_unknown(|name| parents.contains_key(name))
        .or_else(|| append.refuse_too_large(count(graph.try_get(2).ok()?), count(graph.try_get(1).ok()?)));
    if let Some(refusal) = refusal {
        return refused(refusal);
    }
    let ids: Vec<Uuid> = append.nodes().iter().map(|node| node.job.id.as_uuid()).collect();
    let known = known_jobs(&session.run(Query::ExistingJobs, &[&ids]).await?)?;
    if let Some(refusal) = append.nodes().iter().find_map(|node| Some(known.get(&node.job.id)?.conflict(node.job.id))) {
        return refused(refusal);
    }
    let mut runs = KnownRuns::look(session, append.nodes().iter().map(|node| &node.job)).await?;
    if let Some(refusal) = runs.claim(append.nodes().iter().map(|node| &node.job)) {
        return refused(refusal);
    }
    Ok(Looked::Found(Stored { key, first_edge: graph.try_get(1)?, end, parents, depths }))
}
