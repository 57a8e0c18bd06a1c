//! Retries a graph in place: holds it back, lets nodes wait anew, lets it go on.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio_postgres::Row;
use towpath_core::store::{CancelNote, Change, Changed, DueRetries, Parent};
use towpath_core::{
    Behind, Condition, GraphId, JobId, NodeName, Payload, RetryEdge, RetryLater, RetryMode, RetryNode, RetryNodeEnd,
    RetryView, Retrying, Role, State, StopReason, Timestamp, Tries, VerdictTable, defaults,
};
use uuid::Uuid;

use crate::apply::Orders;
use crate::error::Fault;
use crate::queries::Query;
use crate::requeue::graph_key_again;
use crate::rows::{Facts, count, end, instant, parsed, stop, stored};
use crate::session::Session;
use crate::turn::lock_nodes;

/// A locked graph that is to be retried, or is.
struct Looked {
    graph: i64,
    generation: u32,
    retrying: Option<Retrying>,
    /// The key of its `end`.
    end: i64,
    /// Whether undos of it run, or are to come.
    is_undoing: bool,
}

/// What `end` nodes of graphs decide that are tried again.
#[derive(Default)]
pub(crate) struct Retries(Vec<(i64, i64, RetryLater)>);

impl Retries {
    pub(crate) fn push(&mut self, end: i64, graph: i64, later: &RetryLater) {
        self.0.push((end, graph, later.clone()));
    }

    /// Lets the graphs wait until what failed in them runs again. They and their ends are locked, and all else of them has
    /// ended, so no decision is to be taken back.
    pub(crate) async fn write(&self, session: &Session, now: i64) -> Result<(), Fault> {
        let (since, reason) = (Timestamp::from_micros(now), StopReason::Retry.code());
        for (end, graph, later) in &self.0 {
            let row = session.one(Query::RetryLook, &[graph]).await?;
            let generation = count(row.try_get(0)?);
            let id = GraphId::from(row.try_get::<_, Uuid>(4)?);
            let mode = RetryMode::Failed;
            let (actor, due) = (defaults::ACTOR, (since + later.after).as_micros());
            session.run(Query::StopReplace, &[graph, &reason, &now, &actor, &later.reason]).await?;
            session.run(Query::RetryBegin, &[graph, end, &now, &due, &mode.to_stored()]).await?;
            let change = Change::BeginRetry { graph: id, mode: mode.clone(), grace: later.after };
            let changed = Changed::Retrying { retrying: Retrying { mode, since }, generation };
            let line = [vec![change.action().to_owned()], vec![change.target()], vec![changed.to_string()]];
            session.run(Query::Audit, &[&now, &actor, &later.reason, &line[0], &line[1], &line[2]]).await?;
        }
        Ok(())
    }
}

/// Reads how graphs stand to their policies of retries.
pub(crate) async fn look(session: &Session, graphs: &[i64], ends: &mut HashMap<i64, Facts>) -> Result<(), Fault> {
    if graphs.is_empty() {
        return Ok(());
    }
    for row in session.run(Query::EndTries, &[&graphs]).await? {
        let tries =
            Tries { generation: count(row.try_get(1)?), stop: stop(row.try_get(2)?), is_barred: row.try_get(3)? };
        if let Some(facts) = ends.get_mut(&row.try_get(0)?) {
            facts.tries = Some(tries);
        }
    }
    Ok(())
}

