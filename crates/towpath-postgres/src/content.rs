//! A graph as it would be enqueued once more.

use tokio_postgres::Row;
use towpath_core::store::EdgeLine;
use towpath_core::{
    Condition, Due, FailureMode, GraphId, GraphName, GraphRules, JobId, Kind, Need, NewEdge, NewGraph, NewJob, NewNode,
    NodeName, Queue, Role, RunId, Timestamp,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::inspect::{edge_lines, names};
use crate::queries::Query;
use crate::rows::{count, instant, parsed, payload, rules};
use crate::session::Session;

pub(crate) async fn content(session: Session, id: GraphId) -> Result<Option<NewGraph>, Fault> {
    let found = session.run(Query::GraphContent, &[&id.as_uuid()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let key: i64 = row.try_get(0)?;
    let (nodes, edges) = futures_util::future::try_join(
        session.run(Query::ContentNodes, &[&key]),
        session.run(Query::GraphEdges, &[&key]),
    )
    .await?;
    Ok(Some(NewGraph {
        id,
        name: GraphName::from_stored(row.try_get(1)?),
        rules: GraphRules::from_stored(row.try_get(2)?).unwrap_or_default(),
        input: payload(row.try_get(3)?, row.try_get(4)?),
        unique: None,
        nodes: nodes.iter().map(node).collect::<Result<_, _>>()?,
        edges: edge_lines(&edges, &names(&nodes)?)?.into_iter().map(edge).collect::<Result<_, _>>()?,
    }))
}

fn node(row: &Row) -> Result<NewNode, Fault> {
    let role = Role::from_bits(row.try_get(1)?);
    let due = match (row.try_get::<_, Option<i64>>(8)?, row.try_get::<_, Option<i64>>(9)?) {
        (Some(delay), _) => Due::After(towpath_core::from_micros(delay)),
        (None, Some(at)) => Due::At(Timestamp::from_micros(at)),
        (None, None) => Due::Now,
    };
    let is_expired = row.try_get::<_, Option<bool>>(17)?.unwrap_or_default();
    let job = NewJob {
        version: u16::try_from(row.try_get::<_, i32>(6)?).unwrap_or(u16::MAX),
        queue: Queue::from_stored(row.try_get(4)?),
        priority: row.try_get(7)?,
        due,
        deadline: instant(row.try_get(10)?).filter(|_| !is_expired),
        rules: rules(row.try_get(11)?),
        tags: parsed(row.try_get(12)?).unwrap_or_default(),
        headers: parsed(row.try_get(13)?).unwrap_or_default(),
        input: payload(row.try_get(14)?, row.try_get(15)?).unwrap_or_default(),
        run: row.try_get::<_, Option<&str>>(16)?.map(RunId::from_stored),
        ..NewJob::new(JobId::from(row.try_get::<_, Uuid>(3)?), Kind::from_stored(row.try_get(5)?))
    };
    let need = count(row.try_get(2)?);
    Ok(NewNode {
        name: NodeName::from_stored(row.try_get(0)?),
        job,
        need: if role.has(Role::AT_LEAST) { Need::AtLeast(need) } else { Need::All },
        failure: if role.has(Role::MAY_FAIL) { FailureMode::MayFail } else { FailureMode::Counts },
        guards: row.try_get::<_, Option<&str>>(18)?.map(NodeName::from_stored),
    })
}

fn edge(line: EdgeLine) -> Result<NewEdge, Fault> {
    let EdgeLine { parent, child, verdicts, label } = line;
    let condition = Condition::of(verdicts, label.as_ref()).ok_or_else(|| {
        let detail = format!("the edge from {parent} to {child} asks for what this binary does not know");
        Fault::corrupt("read a graph", detail)
    })?;
    Ok(NewEdge { parent, child, condition })
}
