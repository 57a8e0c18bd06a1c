//! Retries a graph in place: holds it back, lets nodes wait anew, lets it go on.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use rusqlite::params;
use towpath_core::store::{Change, Changed, DueRetries, Order};
use towpath_core::{
    Behind, Condition, GraphId, JobId, NodeName, Payload, RetryEdge, RetryLater, RetryMode, RetryNode, RetryNodeEnd,
    RetryView, Retrying, Role, Standing, State, StopReason, Timestamp, Tries, VerdictTable, defaults,
};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Decide, Facts, Phase};
use crate::tx::Tx;

impl Tx<'_, '_> {
    pub(crate) fn begin_retry(
        &mut self,
        id: GraphId,
        mode: &RetryMode,
        grace: Duration,
        order: &Order,
    ) -> Result<Changed, Fault> {
        let Some(graph) = self.visible_graph(id)? else { return Ok(Changed::Unknown) };
        let (generation, _) = self.generation(graph)?;
        if let Some(retrying) = self.retrying(graph)? {
            return Ok(Changed::Retrying { retrying, generation });
        }
        if self.db.maybe(Query::GraphUndoing, [graph], |_| Ok(()))?.is_some() {
            return Ok(Changed::Undoing);
        }
        if let Some((_, by)) = self.graph_key_again(graph)? {
            return Ok(Changed::KeyTaken { by });
        }
        let stop = params![graph, StopReason::Retry.code(), self.now_us(), order.actor, order.reason];
        self.db.run(Query::StopReplace, stop)?;
        self.forget_stop(graph);
        let due = (self.now + grace).as_micros();
        self.db.run(Query::RetryInsert, params![graph, mode.to_stored(), self.now_us(), due])?;
        let end: i64 = self.db.one(Query::GraphEndNode, [graph], |row| Ok(row.get(0)?))?;
        self.take_back_end(graph, end, None)?;
        self.wait_anew(end, 0)?;
        self.db.run(Query::GraphAnew, [graph])?;
        self.take_back_decisions(graph)?;
        Ok(Changed::Retrying { retrying: Retrying { mode: mode.clone(), since: self.now }, generation })
    }

    /// Lets a graph wait whose `end` this is, until what failed in it runs again.
    pub(crate) fn retry_later(&mut self, end: &Facts, later: &RetryLater) -> Result<(), Fault> {
        let Some(graph) = end.graph else { return Ok(()) };
        // Somebody was quicker: it is decided anew.
        if !matches!(self.stop(graph)?, None | Some(StopReason::Fail)) {
            return self.leave_undecided(end.key);
        }
        let graph = self.db.one(Query::GraphId, [graph], |row| rows::graph_id(row, 0))?;
        let change = Change::BeginRetry { graph, mode: RetryMode::Failed, grace: later.after };
        let order = Order { actor: defaults::ACTOR.to_owned(), reason: later.reason.clone(), changes: Vec::new() };
        let changed = self.begin_retry(graph, &RetryMode::Failed, later.after, &order)?;
        self.audit(&order, &change, &changed)
    }

    /// How a graph stands to its policy of retries.
    pub(crate) fn tries(&mut self, graph: i64) -> Result<Tries, Fault> {
        self.db.one(Query::GraphTries, params![graph, Role::UNDO.bits()], |row| {
            let stop = row.get::<_, Option<i16>>(1)?.map(rows::stop_reason).transpose()?;
            Ok(Tries { generation: row.get(0)?, stop, is_barred: row.get(2)? })
        })
    }

