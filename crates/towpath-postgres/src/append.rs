//! Adds nodes to a graph that is stored already.

use std::collections::HashMap;

use towpath_core::store::{Placed, Refusal};
use towpath_core::{JobId, NodeName, PreparedAppend, StopReason};
use uuid::Uuid;

use crate::enqueue::{Growth, KnownRuns, Stored, Written, known_jobs};
use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival, Release};
use crate::rows::{count, stop, stored};
use crate::session::Session;
use crate::store::Inner;

/// Writes an append inside the transaction of its batch, or refuses it.
pub(crate) async fn append(
    inner: &Inner,
    session: &Session,
    now: i64,
    append: &PreparedAppend,
    written: &mut Written,
) -> Result<Result<Placed, Refusal>, Fault> {
    let graph = match look(session, append).await? {
        Looked::Found(graph) => graph,
        Looked::There => return Ok(Ok(Placed::Existing)),
        Looked::Refused(refusal) => return Ok(Err(refusal)),
    };
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
    let rows = session.run(Query::CountChildren, &[&parents, &graph.first_edge]).await?;
    let release = Release::of(&rows)?;
    written.undecided |= !release.undecided.is_empty();
    written.lanes.extend(release::to_nobody(session, now, release, Arrival::Appended).await?);
    Ok(Ok(Placed::Inserted))
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