impl Orders<'_> {
    async fn look(&self, id: GraphId) -> Result<Option<Looked>, Fault> {
        let Some((graph, _)) = self.graph(id).await? else { return Ok(None) };
        let row = self.session.one(Query::RetryLook, &[&graph]).await?;
        let generation = count(row.try_get(0)?);
        let (end, is_undoing) = (row.try_get(3)?, row.try_get(5)?);
        Ok(Some(Looked { graph, generation, retrying: retrying(&row, 1)?, end, is_undoing }))
    }

    pub(crate) async fn begin_retry(
        &mut self,
        id: GraphId,
        mode: &RetryMode,
        grace: Duration,
    ) -> Result<Changed, Fault> {
        let Some(looked) = self.look(id).await? else { return Ok(Changed::Unknown) };
        let Looked { graph, generation, end, is_undoing, .. } = looked;
        if let Some(retrying) = looked.retrying {
            return Ok(Changed::Retrying { retrying, generation });
        }
        if is_undoing {
            return Ok(Changed::Undoing);
        }
        if let Some((_, by)) = graph_key_again(self.session, self.now, graph).await? {
            return Ok(Changed::KeyTaken { by });
        }
        self.lock_nodes_of(graph).await?;
        let (session, now, order) = (self.session, self.now, self.order);
        let reason = StopReason::Retry.code();
        session.run(Query::StopReplace, &[&graph, &reason, &now, &order.actor, &order.reason]).await?;
        let due = (Timestamp::from_micros(now) + grace).as_micros();
        session.run(Query::RetryBegin, &[&graph, &end, &now, &due, &mode.to_stored()]).await?;
        self.take_back_decisions(graph).await?;
        let retrying = Retrying { mode: mode.clone(), since: Timestamp::from_micros(now) };
        Ok(Changed::Retrying { retrying, generation })
    }

    /// Takes a graph's nodes back that came for a decision about their parents or their graph.
    pub(crate) async fn take_back_decisions(&mut self, graph: i64) -> Result<(), Fault> {
        for row in self.session.run(Query::RetryTakeBack, &[&graph]).await? {
            self.lanes.push(row.try_get(0)?);
        }
        Ok(())
    }

    pub(crate) async fn rearm(
        &mut self,
        id: GraphId,
        generation: u32,
        nodes: &[JobId],
        (holding, undone, behind): (&[JobId], &[JobId], &[Behind]),
    ) -> Result<Changed, Fault> {
        let looked = self.look(id).await?.filter(|l| l.generation == generation && l.retrying.is_some());
        let Some(Looked { graph, end, .. }) = looked else { return Ok(Changed::NotRetrying) };
        let session = self.session;
        let ids: Vec<Uuid> = nodes.iter().map(|id| id.as_uuid()).collect();
        let mut keys: Vec<i64> = Vec::with_capacity(ids.len());
        let (holding, undone): (HashSet<&JobId>, HashSet<&JobId>) = (holding.iter().collect(), undone.iter().collect());
        let (mut held, mut again): (HashSet<i64>, HashSet<i64>) = Default::default();
        for row in session.run(Query::FindJobs, &[&ids]).await? {
            let key: i64 = row.try_get(1)?;
            if row.try_get::<_, Option<i64>>(2)? == Some(graph) && key != end {
                let id = JobId::from(row.try_get::<_, Uuid>(0)?);
                keys.push(key);
                if holding.contains(&id) {
                    held.insert(key);
                }
                again.extend(undone.contains(&id).then_some(key));
            }
        }
        let children = keys_of(&session.run(Query::RearmChildren, &[&keys]).await?)?;
        session.run(Query::LockRunning, &[&children]).await?;
        let locked: Vec<i64> = keys.iter().copied().chain([end]).collect();
        lock_nodes(session, &locked).await?;

        let (mut ended, mut begun, mut undos): (Vec<i64>, Vec<i64>, Vec<i64>) = Default::default();
        for row in session.run(Query::RearmLook, &[&keys]).await? {
            let job: i64 = row.try_get(0)?;
            ended.push(job);
            begun.extend(row.try_get::<_, bool>(1)?.then_some(job));
            undos.extend(row.try_get::<_, bool>(2)?.then_some(job));
        }
        if !begun.is_empty() {
            session.run(Query::RearmRuns, &[&begun, &CancelNote::NAME, &Parent::PREFIX]).await?;
        }
        session.run(Query::RearmUncount, &[&ended]).await?;
        let was_undone: Vec<bool> = ended.iter().map(|job| again.contains(job)).collect();
        session.run(Query::RearmTake, &[&ended, &self.now, &was_undone]).await?;
        if !undos.is_empty() {
            session.run(Query::RearmUndos, &[&undos, &end]).await?;
        }
        let held: Vec<i64> = ended.iter().filter(|job| held.contains(job)).copied().collect();
        if !held.is_empty() {
            let verdicts = Condition::Finished.table().bits();
            session.run(Query::RearmHold, &[&graph, &end, &held, &verdicts]).await?;
        }
        self.wait_behind((graph, end), behind, &ended).await?;
        self.pull_back(&children).await?;
        let nodes = u32::try_from(ended.len()).unwrap_or(u32::MAX);
        session.run(Query::RearmCount, &[&graph, &stored(nodes)]).await?;
        Ok(Changed::Rearmed { nodes })
    }

    /// Lets nodes that were re-armed wait for others.
    async fn wait_behind(&self, (graph, end): (i64, i64), behind: &[Behind], ended: &[i64]) -> Result<(), Fault> {
        if behind.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = behind.iter().flat_map(|wait| [wait.parent, wait.child]).map(|id| id.as_uuid()).collect();
        let mut keys: HashMap<JobId, i64> = HashMap::new();
        for row in self.session.run(Query::FindJobs, &[&ids]).await? {
            let key: i64 = row.try_get(1)?;
            if row.try_get::<_, Option<i64>>(2)? == Some(graph) && key != end {
                keys.insert(JobId::from(row.try_get::<_, Uuid>(0)?), key);
            }
        }
        let ended: HashSet<i64> = ended.iter().copied().collect();
        let (mut parents, mut children, mut verdicts): (Vec<i64>, Vec<i64>, Vec<i32>) = Default::default();
        for wait in behind {
            let (Some(parent), Some(child)) = (keys.get(&wait.parent), keys.get(&wait.child)) else { continue };
            if ended.contains(child) {
                parents.push(*parent);
                children.push(*child);
                verdicts.push(wait.condition.table().bits());
            }
        }
        self.session.run(Query::RearmBehind, &[&graph, &parents, &children, &verdicts]).await?;
        Ok(())
    }

    /// Lets children wait again that were released and have not started, if a parent of theirs is to end first.
    async fn pull_back(&self, children: &[i64]) -> Result<(), Fault> {
        let session = self.session;
        let freed = keys_of(&session.run(Query::RearmFreed, &[&children]).await?)?;
        if freed.is_empty() {
            return Ok(());
        }
        let (mut jobs, mut attempts): (Vec<i64>, Vec<i32>) = (Vec::new(), Vec::new());
        for query in [Query::TakeIdle, Query::RearmStopped] {
            for row in session.run(query, &[&freed]).await? {
                jobs.push(row.try_get(0)?);
                attempts.push(row.try_get(1)?);
            }
        }
        if jobs.len() < freed.len() {
            return Err(Fault::Again("a node was claimed just now"));
        }
        session.run(Query::RearmWait, &[&jobs, &attempts]).await?;
        Ok(())
    }

    pub(crate) async fn end_retry(&mut self, id: GraphId, generation: u32) -> Result<Changed, Fault> {
        let looked = self.look(id).await?.filter(|l| l.generation == generation && l.retrying.is_some());
        let Some(Looked { graph, .. }) = looked else { return Ok(Changed::NotRetrying) };
        self.lock_nodes_of(graph).await?;
        self.session.run(Query::RetryEnd, &[&graph]).await?;
        self.recount(graph).await?;
        Ok(Changed::Retried { generation: generation + 1 })
    }

    pub(crate) async fn replace_input(&mut self, id: JobId, input: &Payload) -> Result<Changed, Fault> {
        let session = self.session;
        let found = session.run(Query::FindJobs, &[&vec![id.as_uuid()]]).await?;
        let Some(row) = found.first() else { return Ok(Changed::Unknown) };
        let (job, graph): (i64, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
        // Behind the lock on a graph that this order has begun to retry, or in whose retry it is.
        let is_retried = match graph {
            Some(graph) => match session.run(Query::RetryLook, &[&graph]).await?.first() {
                Some(row) => retrying(row, 1)?.is_some(),
                None => return Ok(Changed::Unknown),
            },
            None => false,
        };
        match self.state_of(job).await? {
            // A prune may have had it meanwhile.
            None => return Ok(Changed::Unknown),
            Some(State::Ended(_)) if !is_retried => return Ok(Changed::NotRetrying),
            Some(State::Ended(_)) => {}
            Some(state) => return Ok(Changed::Left(state)),
        }
        session.run(Query::EditInput, &[&job, &input.codec.code(), &&input.bytes[..]]).await?;
        Ok(Changed::Edited)
    }
}

