//! Undos: how they stand when the `end` of their graph is decided, and what the decision does to them.

use std::collections::HashMap;

use futures_util::future::try_join;
use tokio_postgres::Row;
use towpath_core::{Condition, GraphEnd, GraphRules, Guard, Guarded, JobId, NodeName, UndoStep, Undoing, limits};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival};
use crate::retry;
use crate::rows::{Facts, count, end_count, stored, with};
use crate::session::Session;

/// What `end` nodes do to the undos of their graphs. Undos that end unrun are ended like other nodes.
#[derive(Default)]
pub(crate) struct Steps(Vec<Step>);

struct Step {
    end: i64,
    graph: i64,
    step: UndoStep,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Stepped {
    /// The lanes that have more.
    pub(crate) lanes: Vec<i32>,
    /// Whether an `end` waits for a decision again.
    pub(crate) undecided: bool,
    /// The undos that ended unrun.
    pub(crate) ended: Vec<JobId>,
}

impl Steps {
    pub(crate) fn push(&mut self, end: i64, graph: i64, step: &UndoStep) {
        self.0.push(Step { end, graph, step: step.clone() });
    }

    /// Carries them out. The graphs, their ends and the undos are locked.
    pub(crate) async fn write(&self, session: &Session, now: i64) -> Result<Stepped, Fault> {
        let mut stepped = Stepped::default();
        let finished = Condition::Finished.table().bits();
        for Step { end, graph, step } in &self.0 {
            let passed: Vec<i64> = step.pass.iter().map(|passed| passed.key).collect();
            let (verdict, rank) = (step.verdict.code(), step.rank.map(stored));
            let row = session
                .one(Query::SettleUndo, &[end, graph, &verdict, &rank, &step.start, &passed, &finished, &step.more])
                .await?;
            stepped.undecided |= row.try_get::<_, bool>(0)?;
            stepped.ended.extend(row.try_get::<_, Vec<Uuid>>(1)?.into_iter().map(JobId::from));
            stepped.lanes.extend(release::make_ready(session, now, &step.start, Arrival::Now).await?);
        }
        Ok(stepped)
    }
}

/// Reads how the nodes and undos stand of the graphs whose `end` is among these rows of `held`.
pub(crate) async fn look_at_ends(session: &Session, rows: &[Row], ends: &mut HashMap<i64, Facts>) -> Result<(), Fault> {
    // Of a graph whose undos have begun the nodes are counted only once nothing is left of them.
    let (mut graphs, mut begun, mut retried) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let Some(graph) = row.try_get::<_, Option<i64>>("graph_key")? else { continue };
        if row.try_get::<_, i16>(2)? != with::END {
            continue;
        }
        let verdict = row.try_get::<_, Option<i16>>("undoing")?.and_then(GraphEnd::from_code);
        if verdict.is_some() {
            begun.push(graph);
        } else {
            graphs.push(graph);
            let rules = GraphRules::from_stored(row.try_get("graph_rules")?).unwrap_or_default();
            retried.extend(rules.retry.is_some().then_some(graph));
        }
        let undoing = Undoing {
            verdict,
            rank: row.try_get::<_, Option<i32>>("undo_rank")?.map(count),
            running: count(row.try_get("end_left")?),
            waiting: Vec::new(),
        };
        ends.insert(graph, Facts { counts: Vec::new(), undoing, tries: None });
    }
    if ends.is_empty() {
        return Ok(());
    }
    let all: Vec<i64> = graphs.iter().chain(&begun).copied().collect();
    let limit = i32::from(limits::UNDOS_MAX);
    let ((), waiting) =
        try_join(count_nodes(session, &graphs, ends), session.run(Query::EndUndos, &[&all, &limit])).await?;
    for row in &waiting {
        if let Some(facts) = ends.get_mut(&row.try_get(0)?) {
            facts.undoing.waiting.push(guard(row)?);
        }
    }
    retry::look(session, &retried, ends).await?;
    begun.retain(|graph| ends.get(graph).is_some_and(|facts| facts.undoing.wants_counts()));
    count_nodes(session, &begun, ends).await
}

async fn count_nodes(session: &Session, graphs: &[i64], ends: &mut HashMap<i64, Facts>) -> Result<(), Fault> {
    if graphs.is_empty() {
        return Ok(());
    }
    for row in session.run(Query::EndCounts, &[&graphs]).await? {
        let (graph, count) = end_count(&row)?;
        if let Some(facts) = ends.get_mut(&graph) {
            facts.counts.push(count);
        }
    }
    Ok(())
}

fn guard(row: &Row) -> Result<Guard, Fault> {
    Ok(Guard {
        key: row.try_get(1)?,
        rank: count(row.try_get(2)?),
        node: NodeName::from_stored(row.try_get(3)?),
        guarded: match row.try_get::<_, i16>(4)? {
            0 => Guarded::Started,
            1 => Guarded::NeverStarted,
            _ => Guarded::Committed,
        },
    })
}
