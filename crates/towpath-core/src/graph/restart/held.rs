//! Queues that are named after a graph, in the graphs and jobs that its nodes hold.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::queue_of;
use crate::builtin::{self, Each, Map, Nested};
use crate::id::GraphId;
use crate::job::NewJob;
use crate::name::Queue;
use crate::payload::Payload;

/// Renames the queues in what a node holds. What cannot be read stays as it is: who starts it says what is wrong.
pub(super) fn rename_queues(job: &mut NewJob, old: GraphId, new: GraphId) {
    let renamed = match job.kind.as_str() {
        builtin::GRAPH => job.input.decode::<Nested>().ok().and_then(|nested| {
            let graph = graph(&nested.graph, old, new)?;
            Payload::json(&Nested { graph, ..nested }).ok()
        }),
        builtin::MAP => job.input.decode::<Map>().ok().and_then(|map| {
            let each = match map.each {
                Each::Graph(held) => Each::Graph(graph(&held, old, new)?),
                Each::Job(mut each) => {
                    each.queue = each.queue.map(|queue| queue_of(&queue, old, new));
                    Each::Job(each)
                }
            };
            Payload::json(&Map { each, ..map }).ok()
        }),
        _ => return,
    };
    job.input = renamed.unwrap_or_else(|| job.input.clone());
}

/// An object of which only some fields are looked at: the others stay byte by byte.
type Object = BTreeMap<String, Box<RawValue>>;

fn graph(graph: &RawValue, old: GraphId, new: GraphId) -> Option<Box<RawValue>> {
    let mut fields: Object = read(graph)?;
    let nodes: Vec<Object> = read(fields.get("nodes")?)?;
    let nodes: Vec<Object> = nodes.into_iter().map(|fields| node(fields, old, new)).collect();
    fields.insert("nodes".to_owned(), written(&nodes)?);
    written(&fields)
}

/// A node, or what a map does for each element.
fn node(mut fields: Object, old: GraphId, new: GraphId) -> Object {
    let queue = fields.get("queue").and_then(|queue| read::<Queue>(queue));
    let queue = queue.and_then(|queue| written(&queue_of(&queue, old, new)));
    let held = fields.get("graph").and_then(|held| graph(held, old, new));
    let map = fields.get("map").and_then(|map| {
        let mut map: Object = read(map)?;
        let each = written(&node(read(map.get("each")?)?, old, new))?;
        map.insert("each".to_owned(), each);
        written(&map)
    });
    for (field, value) in [("queue", queue), ("graph", held), ("map", map)] {
        fields.extend(value.map(|value| (field.to_owned(), value)));
    }
    fields
}

fn read<'a, T: Deserialize<'a>>(text: &'a RawValue) -> Option<T> {
    serde_json::from_str(text.get()).ok()
}

fn written(value: &impl Serialize) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;
    use crate::name::Kind;

    #[test]
    fn queues_are_renamed_however_deep_they_stand_and_nothing_else_is() {
        let (old, new) = (GraphId::from_bytes([9; 16]), GraphId::from_bytes([7; 16]));
        let inner = format!(
            r#"{{"name":"in","nodes":[{{"kind":"k","input":{{"n":1.50,"of":"{old}"}},"name":"a","queue":"flow.{old}.disk"}},
                {{"name":"m","map":{{"each":{{"kind":"k","queue":"flow.{old}"}},"over":"input"}}}},
                {{"name":"g","graph":{{"nodes":[{{"name":"b","queue":"flow.{old}"}}]}}}},{{"name":"q","queue":"other"}}]}}"#
        );
        let wanted = inner.replace(&format!("flow.{old}"), &format!("flow.{new}"));
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let held = graph(&raw(&inner), old, new).unwrap();
        assert_eq!(value(held.get()), value(&wanted));
        assert!(held.get().contains("1.50"), "{held}");

        let map = Map::new("input", Each::Graph(raw(&inner)));
        let mut job = NewJob::new(JobId::from_bytes([1; 16]), Kind::from_stored(builtin::MAP));
        job.input = Payload::json(&map).unwrap();
        rename_queues(&mut job, old, new);
        let Each::Graph(held) = job.input.decode::<Map>().unwrap().each else { panic!("it is a graph") };
        assert_eq!(value(held.get()), value(&wanted));
    }
}
