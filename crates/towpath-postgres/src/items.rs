//! Items as the schema's function `enqueue_items` takes them, and its answers as the core has them.
//!
//! One text goes in and one comes out, so that any driver can send it inside an application's own transaction. Batches with
//! unique keys go this way too: the keys are looked at and taken on the server, in one exchange.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use towpath_core::store::{Enqueued, Item, Placed, Refusal};
use towpath_core::{
    Clash, Codec, Due, GraphId, JobId, KeyHolder, NewJob, ParentRef, Payload, PreparedGraph, PreparedNode, Restart,
    Role, RunId, Timestamp, Unique, UniqueKey, Wiring, micros,
};
use uuid::Uuid;

use crate::enqueue::{DELAY_US_MAX, Written, jobs_of};
use crate::error::Fault;
use crate::queries::Query;
use crate::session::Session;
use crate::start::{self, start_value};
use crate::store::{Inner, News};

/// A batch on its way to the function: what it is sent, and what was refused before.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The items, as JSON.
    pub(crate) text: String,
    /// Of each item its refusal, if it is not sent.
    refused: Vec<Option<Refusal>>,
}

/// Carries out a batch of jobs and graphs in one exchange, which is one transaction.
pub(crate) async fn enqueue(inner: &Inner, session: &Session, items: &[Item]) -> Result<(Enqueued, News), Fault> {
    let mut written = Written::default();
    let sent = Sent::of(inner, items)?;
    let text: String = session.one(Query::EnqueueItems, &[&sent.text, &None::<i64>]).await?.try_get(0)?;
    let enqueued = sent.answer(inner, items, &text, &mut written)?;
    inner.server.commits.durable(std::time::Duration::ZERO);
    Ok((enqueued, written.tell(inner)?))
}

/// Carries out a part of a batch, inside the verb's transaction.
pub(crate) async fn enqueue_part(
    inner: &Inner,
    session: &Session,
    now: i64,
    items: &[Item],
    written: &mut Written,
) -> Result<Vec<Result<Placed, Refusal>>, Fault> {
    let sent = Sent::of(inner, items)?;
    let text: String = session.one(Query::EnqueueItems, &[&sent.text, &Some(now)]).await?.try_get(0)?;
    Ok(sent.answer(inner, items, &text, written)?.items)
}

impl Sent {
    /// The text of items whose lanes are interned.
    pub(crate) fn of(inner: &Inner, items: &[Item]) -> Result<Self, Fault> {
        let (mut sent, mut refused) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for item in items {
            let refusal = match item {
                Item::Job(job) => match job.check() {
                    Ok(()) => {
                        sent.push(Value::Object(job_value(inner, job)?));
                        None
                    }
                    Err(refusal) => Some(refusal),
                },
                Item::Graph(graph) => {
                    sent.push(graph_value(inner, graph)?);
                    None
                }
                Item::Start(start) => match start.check() {
                    Ok(()) => {
                        sent.push(start_value(inner, start)?);
                        None
                    }
                    Err(refusal) => Some(refusal),
                },
                _ => Some(Refusal::Invalid { problem: "an append cannot be sent in this way".into() }),
            };
            refused.push(refusal);
        }
        Ok(Self { text: Value::Array(sent).to_string(), refused })
    }

    /// Reads the function's answer.
    pub(crate) fn answer(
        &self,
        inner: &Inner,
        items: &[Item],
        text: &str,
        written: &mut Written,
    ) -> Result<Enqueued, Fault> {
        let unreadable =
            |e: &dyn std::fmt::Display| Fault::corrupt("enqueue", format!("an answer cannot be read: {e}"));
        let answers: Answers = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
        let mut answered = answers.items.into_iter();
        let mut placed = Vec::with_capacity(items.len());
        for (item, refused) in items.iter().zip(&self.refused) {
            placed.push(match refused {
                Some(refusal) => Err(refusal.clone()),
                None => {
                    let answer = answered.next().ok_or_else(|| unreadable(&"it is too short"))?;
                    answer.placed(inner, item, written)?
                }
            });
        }
        Ok(Enqueued { now: Timestamp::from_micros(answers.now), items: placed })
    }
}