fn keys_of(rows: &[Row]) -> Result<Vec<i64>, Fault> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// The mode and the start of a retry, if the graph is being retried.
fn retrying(row: &Row, at: usize) -> Result<Option<Retrying>, Fault> {
    let Some(mode) = row.try_get::<_, Option<&str>>(at)? else { return Ok(None) };
    let mode = RetryMode::from_stored(mode)
        .map_err(|e| Fault::corrupt("retry", format!("the mode of a retry cannot be read: {e}")))?;
    Ok(Some(Retrying { mode, since: Timestamp::from_micros(row.try_get(at + 1)?) }))
}

pub(crate) async fn retry_view(session: Session, id: GraphId) -> Result<Option<RetryView>, Fault> {
    let found = session.run(Query::ShapeGraph, &[&id.as_uuid()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let graph: i64 = row.try_get(0)?;
    let (nodes, edges) = futures_util::future::try_join(
        session.run(Query::ShapeNodes, &[&graph]),
        session.run(Query::ShapeEdges, &[&graph]),
    )
    .await?;
    let mut places: HashMap<i64, usize> = HashMap::with_capacity(nodes.len());
    for (at, row) in nodes.iter().enumerate() {
        places.insert(row.try_get(0)?, at);
    }
    let mut joined = Vec::with_capacity(edges.len());
    for row in &edges {
        // `end` has no place.
        if let (Some(parent), Some(child)) = (places.get(&row.try_get(0)?), places.get(&row.try_get(1)?)) {
            let verdicts = VerdictTable::from_bits(row.try_get(2)?);
            joined.push(RetryEdge { parent: *parent, child: *child, verdicts });
        }
    }
    Ok(Some(RetryView {
        generation: count(row.try_get(1)?),
        rearmed: count(row.try_get(6)?),
        stop: stop(row.try_get(4)?),
        is_undoing: row.try_get::<_, Option<i16>>(5)?.is_some(),
        retrying: retrying(row, 2)?,
        nodes: nodes.iter().map(|row| shape_node(row, &places)).collect::<Result<_, _>>()?,
        edges: joined,
    }))
}

fn shape_node(row: &Row, places: &HashMap<i64, usize>) -> Result<RetryNode, Fault> {
    let ended = match row.try_get::<_, Option<i16>>(4)? {
        Some(code) => Some(RetryNodeEnd {
            end: end(code)?,
            cause: parsed(row.try_get(5)?),
            at: Timestamp::from_micros(row.try_get(6)?),
        }),
        None => None,
    };
    Ok(RetryNode {
        job: JobId::from(row.try_get::<_, Uuid>(1)?),
        name: NodeName::from_stored(row.try_get(2)?),
        role: Role::from_bits(row.try_get(3)?),
        guards: row.try_get::<_, Option<i64>>(7)?.and_then(|job| places.get(&job).copied()),
        ended,
    })
}

pub(crate) async fn retries(session: Session, limit: u32) -> Result<DueRetries, Fault> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let mut due = DueRetries::default();
    for row in session.run(Query::RetryList, &[&limit]).await? {
        let now = Timestamp::from_micros(row.try_get(0)?);
        due.next = instant(row.try_get(1)?).map(|next| next.since(now));
        due.graphs.extend(row.try_get::<_, Option<Uuid>>(2)?.map(GraphId::from));
    }
    Ok(due)
}
