//! What a node does for each element of a list, as JSON.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

use super::Writer;
use crate::builtin::{self, OnFailure};
use crate::defaults;

#[derive(Serialize)]
pub(super) struct Map {
    over: String,
    each: Each,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_failure: Option<OnFailure>,
}

#[derive(Serialize, Default)]
struct Each {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    into: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crash_limit: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Box<RawValue>>,
}

impl Writer<'_, '_> {
    pub(super) fn map(&mut self, written: &mut super::Node<'_>) {
        let map: builtin::Map = match self.node.job.input.decode() {
            Ok(map) => map,
            Err(e) => return self.problem(e.problem),
        };
        (written.given, written.scope) = (map.given, map.scope);
        let each = match map.each {
            builtin::Each::Job(job) => self.each(*job),
            builtin::Each::Graph(graph) => Each { graph: Some(graph), ..Each::default() },
        };
        written.map = Some(Map {
            over: map.over,
            each,
            concurrency: (map.concurrency != defaults::MAP_CONCURRENCY).then_some(map.concurrency),
            on_failure: (map.on_failure != OnFailure::Fail).then_some(map.on_failure),
        });
    }

    fn each(&mut self, job: builtin::EachJob) -> Each {
        Each {
            kind: Some(job.kind.to_string()),
            version: (job.version != 1).then_some(job.version),
            queue: job.queue.map(|queue| queue.to_string()),
            priority: (job.priority != 0).then_some(job.priority),
            retry: self.retry(&job.rules.retry),
            timeout: self.duration(job.rules.timeout_us.map(Duration::from_micros)),
            crash_limit: (job.rules.crash_limit != defaults::CRASH_LIMIT).then_some(job.rules.crash_limit),
            input: job.input,
            into: job.into,
            tags: job.tags,
            headers: job.headers,
            graph: None,
        }
    }
}