#[derive(Deserialize)]
struct Answers {
    now: i64,
    items: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    is: String,
    id: Option<Uuid>,
    key: Option<i64>,
    kind: Option<String>,
    name: Option<String>,
    run: Option<String>,
    /// The lanes of runs that a signal has woken, and the least seq of them.
    #[serde(default)]
    lanes: Vec<i32>,
    first: Option<i64>,
}

impl Answer {
    fn placed(self, inner: &Inner, item: &Item, written: &mut Written) -> Result<Result<Placed, Refusal>, Fault> {
        let id = self.id.unwrap_or_default();
        let holder = match item {
            Item::Graph(_) => KeyHolder::Graph(GraphId::from(id)),
            _ => KeyHolder::Job(JobId::from(id)),
        };
        let is_new = self.is == "inserted" || self.is == "replaced";
        if is_new {
            for job in jobs_of(item).into_iter().filter(|job| job.kind.as_str() != towpath_core::Kind::END) {
                written.lanes.insert(inner.lanes.number(job)?);
            }
            written.first = written.first.into_iter().chain(self.key).min();
        }
        if let Item::Start(start) = item {
            written.lanes.extend(&self.lanes);
            written.first = written.first.into_iter().chain(self.first).min();
            written.signalled.extend(start.signal.iter().map(|signal| signal.run.clone()));
            if let Some(answer) = start::answered(start, &self.is, JobId::from(id)) {
                return Ok(answer);
            }
        }
        Ok(match self.is.as_str() {
            "inserted" => Ok(Placed::Inserted),
            "existing" => Ok(Placed::Existing),
            "held" => Ok(Placed::Held(holder)),
            "replaced" => Ok(Placed::Replaced(JobId::from(id))),
            "key_taken" => Err(Refusal::KeyTaken { key: key_of(item), by: holder }),
            "job_conflict" => Err(Refusal::JobConflict { id: JobId::from(id), kind: self.kind.unwrap_or_default() }),
            "run_taken" => {
                let run = RunId::from_stored(self.run.as_deref().unwrap_or_default());
                Err(Refusal::RunTaken { id: run, job: JobId::from(id) })
            }
            "graph_conflict" => {
                Err(Refusal::GraphConflict { id: GraphId::from(id), name: self.name.unwrap_or_default() })
            }
            other => return Err(Fault::corrupt("enqueue", format!("an answer {other:?} is not known"))),
        })
    }
}

fn key_of(item: &Item) -> UniqueKey {
    let unique = match item {
        Item::Job(job) => job.unique.as_deref(),
        Item::Graph(graph) => graph.unique(),
        _ => None,
    };
    unique.map_or_else(|| UniqueKey::from_stored(""), |unique| unique.key.clone())
}

/// Fields that are left out are null to the function.
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    fn payload(&mut self, payload: &Payload) {
        self.put("codec", payload.codec.code());
        match std::str::from_utf8(&payload.bytes) {
            Ok(text) if payload.codec == Codec::Json && !text.contains('\0') => self.put("input", text),
            _ => self.put("hex", payload.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        }
    }

    fn unique(&mut self, unique: &Unique) {
        let clash = match unique.clash() {
            Clash::Keep => 0,
            Clash::Refuse => 1,
            Clash::Replace => 2,
        };
        self.put(
            "unique",
            json!({
                "key": unique.key.as_str(), "hold": unique.hold.code(), "window_us": unique.hold.window_us(),
                "clash": clash, "fields": unique.fields().bits(), "at_most_us": unique.at_most().map(micros),
            }),
        );
    }
}

/// A payload as the function takes it.
pub(crate) fn payload_value(payload: &Payload) -> Map<String, Value> {
    let mut fields = Fields(Map::new());
    fields.payload(payload);
    fields.0
}

