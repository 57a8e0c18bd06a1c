//! The JSON Schema of a graph that is written as JSON, for editors and for other languages.
//!
//! It says what a field may hold; what nodes mean to each other, no schema can say.

use serde_json::{Value, json};

use crate::{defaults, limits};

/// The JSON Schema (draft 2020-12) of the text that [`NewGraph::from_json`](crate::NewGraph::from_json) reads.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Towpath graph",
        "description": "Jobs and what they wait for, enqueued together.",
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "nodes"],
        "properties": {
            "id": { "type": "string", "format": "uuid", "description": "The graph's id: enqueued twice under one id, it is one graph. Drawn anew if left out." },
            "name": { "$ref": "#/$defs/nodeName", "description": "For people; need not be unique." },
            "input": { "description": "What every node can read." },
            "fail_fast": { "type": "boolean", "default": false, "description": "Whether the first failure that counts stops what no edge of a failure leads to." },
            "retry": {
                "oneOf": [
                    { "type": "integer", "minimum": 1, "maximum": limits::GRAPH_ATTEMPTS_MAX },
                    { "type": "object", "additionalProperties": false, "required": ["attempts"], "properties": { "attempts": { "type": "integer", "minimum": 1, "maximum": limits::GRAPH_ATTEMPTS_MAX }, "delay": { "$ref": "#/$defs/duration", "description": "The wait before each further one; 10 s if left out." } } }
                ],
                "description": "How often the graph is tried when it fails: what failed runs again in place, what succeeded stays. Once if left out."
            },
            "keep": { "$ref": "#/$defs/duration", "description": "How long it stays stored after it succeeded; 7 days if left out." },
            "keep_failed": { "$ref": "#/$defs/duration", "description": "How long it stays stored after it ended otherwise; 30 days if left out." },
            "nodes": { "type": "array", "minItems": 1, "maxItems": limits::GRAPH_NODES_CEILING, "items": { "$ref": "#/$defs/node" } }
        },
        "$defs": defs()
    })
}

fn defs() -> Value {
    let token = format!("^[a-z0-9._-]{{1,{}}}$", limits::TOKEN_NAME_BYTES_MAX);
    json!({
        "token": { "type": "string", "pattern": token },
        "nodeName": { "type": "string", "minLength": 1, "maxLength": limits::NODE_NAME_BYTES_MAX },
        "duration": { "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "examples": ["500ms", "30s", "5m", "2h", "1d"] },
        "instant": { "type": "string", "format": "date-time" },
        "expression": { "type": "string", "minLength": 1, "maxLength": limits::EXPRESSION_BYTES_MAX, "description": "In CEL, over `outputs`, `states`, `errors` and `input`." },
        "retry": retry(),
        "inner": { "type": "object", "required": ["name", "nodes"], "not": { "required": ["id"] }, "$ref": "#" },
        "map": map(),
        "edge": edge(),
        "node": node()
    })
}

fn retry() -> Value {
    let duration = json!({ "$ref": "#/$defs/duration" });
    json!({
        "oneOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "object", "additionalProperties": false, "required": ["attempts"], "properties": { "attempts": { "type": "integer", "minimum": 1 }, "backoff": duration, "cap": duration } }
        ],
        "description": "Attempts, and the wait between them, which doubles."
    })
}

fn map() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["over", "each"],
        "properties": {
            "over": { "$ref": "#/$defs/expression", "description": "The list, such as outputs.list." },
            "each": {
                "type": "object",
                "additionalProperties": false,
                "oneOf": [{ "required": ["kind"] }, { "required": ["graph"] }],
                "properties": {
                    "kind": { "$ref": "#/$defs/token", "description": "A job of this kind for each element." },
                    "version": { "type": "integer", "minimum": 0, "maximum": 65_535, "default": 1 },
                    "input": { "type": "object", "description": "What its input holds besides the element; if left out, the input is the element." },
                    "into": { "type": "string", "pattern": "^/", "examples": ["/element"], "description": "Where in `input` the element is put." },
                    "queue": { "$ref": "#/$defs/token", "description": "That of the node, if left out." },
                    "priority": { "type": "integer", "minimum": -32_768, "maximum": 32_767, "default": 0 },
                    "retry": { "$ref": "#/$defs/retry" },
                    "timeout": { "$ref": "#/$defs/duration" },
                    "crash_limit": { "type": "integer", "minimum": 1, "default": defaults::CRASH_LIMIT },
                    "tags": { "type": "array", "items": { "type": "string" } },
                    "headers": { "type": "object", "additionalProperties": { "type": "string" } },
                    "graph": { "$ref": "#/$defs/inner", "description": "A graph for each element, which is its input." }
                }
            },
            "concurrency": { "type": "integer", "minimum": 1, "maximum": limits::MAP_CONCURRENCY_MAX, "default": defaults::MAP_CONCURRENCY, "description": "How many elements are at work at once." },
            "on_failure": { "enum": ["fail", "collect"], "default": "fail", "description": "Whether the first element that fails fails the node, or its output has { \"ok\": … } or { \"error\": … } of each." }
        }
    })
}

