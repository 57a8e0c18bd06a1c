//! What `--json` answers: one shape per noun, instants in UTC.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use towpath::core::State;
use towpath::core::store::{
    AttemptLine, EdgeLine, GraphDetail, GraphLine, InboxLine, JobDetail, JobLine, MarkLine, NodeLine, ProgressLine,
    Shown,
};
use towpath::core::{BlobRef, Role, SkipKind};
use towpath::testing::History;
use towpath::{Condition, End, Payload, Timestamp};

use super::journal::{self, Open};
use crate::served::Served;
use crate::words;

fn instant(at: Option<Timestamp>) -> Option<String> {
    at.map(words::instant)
}

pub(super) fn graph_line(line: &GraphLine) -> Value {
    json!({
        "id": line.id,
        "name": line.name,
        "end": line.end,
        "stop": line.stop,
        "compensation": line.compensation,
        "nodes": line.nodes,
        "generation": line.generation,
        "restart_of": line.restart_of,
        "created_at": words::instant(line.created_at),
        "ended_at": instant(line.ended_at),
    })
}

pub(super) fn graph(detail: &GraphDetail) -> Value {
    let mut graph = graph_line(&detail.line);
    graph["input"] = detail.input.as_ref().map_or(Value::Null, payload);
    graph["stopped"] = detail.stopped.as_ref().map_or(Value::Null, |stop| {
        let (at, due) = (words::instant(stop.at), instant(stop.due));
        json!({ "reason": stop.reason, "at": at, "actor": stop.actor, "why": stop.why, "due": due })
    });
    graph["retry"] = detail
        .rules
        .retry
        .map_or(Value::Null, |retry| json!({ "attempts": retry.attempts, "delay_us": retry.delay_us }));
    graph["restarts"] = json!(detail.restarts);
    let undone = detail.undone();
    graph["nodes"] = detail.nodes.iter().map(|line| node(line, undone.contains(&line.name))).collect();
    graph["edges"] = detail.edges.iter().map(edge).collect();
    graph
}

fn node(node: &NodeLine, is_undone: bool) -> Value {
    json!({
        "name": node.name,
        "job": node.job,
        "kind": node.kind,
        "queue": node.queue,
        "gate": node.role.has(Role::GATE),
        "may_fail": node.role.has(Role::MAY_FAIL),
        "at_least": node.role.has(Role::AT_LEAST).then_some(node.parents.need),
        "undoes": node.guards,
        "undone": is_undone,
        "state": node.state.word(),
        "skipped": skipped(node.state),
        "due": instant(node.due),
        "parked": node.parked,
        "cause": node.cause,
        "attempt": node.counters.attempt,
        "failures": node.counters.failures,
        "started_at": instant(node.started_at),
        "ended_at": instant(node.ended_at),
    })
}

/// Which kind of skipped, if it is skipped.
fn skipped(state: State) -> Option<SkipKind> {
    match state {
        State::Ended(End::Skipped(kind)) => Some(kind),
        _ => None,
    }
}

fn edge(edge: &EdgeLine) -> Value {
    json!({
        "parent": edge.parent,
        "child": edge.child,
        "condition": edge.condition().map(|condition| match condition {
            Condition::Branch(_) => "branch".to_owned(),
            other => other.to_string(),
        }),
        "branch": edge.label,
    })
}

pub(super) fn job_line(line: &JobLine, served: &Served) -> Value {
    json!({
        "id": line.id,
        "kind": line.kind,
        "version": line.version,
        "queue": line.queue,
        "priority": line.priority,
        "state": line.state.word(),
        "due": instant(line.due),
        "parked": line.parked,
        "served": line.is_claimable(served.now).then(|| served.lack_of(line).is_none()),
        "attempt": line.counters.attempt,
        "failures": line.counters.failures,
        "crashes": line.counters.crashes,
        "graph": line.node.as_ref().map(|n| n.graph),
        "node": line.node.as_ref().map(|n| &n.name),
        "enqueued_at": words::instant(line.enqueued_at),
        "started_at": instant(line.started_at),
        "ended_at": instant(line.ended_at),
    })
}

