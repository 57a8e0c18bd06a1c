//! JSON as values of expressions, and how large these are.

use std::collections::HashMap;
use std::sync::Arc;

use cel::Value;
use cel::objects::{Key, Map};
use towpath_core::limits;

/// A value of an expression. Whole numbers are signed where they fit, so that they go together with those that are
/// written out.
pub(super) fn of_json(json: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int),
            (None, Some(uint)) => Value::UInt(uint),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(of_json).collect())),
        Json::Object(fields) => map(fields.iter().map(|(name, value)| (name.clone(), of_json(value)))),
    }
}

/// A map with names as keys.
pub(super) fn map(entries: impl Iterator<Item = (String, Value)>) -> Value {
    let map: HashMap<Key, Value> = entries.map(|(name, value)| (Key::String(Arc::new(name)), value)).collect();
    Value::Map(Map { map: Arc::new(map) })
}

/// Bytes of a text, items of a list or map; of anything else 1.
pub(super) fn length(value: &Value) -> u64 {
    let length = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => 1,
    };
    length as u64
}

/// A value as errors show it.
pub(super) fn shown(value: &Value) -> String {
    let text = value.json().map_or_else(|_| value.type_of().to_string(), |json| json.to_string());
    limits::cut(&text, 100)
}
