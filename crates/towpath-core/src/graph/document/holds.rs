//! What a node holds that stands for more than one job: a graph, or what is done for each element of a list.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::fields::{Reader, Whose, what};
use super::micros;
use super::node::{crash_limit, kind, retry};
use crate::builtin::{self, Each, EachJob, Given, Map, OnFailure};
use crate::name::Kind;

/// The fields of `map`, in the order in which they are written.
pub(super) const MAP_FIELDS: [&str; 4] = ["over", "each", "concurrency", "on_failure"];
/// Those of its `each`.
pub(super) const EACH_FIELDS: [&str; 12] = [
    "kind",
    "version",
    "input",
    "into",
    "queue",
    "priority",
    "retry",
    "timeout",
    "crash_limit",
    "tags",
    "headers",
    "graph",
];

/// A graph as it stands in the text: it is read where the whole is judged, and again where it is started.
pub(super) fn graph(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Box<RawValue>> {
    if what(value) != "an object" {
        reader.wrong_type(whose, "graph", "a graph, as an object with `name` and `nodes`", value);
        return None;
    }
    Some(value.to_owned())
}

/// An expression, of which it is only known that it is there.
pub(super) fn expression(reader: &mut Reader, whose: &Whose, field: &str, value: &RawValue) -> Option<String> {
    let text = reader.text(whose, field, value)?;
    match builtin::check_expression(&text) {
        Ok(()) => Some(text),
        Err(problem) => {
            reader.problem(whose, format!("`{field}`: {problem}"));
            None
        }
    }
}

/// `{ "file": { "from": "outputs.list.file", "type": "text" } }`.
pub(super) fn given(reader: &mut Reader, whose: &Whose, value: &RawValue) -> BTreeMap<String, Given> {
    let want = "an object of parameters, each with `from` and `type`";
    let given: BTreeMap<String, Given> = reader.value(whose, "given", want, value).unwrap_or_default();
    for (name, Given { from, .. }) in &given {
        if let Err(problem) = builtin::check_expression(from) {
            reader.problem(whose, format!("`given.{name}`: {problem}"));
        }
    }
    given
}

/// `{ "over": "outputs.list", "each": { "kind": "resize" }, "concurrency": 4, "on_failure": "collect" }`.
pub(super) fn map(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Map> {
    let fields = reader.object(whose, "map", "an object with `over` and `each`", value)?;
    let (mut over, mut each, mut is_there) = (None, None, [false; 2]);
    let mut map = Map::new("", Each::Job(Box::new(EachJob::new(Kind::from_stored("unknown")))));
    reader.fields(&fields, whose, &MAP_FIELDS, |reader, field, value| match field {
        "over" => {
            is_there[0] = true;
            over = expression(reader, whose, "map.over", value);
        }
        "each" => {
            is_there[1] = true;
            each = self::each(reader, whose, value);
        }
        "concurrency" => {
            let read = reader.value(whose, "map.concurrency", "a number of elements at once", value);
            map.concurrency = read.unwrap_or(map.concurrency);
        }
        _ => {
            let want = "\"fail\" or \"collect\"";
            map.on_failure = reader.value::<OnFailure>(whose, "map.on_failure", want, value).unwrap_or_default();
        }
    });
    for (field, is_there) in ["over", "each"].into_iter().zip(is_there) {
        if !is_there {
            reader.problem(whose, format!("`map` has no `{field}`: add it"));
        }
    }
    Some(Map { over: over?, each: each?, ..map })
}

/// A job, or `{ "graph": … }`.
fn each(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Each> {
    let fields = reader.object(whose, "map.each", "an object with `kind` or `graph`", value)?;
    let mut kind = None;
    let mut inner = None;
    let mut job = EachJob::new(Kind::from_stored("unknown"));
    let mut others = Vec::new();
    reader.fields(&fields, whose, &EACH_FIELDS, |reader, field, value| {
        if !matches!(field, "kind" | "graph") {
            others.push(field);
        }
        match field {
            "kind" => kind = Some(self::kind(reader, whose, value)),
            "graph" => inner = Some(graph(reader, whose, value)),
            _ => of_job(reader, whose, &mut job, field, value),
        }
    });
    match (kind, inner) {
        (Some(kind), None) => Some(Each::Job(Box::new(EachJob { kind: kind?, ..job }))),
        (None, Some(graph)) if others.is_empty() => graph.map(Each::Graph),
        (None, Some(_)) => {
            let others = others.join(" and ");
            reader.problem(whose, format!("`map.each` has a graph and {others}: give them to its nodes"));
            None
        }
        _ => {
            reader.problem(whose, "`map.each` has one of `kind` and `graph`: keep or add one");
            None
        }
    }
}

fn of_job(reader: &mut Reader, whose: &Whose, job: &mut EachJob, field: &str, value: &RawValue) {
    match field {
        "version" => job.version = reader.value(whose, field, "a number from 0 to 65535", value).unwrap_or(1),
        "input" => job.input = Some(value.to_owned()),
        "into" => job.into = reader.text(whose, field, value),
        "queue" => job.queue = reader.parsed(whose, field, value),
        "priority" => job.priority = reader.value(whose, field, "a number from -32768 to 32767", value).unwrap_or(0),
        "retry" => job.rules.retry = retry(reader, whose, value).unwrap_or_default(),
        "timeout" => job.rules.timeout_us = reader.duration(whose, field, value).map(micros),
        "crash_limit" => job.rules.crash_limit = crash_limit(reader, whose, value).unwrap_or(job.rules.crash_limit),
        "tags" => job.tags = reader.value(whose, field, "a list of texts", value).unwrap_or_default(),
        _ => job.headers = reader.value(whose, field, "an object of texts", value).unwrap_or_default(),
    }
}