    /// Takes a graph's nodes back that came for a decision about their parents or their graph.
    pub(crate) fn take_back_decisions(&mut self, graph: i64) -> Result<(), Fault> {
        let nodes: Vec<(i64, i64)> =
            self.db.all(Query::RetryDecisions, [graph], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (job, phase) in nodes {
            self.db.run(Query::UndecidedDelete, [job])?;
            let taken = self.take_running(job)?;
            match taken {
                Some(taken) if phase != Phase::Undecided as i64 => {
                    let place = self.facts(job)?.place;
                    self.make_ready(job, place, taken.counters)?;
                }
                _ => self.wait_anew(job, 0)?,
            }
        }
        Ok(())
    }

    /// The generation of a graph, and the place of its next edge.
    fn generation(&mut self, graph: i64) -> Result<(u32, u32), Fault> {
        self.db.one(Query::GraphGeneration, [graph], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn retrying(&mut self, graph: i64) -> Result<Option<Retrying>, Fault> {
        self.db.maybe(Query::RetryRead, [graph], |row| retrying(&row.get::<_, String>(0)?, row.get(1)?))
    }

    /// The graph, if it is being retried in this generation.
    fn retried(&mut self, id: GraphId, generation: u32) -> Result<Option<i64>, Fault> {
        let Some(graph) = self.visible_graph(id)? else { return Ok(None) };
        let is_so = self.generation(graph)?.0 == generation && self.retrying(graph)?.is_some();
        Ok(is_so.then_some(graph))
    }

    /// Lets a node wait for its parents, having been attempted so often.
    fn wait_anew(&mut self, job: i64, attempt: u32) -> Result<(), Fault> {
        self.db.run(Query::NodeWait, [job, i64::from(attempt)])?;
        Ok(())
    }

    pub(crate) fn rearm(
        &mut self,
        id: GraphId,
        generation: u32,
        nodes: &[JobId],
        (holding, undone, behind): (&[JobId], &[JobId], &[Behind]),
    ) -> Result<Changed, Fault> {
        let Some(graph) = self.retried(id, generation)? else { return Ok(Changed::NotRetrying) };
        let end: i64 = self.db.one(Query::GraphEndNode, [graph], |row| Ok(row.get(0)?))?;
        let mut children = BTreeSet::new();
        let mut rearmed = HashSet::new();
        for id in nodes {
            let Some(facts) = self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts)? else { continue };
            if facts.graph == Some(graph) && facts.key != end && self.rearm_node(&facts, &mut children)? {
                rearmed.insert(*id);
                if undone.contains(id) {
                    self.db.run(Query::NodeUndone, [facts.key])?;
                }
                if holding.contains(id) {
                    self.hold_end(graph, end, facts.key)?;
                }
            }
        }
        for wait in behind.iter().filter(|wait| rearmed.contains(&wait.child)) {
            self.wait_behind(graph, end, wait)?;
        }
        for child in children {
            self.pull_back(child)?;
        }
        let nodes = u32::try_from(rearmed.len()).unwrap_or(u32::MAX);
        self.db.run(Query::GraphRearmed, params![graph, nodes])?;
        Ok(Changed::Rearmed { nodes })
    }

    /// Whether the node was to be re-armed: it had ended.
    fn rearm_node(&mut self, facts: &Facts, children: &mut BTreeSet<i64>) -> Result<bool, Fault> {
        let job = facts.key;
        let ended =
            self.db.maybe(Query::EndedVerdict, [job], |row| Ok((rows::end(row.get(0)?)?, rows::labels(row, 1)?)))?;
        let Some((how, branches)) = ended else { return Ok(false) };
        for edge in self.edges_from(job, 0)? {
            let mut child = self.db.one(Query::NodeRead, [edge.child], rows::node)?;
            child.uncount(how, &branches, &edge);
            self.write_node(&child)?;
            children.insert(edge.child);
        }
        let counters = self.leave_end(facts)?;
        self.begin_anew(job)?;
        self.wait_anew(job, counters.map_or(0, |counters| counters.attempt))?;
        self.keep_undo(job)?;
        Ok(true)
    }

    /// Lets an undo wait until its graph has failed, and no `end` for it. Another node is left alone.
    fn keep_undo(&mut self, job: i64) -> Result<(), Fault> {
        if self.db.run(Query::UndoKeep, [job])? == 0 {
            return Ok(());
        }
        for edge in self.edges_from(job, 0)? {
            let mut end = self.db.one(Query::NodeRead, [edge.child], rows::node)?;
            end.counters.left -= 1;
            self.write_node(&end)?;
        }
        self.db.run(Query::EdgeDelete, [job])?;
        Ok(())
    }

    /// Lets the graph's `end` wait for a node, unless it does.
    fn hold_end(&mut self, graph: i64, end: i64, job: i64) -> Result<(), Fault> {
        if self.edges_from(job, 0)?.iter().any(|edge| edge.child == end) {
            return Ok(());
        }
        let (_, place) = self.generation(graph)?;
        let edge = params![job, place, end, Condition::Finished.table().bits(), None::<String>];
        self.db.run(Query::EdgeInsert, edge)?;
        self.db.run(Query::GraphGrow, params![graph, 0, 1])?;
        let mut node = self.db.one(Query::NodeRead, [end], rows::node)?;
        node.counters.left += 1;
        self.write_node(&node)
    }

    /// Lets a node that was re-armed wait for another one, unless it does.
    fn wait_behind(&mut self, graph: i64, end: i64, wait: &Behind) -> Result<(), Fault> {
        let mut find = |id: &JobId| self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts);
        let (Some(parent), Some(child)) = (find(&wait.parent)?, find(&wait.child)?) else { return Ok(()) };
        let is_there = self.edges_from(parent.key, 0)?.iter().any(|edge| edge.child == child.key);
        if parent.graph != Some(graph) || parent.key == end || is_there {
            return Ok(());
        }
        let (_, ord) = self.generation(graph)?;
        let verdicts = wait.condition.table();
        self.db.run(Query::EdgeInsert, params![parent.key, ord, child.key, verdicts.bits(), None::<String>])?;
        self.db.run(Query::GraphGrow, params![graph, 0, 1])?;
        let mut node = self.db.one(Query::NodeRead, [child.key], rows::node)?;
        node.counters.left += 1;
        let ended = self.db.maybe(Query::EndedVerdict, [parent.key], |row| rows::end(row.get(0)?))?;
        if let Some(how) = ended {
            let edge = self.edges_from(parent.key, 0)?.into_iter().find(|edge| edge.child == child.key);
            if let Some(edge) = edge {
                node.count(parent.key, how, &[], &edge);
            }
        }
        self.write_node(&node)
    }

    /// Lets a child wait again that was released and has not started, if a parent of it is to end first.
    fn pull_back(&mut self, job: i64) -> Result<(), Fault> {
        let node = self.db.one(Query::NodeRead, [job], rows::node)?;
        if node.phase != Phase::Released || node.counters.standing() != Standing::Waits {
            return Ok(());
        }
        if self.db.maybe(Query::RunBegun, [job], |_| Ok(()))?.is_some() {
            return Ok(());
        }
        let decide = self.db.maybe(Query::RunningDecide, [job], |row| rows::decide(row.get(0)?))?;
        let counters = match decide {
            Some(Decide::Stopped) => self.take_running(job)?.map(|taken| taken.counters),
            Some(_) => None,
            None => {
                let facts = self.facts(job)?;
                self.take_idle(&facts)?
            }
        };
        counters.map_or(Ok(()), |counters| self.wait_anew(job, counters.attempt))
    }

    pub(crate) fn end_retry(&mut self, id: GraphId, generation: u32) -> Result<Changed, Fault> {
        let Some(graph) = self.retried(id, generation)? else { return Ok(Changed::NotRetrying) };
        self.db.run(Query::StopDelete, params![graph, StopReason::Retry.code()])?;
        self.db.run(Query::RetryDelete, [graph])?;
        self.db.run(Query::GraphNext, [graph])?;
        self.forget_stop(graph);
        self.recount(graph)?;
        Ok(Changed::Retried { generation: generation + 1 })
    }

    pub(crate) fn replace_input(&mut self, id: JobId, input: &Payload) -> Result<Changed, Fault> {
        let Some(facts) = self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts)? else {
            return Ok(Changed::Unknown);
        };
        let job = facts.key;
        let is_retried = match facts.graph {
            Some(graph) => self.retrying(graph)?.is_some(),
            None => false,
        };
        match self.state(job)? {
            State::Ended(_) if !is_retried => return Ok(Changed::NotRetrying),
            State::Ended(_) => {}
            state => return Ok(Changed::Left(state)),
        }
        self.db.run(Query::JobInput, params![job, input.codec.code(), &input.bytes[..]])?;
        self.forget_marks(job)?;
        Ok(Changed::Edited)
    }
}