/// What is known of a run beside its job.
pub(super) struct About<'a> {
    pub(super) history: Option<&'a History>,
    pub(super) published: Option<&'a Shown>,
    /// Signals that no wait has taken.
    pub(super) unread: &'a [InboxLine],
}

fn not_taken(line: &InboxLine) -> Value {
    json!({ "signal": line.name, "at": words::instant(line.at), "payload": payload(&line.payload) })
}

pub(super) fn job(
    detail: &JobDetail,
    attempts: &[AttemptLine],
    marks: &[MarkLine],
    &About { history, published, unread }: &About<'_>,
    served: &Served,
) -> Value {
    let mut job = job_line(&detail.line, served);
    job["input"] = payload(&detail.input);
    job["rules"] = json!(detail.rules);
    job["parent"] = json!(detail.rules.parent.as_ref().map(|parent| &parent.run));
    job["deadline"] = json!(instant(detail.deadline));
    job["tags"] = json!(detail.tags);
    job["progress"] = json!(detail.progress.as_ref().map(progress));
    job["keeps"] = marks.iter().map(mark).collect();
    job["headers"] = json!(detail.headers);
    job["cause"] = json!(detail.cause);
    job["output"] = detail.output.as_ref().map_or(Value::Null, payload);
    job["blocked"] = json!(detail.blocked);
    job["worker"] = json!(detail.worker);
    job["cancel"] = json!(detail.cancel);
    job["run"] = detail.run.as_ref().map_or(Value::Null, |run| {
        json!({
            "id": run.id,
            "chapter": run.chapter,
            "entries": run.entries,
            "arrived": run.arrived,
            "forked_from": run.origin,
            "paused": run.paused.as_ref().map(|pause| {
                json!({ "at": words::instant(pause.at), "actor": pause.actor, "why": pause.why })
            }),
            "published": published.map(|shown| payload(&shown.payload)),
            "published_at": published.map(|shown| words::instant(shown.at)),
            "open": history.map(|history| journal::open(history).iter().map(open).collect::<Vec<_>>()),
            "last": history.map(journal::last),
            "not_taken": unread.iter().map(not_taken).collect::<Vec<_>>(),
        })
    });
    job["attempts"] = attempts.iter().map(attempt).collect();
    job
}

fn mark(line: &MarkLine) -> Value {
    json!({ "name": line.mark.name, "value": payload(&line.mark.value), "at": words::instant(line.at) })
}

fn progress(line: &ProgressLine) -> Value {
    let said = &line.progress;
    json!({
        "fraction": said.fraction(),
        "done": (!said.is_part).then_some(said.done),
        "total": said.total.filter(|_| !said.is_part),
        "message": said.message,
        "attempt": line.attempt,
        "at": words::instant(line.at),
    })
}

fn open(open: &Open) -> Value {
    json!({ "pos": open.pos.to_string(), "op": open.op, "due": instant(open.due) })
}

fn attempt(line: &AttemptLine) -> Value {
    json!({
        "attempt": line.attempt,
        "outcome": line.outcome,
        "started_at": words::instant(line.started_at),
        "ended_at": words::instant(line.ended_at),
        "error": line.error,
        "log": line.log,
    })
}

/// A payload's JSON; what is not JSON is told by its size.
fn payload(payload: &Payload) -> Value {
    if payload.bytes.is_empty() {
        return Value::Null;
    }
    if let Ok(Some(blob)) = BlobRef::of(payload) {
        return json!({ "kept_elsewhere": blob.name, "bytes": blob.bytes, "preview": blob.preview });
    }
    payload.decode().unwrap_or_else(|_| json!({ "bytes": payload.bytes.len() }))
}

/// A payload as text for people.
pub(super) fn payload_text(payload: &Payload) -> String {
    if let Ok(Some(blob)) = BlobRef::of(payload) {
        return format!("{} bytes, kept elsewhere as {}: {} …", blob.bytes, blob.name, blob.preview);
    }
    match payload.decode::<Box<RawValue>>() {
        Ok(json) => json.get().to_owned(),
        Err(_) => words::count(payload.bytes.len(), "byte", "bytes"),
    }
}
