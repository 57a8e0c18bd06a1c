//! The JSON Schema of a flow file, for editors: TOML has the same shape as JSON.

use serde_json::{Value, json};
use towpath::core::{defaults, limits};

/// The JSON Schema (draft 2020-12).
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Towpath flow",
        "description": "Commands, calls and waits, and what they wait for.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": limits::NODE_NAME_BYTES_MAX, "description": "For people; the file's name if left out." },
            "fail_fast": { "type": "boolean", "default": false, "description": "Whether the first failure stops what no edge of a failure leads to." },
            "retry": { "$ref": "#/$defs/retryOfFlow" },
            "params": { "type": "object", "additionalProperties": { "$ref": "#/$defs/param" }, "description": "What `--set` and `--input` give, and expressions see as `params.NAME`." },
            "queues": { "type": "object", "additionalProperties": { "type": "integer", "minimum": 1, "maximum": 1_000 }, "description": "How many nodes of a queue run at once." },
            "include": { "type": "object", "additionalProperties": { "$ref": "#/$defs/include" }, "description": "Other flows, whose nodes become `NAME.NODE`." },
            "node": { "type": "object", "additionalProperties": { "$ref": "#/$defs/node" }, "propertyNames": { "maxLength": limits::NODE_NAME_BYTES_MAX, "not": { "const": "end" } } }
        },
        "$defs": defs()
    })
}

fn defs() -> Value {
    let token = format!("^[a-z0-9._-]{{1,{}}}$", limits::TOKEN_NAME_BYTES_MAX);
    json!({
        "token": { "type": "string", "pattern": token },
        "duration": { "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "examples": ["500ms", "30s", "5m", "2h", "1d"] },
        "expression": { "type": "string", "minLength": 1, "maxLength": limits::EXPRESSION_BYTES_MAX, "description": "In CEL, over `outputs`, `states`, `errors` and `params`." },
        "from": one_field("from", json!({ "$ref": "#/$defs/expression" })),
        "secret": one_field("secret", json!({ "oneOf": [one_field("env", json!({ "type": "string" })), one_field("file", json!({ "type": "string" }))] })),
        "openText": { "oneOf": [{ "type": "string" }, { "$ref": "#/$defs/from" }] },
        "anyText": { "oneOf": [{ "type": "string" }, { "$ref": "#/$defs/from" }, { "$ref": "#/$defs/secret" }] },
        "param": param(),
        "include": include(),
        "edge": edge(),
        "retry": retry(),
        "retryOfFlow": retry_of_flow(),
        "undo": undo(),
        "node": node()
    })
}

fn one_field(name: &str, value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": [name], "properties": { name: value } })
}

fn param() -> Value {
    json!({
        "description": "A default value, or a table.",
        "anyOf": [
            { "type": ["string", "number", "boolean", "array"] },
            {
                "type": "object",
                "additionalProperties": false,
                "properties": { "type": { "enum": ["text", "number", "flag", "json"] }, "default": {}, "help": { "type": "string" } }
            }
        ]
    })
}

fn include() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["file"],
        "properties": {
            "file": { "type": "string", "description": "Counted from the folder of this file." },
            "after": { "type": "array", "items": { "$ref": "#/$defs/edge" }, "description": "What its first nodes wait for." },
            "params": { "type": "object", "description": "Its parameters." }
        }
    })
}

fn edge() -> Value {
    json!({
        "oneOf": [
            { "type": "string", "minLength": 1 },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["node"],
                "not": { "required": ["on", "branch"] },
                "properties": {
                    "node": { "type": "string" },
                    "on": { "enum": ["succeeded", "finished", "failed", "joined"], "default": "succeeded" },
                    "branch": { "$ref": "#/$defs/token" }
                }
            }
        ]
    })
}

fn http() -> Value {
    json!({
        "description": "Calls a server; its output is the status and the body.",
        "oneOf": [
            { "type": "string" },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["url"],
                "properties": {
                    "method": { "enum": super::node::METHODS },
                    "url": { "$ref": "#/$defs/openText" },
                    "headers": { "type": "object", "additionalProperties": { "$ref": "#/$defs/anyText" } },
                    "body": { "$ref": "#/$defs/anyText", "description": "A text as it is; the value of an expression that is no text, as JSON." },
                    "expect": { "oneOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "integer" } }], "description": "The statuses that are a success; 200 to 299 if left out." }
                }
            }
        ]
    })
}

fn retry() -> Value {
    let (attempts, duration) =
        (json!({ "type": "integer", "minimum": 1, "maximum": 1_000 }), json!({ "$ref": "#/$defs/duration" }));
    json!({
        "oneOf": [
            attempts,
            { "type": "object", "additionalProperties": false, "required": ["attempts"], "properties": { "attempts": attempts, "backoff": duration, "cap": duration } }
        ]
    })
}

fn retry_of_flow() -> Value {
    let attempts = json!({ "type": "integer", "minimum": 1, "maximum": 1_000 });
    json!({
        "description": "How often the flow is tried when it fails, and the wait before each further try: what failed runs again, what succeeded does not. Once if left out.",
        "oneOf": [
            attempts,
            { "type": "object", "additionalProperties": false, "required": ["attempts"], "properties": { "attempts": attempts, "delay": { "$ref": "#/$defs/duration" } } }
        ]
    })
}