fn edge() -> Value {
    json!({
        "oneOf": [
            { "$ref": "#/$defs/nodeName" },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["node"],
                "not": { "required": ["on", "branch"] },
                "properties": {
                    "node": { "$ref": "#/$defs/nodeName" },
                    "on": { "enum": ["succeeded", "finished", "failed", "joined"], "default": "succeeded" },
                    "branch": { "$ref": "#/$defs/token", "description": "Of a gate: the branch that it must choose." }
                }
            }
        ]
    })
}

fn node() -> Value {
    let duration = json!({ "$ref": "#/$defs/duration" });
    let instant = json!({ "$ref": "#/$defs/instant" });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "oneOf": [{ "required": ["kind"] }, { "required": ["branches"] }, { "required": ["signal"] }, { "required": ["timer"] }, { "required": ["graph"] }, { "required": ["map"] }],
        "properties": {
            "name": { "$ref": "#/$defs/nodeName", "not": { "const": "end" }, "description": "Unique in the graph." },
            "kind": { "$ref": "#/$defs/token", "description": "What routes the job to its handler." },
            "version": { "type": "integer", "minimum": 0, "maximum": 65_535, "default": 1, "description": "The version of its input." },
            "input": { "description": "What its handler is given." },
            "labels": { "type": "array", "items": { "$ref": "#/$defs/token" }, "description": "Of a handler that is a gate: the branches that it may choose." },
            "branches": {
                "type": "object", "minProperties": 1, "maxProperties": limits::BRANCHES_MAX,
                "propertyNames": { "$ref": "#/$defs/token" },
                "additionalProperties": { "$ref": "#/$defs/expression" },
                "description": "A gate: the first branch whose expression holds is taken, in the order in which they are written."
            },
            "signal": {
                "description": "Waits for a signal, whose payload becomes its output.",
                "oneOf": [
                    { "$ref": "#/$defs/token" },
                    { "type": "object", "additionalProperties": false, "required": ["name"], "properties": { "name": { "$ref": "#/$defs/token" }, "timeout": duration } }
                ]
            },
            "timer": {
                "description": "Waits: so long from when its parents allow it, or until an instant.",
                "oneOf": [
                    duration,
                    { "type": "object", "additionalProperties": false, "required": ["at"], "properties": { "at": instant } }
                ]
            },
            "graph": { "$ref": "#/$defs/inner", "description": "Runs this graph, and ends as it ends; its output has the outputs of the graph's last nodes, by name." },
            "input_from": { "$ref": "#/$defs/expression", "description": "Of a node with a graph: what that graph's input is. Its own, if left out." },
            "given": { "type": "object", "additionalProperties": given(), "description": "Of a node with a graph, or a map of one: what that graph's input has as `params`." },
            "scope": scope(),
            "map": { "$ref": "#/$defs/map", "description": "Does the same for each element of a list; its output has the outputs in the order of the elements." },
            "after": {
                "description": "What it waits for.",
                "oneOf": [{ "$ref": "#/$defs/edge" }, { "type": "array", "items": { "$ref": "#/$defs/edge" } }]
            },
            "if": { "$ref": "#/$defs/expression", "description": "Runs only if this holds; a gate named `NODE?` is put before it." },
            "at_least": { "type": "integer", "minimum": 1, "description": "Starts as soon as so many of its parents have ended as asked." },
            "may_fail": { "type": "boolean", "default": false, "description": "Its failure does not make the graph failed." },
            "undoes": { "$ref": "#/$defs/nodeName", "description": "Runs only if the graph fails or is cancelled, when that node was started. It has no edges." },
            "queue": { "$ref": "#/$defs/token", "default": "default" },
            "priority": { "type": "integer", "minimum": -32_768, "maximum": 32_767, "default": 0, "description": "Higher first." },
            "delay": { "$ref": "#/$defs/duration", "description": "Counted from when its parents allow it." },
            "at": { "$ref": "#/$defs/instant", "description": "Does not start before." },
            "deadline": { "$ref": "#/$defs/instant", "description": "Dead if it has not succeeded by then." },
            "retry": { "$ref": "#/$defs/retry" },
            "timeout": { "$ref": "#/$defs/duration", "description": "How long one attempt may take." },
            "crash_limit": { "type": "integer", "minimum": 1, "default": defaults::CRASH_LIMIT, "description": "How often in a row its worker may die under it until it is put aside." },
            "tags": { "type": "array", "maxItems": limits::TAGS_MAX, "items": { "type": "string", "maxLength": limits::TAG_BYTES_MAX } },
            "headers": { "type": "object", "additionalProperties": { "type": "string" }, "description": "What travels with the job." }
        }
    })
}

fn given() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["from"],
        "properties": {
            "from": { "$ref": "#/$defs/expression", "description": "Its value; of a map, over `each` too." },
            "type": { "enum": ["text", "number", "flag", "json"], "default": "json" }
        }
    })
}

fn scope() -> Value {
    json!({
        "type": "object",
        "description": "What the node's expressions see under names of their own.",
        "properties": {
            "prefix": { "type": "string", "description": "What stands before the names of the nodes that they read." },
            "params": { "type": "object", "description": "Values that they see as `params`." },
            "given": { "type": "object", "additionalProperties": { "type": "string" }, "description": "Further ones, each a field of `params` in the graph's input." }
        }
    })
}