/// A job as the function takes it.
pub(crate) fn job_value(inner: &Inner, job: &NewJob) -> Result<Map<String, Value>, Fault> {
    let mut fields = Fields(Map::new());
    fields.put("id", job.id.to_string());
    fields.put("kind", job.kind.as_str());
    fields.put("version", job.version);
    fields.put("queue", job.queue.as_str());
    fields.put("lane", inner.lanes.number(job)?);
    fields.put("priority", job.priority);
    match job.due {
        Due::Now => {}
        Due::After(wait) => fields.put("delay_us", micros(wait).min(DELAY_US_MAX)),
        Due::At(at) => fields.put("due_at", at.as_micros()),
    }
    fields.maybe("deadline", job.deadline.map(Timestamp::as_micros));
    fields.maybe("rules", job.rules_to_store());
    fields.maybe("tags", (!job.tags.is_empty()).then(|| Value::from(job.tags.clone()).to_string()));
    fields.maybe("headers", (!job.headers.is_empty()).then(|| crate::rows::json(&job.headers)).flatten());
    fields.payload(&job.input);
    fields.maybe("run", job.run.as_ref().map(RunId::as_str));
    fields.maybe("keep_id_us", job.keep_id.map(micros));
    if let Some(unique) = &job.unique {
        fields.unique(unique);
    }
    Ok(fields.0)
}

fn graph_value(inner: &Inner, graph: &PreparedGraph) -> Result<Value, Fault> {
    let mut fields = Fields(Map::new());
    fields.put("graph", graph.id().to_string());
    fields.put("name", graph.name().as_str());
    fields.maybe("rules", graph.rules_to_store());
    if let Some(Restart { of, actor, reason }) = graph.restart() {
        fields.put("restart_of", of.to_string());
        fields.put(
            "restart",
            json!({
                "actor": actor, "reason": reason, "action": Restart::ACTION, "outcome": Restart::outcome(graph.id()),
            }),
        );
    }
    if let Some(input) = graph.input() {
        fields.payload(input);
    }
    if let Some(unique) = graph.unique() {
        fields.unique(unique);
    }
    let places: Vec<usize> = (0..graph.nodes().len()).collect();
    let wiring = Wiring::of(graph.nodes(), graph.edges(), &places, &HashMap::new(), &HashMap::new(), None);
    let wiring = wiring.ok_or_else(|| Fault::corrupt("enqueue", "an edge leads from nowhere"))?;
    let nodes = graph.nodes().iter().zip(wiring.parents).zip(wiring.depths);
    let jobs =
        nodes.map(|((node, parents), depth)| node_value(inner, node, parents, depth)).collect::<Result<Vec<_>, _>>()?;
    let edges = graph.edges().iter().map(|edge| {
        let parent = match edge.parent {
            ParentRef::New(place) => place,
            // A prepared graph's edges join its own nodes.
            ParentRef::Existing(_) => 0,
        };
        json!([parent, edge.child, edge.ord, edge.verdicts.bits(), edge.label.as_ref().map(|label| label.as_str())])
    });
    fields.put("edges", edges.collect::<Vec<_>>());
    fields.put("jobs", jobs);
    Ok(Value::Object(fields.0))
}

fn node_value(inner: &Inner, node: &PreparedNode, parents: Option<Vec<usize>>, depth: u32) -> Result<Value, Fault> {
    let mut fields = Fields(job_value(inner, &node.job)?);
    fields.put("name", node.name.as_str());
    fields.put("role", node.role.bits());
    fields.put("need", node.counters.need);
    fields.put("eager", node.counters.eager);
    fields.put("left", node.counters.left);
    fields.put("depth", depth);
    fields.maybe("guards", node.guards);
    if !node.role.has(Role::END) {
        fields.put("parents", parents.unwrap_or_default());
    }
    Ok(Value::Object(fields.0))
}