/// Some of the fields of a node.
fn undo() -> Value {
    let (node, fields) = (node(), super::node::UNDO_FIELDS);
    let properties = fields.iter().map(|field| ((*field).to_owned(), node["properties"][*field].clone()));
    json!({
        "type": "object",
        "additionalProperties": false,
        "oneOf": [{ "required": ["exec"] }, { "required": ["http"] }],
        "description": "Reverses what the node has done, if the flow fails or is cancelled. Works in the `dir` and the `queue` of its node unless it has its own.",
        "properties": properties.collect::<serde_json::Map<_, _>>()
    })
}

fn node() -> Value {
    let duration = json!({ "$ref": "#/$defs/duration" });
    let does: Vec<Value> = super::node::DOES.iter().map(|does| json!({ "required": [does] })).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "oneOf": does,
        "properties": {
            "exec": { "oneOf": [{ "type": "string" }, { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/openText" } }], "description": "The program and its arguments; with `shell = true` one text for /bin/sh." },
            "shell": { "type": "boolean", "default": false },
            "env": { "type": "object", "additionalProperties": { "$ref": "#/$defs/anyText" }, "description": "Variables added to those of towpath." },
            "dir": { "type": "string", "description": "The folder it starts in, counted from that of this file." },
            "http": http(),
            "flow": held(),
            "branches": { "type": "object", "minProperties": 1, "maxProperties": limits::BRANCHES_MAX, "propertyNames": { "$ref": "#/$defs/token" }, "additionalProperties": { "$ref": "#/$defs/expression" }, "description": "A gate: the first branch whose expression holds is taken." },
            "signal": { "oneOf": [{ "$ref": "#/$defs/token" }, { "type": "object", "additionalProperties": false, "required": ["name"], "properties": { "name": { "$ref": "#/$defs/token" }, "timeout": duration } }], "description": "Waits for a signal, whose payload becomes its output." },
            "timer": { "oneOf": [duration, one_field("at", json!({}))], "description": "Waits: so long, or until an instant." },
            "each": each(),
            "after": { "type": "array", "items": { "$ref": "#/$defs/edge" }, "description": "What it waits for." },
            "at_least": { "type": "integer", "minimum": 1, "description": "Starts as soon as so many of those in `after` have ended as asked." },
            "if": { "$ref": "#/$defs/expression", "description": "Runs only if this holds; a gate named `NODE?` is put before it." },
            "may_fail": { "type": "boolean", "default": false, "description": "Its failure does not make the flow failed." },
            "delay": { "$ref": "#/$defs/duration", "description": "Counted from when its parents have ended." },
            "queue": { "type": "string", "description": "One of `queues`, which limits how many run at once." },
            "retry": { "$ref": "#/$defs/retry" },
            "timeout": { "$ref": "#/$defs/duration", "description": "How long one attempt may take." },
            "undo": { "$ref": "#/$defs/undo" }
        }
    })
}

fn held() -> Value {
    json!({
        "description": "Runs the flow of another file; its output has what the last nodes of that have left, by name.",
        "oneOf": [
            { "type": "string", "minLength": 1 },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["file"],
                "properties": {
                    "file": { "type": "string", "description": "Counted from the folder of this file." },
                    "params": { "type": "object", "description": "Its parameters: values, or { \"from\": expression }, which sees what stands above, and the element as `each`." }
                }
            }
        ]
    })
}

fn each() -> Value {
    json!({
        "description": "Does it for each element of a list, which `exec`, `env`, `http` and the parameters of `flow` see as `each`; the output has what each has left, in the order of the elements.",
        "oneOf": [
            { "$ref": "#/$defs/expression" },
            {
                "type": "object",
                "additionalProperties": false,
                "required": ["over"],
                "properties": {
                    "over": { "$ref": "#/$defs/expression", "description": "The list, such as outputs.list." },
                    "concurrency": { "type": "integer", "minimum": 1, "maximum": limits::MAP_CONCURRENCY_MAX, "default": defaults::MAP_CONCURRENCY, "description": "How many elements are at work at once." },
                    "on_failure": { "enum": ["fail", "collect"], "default": "fail", "description": "Whether the first element that fails fails the node, or the output has { \"ok\": … } or { \"error\": … } of each." }
                }
            }
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{include, node, read};
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_schema_has_every_field_and_no_other() {
        let schema = schema();
        let fields =
            |of: &Value| -> BTreeSet<String> { of["properties"].as_object().unwrap().keys().cloned().collect() };
        let known = |fields: &[&str]| -> BTreeSet<String> { fields.iter().map(|field| (*field).to_owned()).collect() };
        assert_eq!(fields(&schema), known(&read::FIELDS));
        assert_eq!(fields(&schema["$defs"]["node"]), known(&node::FIELDS));
        assert_eq!(fields(&schema["$defs"]["include"]), known(&include::FIELDS));
        assert_eq!(fields(&schema["$defs"]["node"]["properties"]["each"]["oneOf"][1]), known(&node::EACH_FIELDS));
        assert_eq!(fields(&schema["$defs"]["node"]["properties"]["http"]["oneOf"][1]), known(&node::HTTP_FIELDS));
        assert_eq!(fields(&schema["$defs"]["node"]["properties"]["flow"]["oneOf"][1]), known(&node::HELD_FIELDS));
    }

    #[test]
    fn the_schema_in_the_docs_is_up_to_date() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flow.schema.json");
        let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        if std::env::var_os("TOWPATH_UPDATE").is_some() {
            std::fs::write(&page, &text).unwrap();
        }
        let stored = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(
            stored == text,
            "docs/flow.schema.json is out of date: run TOWPATH_UPDATE=1 cargo test -p towpath-cli schema"
        );
    }
}
