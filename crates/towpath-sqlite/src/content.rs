//! A graph as it would be enqueued once more.

use rusqlite::{Row, params};
use towpath_core::{
    Condition, Due, FailureMode, GraphId, GraphName, GraphRules, Kind, Need, NewEdge, NewGraph, NewJob, NewNode,
    NodeName, Queue, Role, RunId, StopReason, Timestamp, VerdictTable,
};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;

pub(crate) fn content(db: &mut Db<'_>, id: GraphId, now: Timestamp) -> Result<Option<NewGraph>, Fault> {
    let which = params![&id.as_bytes()[..], StopReason::Prune.code()];
    let found = db.maybe(Query::GraphContent, which, |row| {
        let name: String = row.get(1)?;
        let rules = rows::json(row, 2, |text| GraphRules::from_stored(Some(text)))?.unwrap_or_default();
        let (nodes, edges) = (Vec::new(), Vec::new());
        let name = GraphName::from_stored(&name);
        Ok((
            row.get::<_, i64>(0)?,
            NewGraph { id, name, rules, input: rows::payload(row, 3)?, unique: None, nodes, edges },
        ))
    })?;
    let Some((key, mut graph)) = found else { return Ok(None) };
    let of_graph = params![key, Role::END.bits()];
    graph.nodes = db.all(Query::ContentNodes, of_graph, |row| node(row, now))?;
    graph.edges = db.all(Query::GraphEdges, of_graph, edge)?;
    Ok(Some(graph))
}

fn node(row: &Row<'_>, now: Timestamp) -> Result<NewNode, Fault> {
    let (name, queue, kind): (String, String, String) = (row.get(0)?, row.get(4)?, row.get(5)?);
    let role = Role::from_bits(row.get(1)?);
    let due = match (row.get::<_, Option<i64>>(8)?, rows::instant_or_none(row, 9)?) {
        (Some(delay), _) => Due::After(towpath_core::from_micros(delay)),
        (None, Some(at)) => Due::At(at),
        (None, None) => Due::Now,
    };
    let job = NewJob {
        version: row.get(6)?,
        queue: Queue::from_stored(&queue),
        priority: row.get(7)?,
        due,
        deadline: rows::instant_or_none(row, 10)?.filter(|at| *at > now),
        rules: rows::rules(row, 11)?,
        tags: rows::texts(row, 12)?,
        headers: rows::headers(row, 13)?,
        input: rows::payload(row, 14)?.unwrap_or_default(),
        run: row.get::<_, Option<String>>(16)?.as_deref().map(RunId::from_stored),
        ..NewJob::new(rows::job_id(row, 3)?, Kind::from_stored(&kind))
    };
    Ok(NewNode {
        name: NodeName::from_stored(&name),
        job,
        need: if role.has(Role::AT_LEAST) { Need::AtLeast(row.get(2)?) } else { Need::All },
        failure: if role.has(Role::MAY_FAIL) { FailureMode::MayFail } else { FailureMode::Counts },
        guards: row.get::<_, Option<String>>(17)?.as_deref().map(NodeName::from_stored),
    })
}

fn edge(row: &Row<'_>) -> Result<NewEdge, Fault> {
    let (parent, child): (String, String) = (row.get(0)?, row.get(1)?);
    let label = row.get::<_, Option<String>>(3)?.as_deref().map(towpath_core::Label::from_stored);
    let condition = Condition::of(VerdictTable::from_bits(row.get(2)?), label.as_ref()).ok_or_else(|| {
        Fault::corrupt(format!("the edge from {parent} to {child} asks for what this binary does not know"))
    })?;
    Ok(NewEdge { parent: NodeName::from_stored(&parent), child: NodeName::from_stored(&child), condition })
}