fn retrying(mode: &str, since: i64) -> Result<Retrying, Fault> {
    let mode =
        RetryMode::from_stored(mode).map_err(|e| Fault::corrupt(format!("the mode of a retry cannot be read: {e}")))?;
    Ok(Retrying { mode, since: Timestamp::from_micros(since) })
}

pub(crate) fn retry_view(db: &mut Db<'_>, id: GraphId) -> Result<Option<RetryView>, Fault> {
    let which = params![&id.as_bytes()[..], StopReason::Prune.code()];
    let graph = db.maybe(Query::GraphShape, which, |row| {
        let under_way = match row.get::<_, Option<String>>(2)? {
            Some(mode) => Some(retrying(&mode, row.get(3)?)?),
            None => None,
        };
        let stop = row.get::<_, Option<i16>>(4)?.map(rows::stop_reason).transpose()?;
        let is_undoing = rows::graph_end(row, 5)?.is_some();
        Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?, under_way, stop, is_undoing, row.get(6)?))
    })?;
    let Some((graph, generation, retrying, stop, is_undoing, rearmed)) = graph else { return Ok(None) };
    let mut places: HashMap<i64, usize> = HashMap::new();
    let mut nodes = Vec::new();
    let read = db.all(Query::ShapeNodes, params![graph, Role::END.bits()], shape_node)?;
    read.iter().enumerate().for_each(|(at, (job, ..))| {
        places.insert(*job, at);
    });
    for (_, guards, node) in read {
        nodes.push(RetryNode { guards: guards.and_then(|job| places.get(&job).copied()), ..node });
    }
    let edges: Vec<(i64, i64, i32)> =
        db.all(Query::ShapeEdges, [graph], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    // `end` has no place.
    let edges = edges.iter().filter_map(|(parent, child, verdicts)| {
        let verdicts = VerdictTable::from_bits(*verdicts);
        Some(RetryEdge { parent: *places.get(parent)?, child: *places.get(child)?, verdicts })
    });
    Ok(Some(RetryView { generation, rearmed, stop, is_undoing, retrying, edges: edges.collect(), nodes }))
}

/// The node, its key, and that of what it undoes, whose place is not known yet.
fn shape_node(row: &rusqlite::Row<'_>) -> Result<(i64, Option<i64>, RetryNode), Fault> {
    let name: String = row.get(2)?;
    let ended = match row.get::<_, Option<i16>>(4)? {
        Some(code) => {
            Some(RetryNodeEnd { end: rows::end(code)?, cause: rows::cause(row, 5)?, at: rows::instant(row, 6)? })
        }
        None => None,
    };
    let node = RetryNode {
        job: rows::job_id(row, 1)?,
        name: NodeName::from_stored(&name),
        role: Role::from_bits(row.get(3)?),
        guards: None,
        ended,
    };
    Ok((row.get(0)?, row.get(7)?, node))
}

pub(crate) fn retries(db: &mut Db<'_>, now: Timestamp, limit: u32) -> Result<DueRetries, Fault> {
    let graphs = db.all(Query::RetryList, params![now.as_micros(), limit], |row| rows::graph_id(row, 0))?;
    let next = db.one(Query::RetryNext, [now.as_micros()], |row| rows::instant_or_none(row, 0))?;
    Ok(DueRetries { graphs, next: next.map(|due| due.since(now)) })
}
