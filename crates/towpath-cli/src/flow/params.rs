//! The parameters of a flow: declared in `[params]`, given at the start, seen by expressions as `params.NAME`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};
use towpath::core::builtin::{ParamType as Kind, Scope};

use super::problem::Problem;
use super::read::{Place, in_order, wrong_type};

/// A parameter as it is declared.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    default: Option<Value>,
}

/// The parameters of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// Those whose values are known, as JSON.
    pub(super) known: BTreeMap<String, Box<RawValue>>,
    /// Those that the flow is given when it is started, and what they are called then.
    pub(super) given: BTreeMap<String, String>,
}

impl Values {
    /// Lets the expressions of a node see them.
    pub(super) fn put_into(&self, scope: &mut Scope) {
        scope.params.clone_from(&self.known);
        scope.given.clone_from(&self.given);
    }
}

/// What was given at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    /// Names and values, as they were written.
    pub(crate) set: Vec<(String, String)>,
    /// Values by name, from a file.
    pub(crate) input: serde_json::Map<String, Value>,
    /// Those that are known only when the flow is started inside another one, and what they are called then.
    pub(crate) later: BTreeMap<String, String>,
    /// What becomes of a parameter without a value.
    pub(crate) missing: Missing,
}

/// What becomes of a parameter that has neither a value nor a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is a problem.
    #[default]
    Refused,
    /// It is null: the flow is looked at, and not run.
    Null,
    /// The same inside another flow: what that passes on may be null, and what it leaves out is a problem.
    NullIfPassed,
}

impl Missing {
    /// The same for a flow inside this one.
    pub(super) fn inside(self) -> Self {
        match self {
            Self::Refused => Self::Refused,
            Self::Null | Self::NullIfPassed => Self::NullIfPassed,
        }
    }
}

/// The fields of a declaration.
const FIELDS: [&str; 3] = ["type", "default", "help"];
const KINDS: [(&str, Kind); 4] =
    [("text", Kind::Text), ("number", Kind::Number), ("flag", Kind::Flag), ("json", Kind::Json)];

/// Reads the table `[params]`: a default value, or a table with a type.
pub(super) fn read(value: Place<'_, '_>, problems: &mut Vec<Problem>) -> Vec<Param> {
    let Some(table) = value.get_ref().as_table() else {
        problems.push(wrong_type("`params`", "a table", value).help("write [params] with a line for each"));
        return Vec::new();
    };
    let entries = in_order(table).into_iter();
    entries
        .filter_map(|(key, value)| {
            let name = key.get_ref().as_ref();
            if !is_name(name) {
                let problem = Problem::new("a parameter cannot be named so").at(key.span(), "here");
                problems.push(problem.help("use letters, digits and _, beginning with a letter"));
                return None;
            }
            declared(name, key.span(), value, problems)
        })
        .collect()
}

fn declared(name: &str, span: Range<usize>, value: Place<'_, '_>, problems: &mut Vec<Problem>) -> Option<Param> {
    let DeValue::Table(table) = value.get_ref() else {
        let default = json(value.get_ref());
        let kind = default.as_ref().map_or(Kind::Json, kind_of);
        return Some(Param { name: name.to_owned(), span, kind, default });
    };
    let (mut kind, mut default) = (None, None);
    for (key, value) in in_order(table) {
        match key.get_ref().as_ref() {
            "type" => kind = kind_named(value, problems),
            "default" => default = json(value.get_ref()).map(|json| (json, value.span())),
            "help" if value.get_ref().is_str() => {}
            "help" => problems.push(wrong_type("`help`", "a text", value)),
            other => {
                let problem = Problem::new(format!("unknown field `{other}`"));
                let problem = problem.at(key.span(), "a parameter has no such field");
                problems.push(problem.did_you_mean(
                    other,
                    FIELDS.into_iter(),
                    "a parameter has `type`, `default` and `help`",
                ));
            }
        }
    }
    let kind = kind.or(default.as_ref().map(|(json, _)| kind_of(json))).unwrap_or(Kind::Text);
    if let Some((json, at)) = &default
        && !takes(kind, json)
    {
        let problem = Problem::new(format!("the default of `{name}` is not {}", kind.words()));
        problems.push(problem.at(at.clone(), "here").at(span.clone(), "the parameter"));
    }
    Some(Param { name: name.to_owned(), span, kind, default: default.map(|(json, _)| json) })
}

fn kind_named(value: Place<'_, '_>, problems: &mut Vec<Problem>) -> Option<Kind> {
    let name = value.get_ref().as_str().unwrap_or_default();
    let found = KINDS.into_iter().find(|(known, _)| *known == name);
    if found.is_none() {
        let problem = Problem::new("a parameter has no such type").at(value.span(), "here");
        problems.push(problem.help("use \"text\", \"number\", \"flag\" or \"json\""));
    }
    found.map(|(_, kind)| kind)
}

/// The values of all parameters.
pub(super) fn values(params: &[Param], given: &Given, problems: &mut Vec<Problem>) -> Values {
    let names = || params.iter().map(|param| param.name.as_str());
    let given_names = given.set.iter().map(|(name, _)| name).chain(given.input.keys()).chain(given.later.keys());
    for name in given_names {
        if !names().any(|known| known == name) {
            let problem = Problem::new(format!("the flow has no parameter `{name}`"));
            let all = format!("it has {}", names().collect::<Vec<_>>().join(", "));
            let all = if params.is_empty() { "it has none; declare it in [params]".to_owned() } else { all };
            problems.push(problem.did_you_mean(name, names(), &all));
        }
    }
    let mut values = Values::default();
    for param in params {
        if let Some(later) = given.later.get(&param.name) {
            values.given.insert(param.name.clone(), later.clone());
        } else if let Some(value) = param.value(given, problems)
            && let Ok(raw) = serde_json::value::to_raw_value(&value)
        {
            values.known.insert(param.name.clone(), raw);
        }
    }
    values
}

impl Param {
    /// Its value: the last `--set`, else that of the file, else the default.
    fn value(&self, given: &Given, problems: &mut Vec<Problem>) -> Option<Value> {
        let name = &self.name;
        if let Some((_, text)) = given.set.iter().rev().find(|(set, _)| set == name) {
            let read = parse(self.kind, text);
            if read.is_none() {
                let problem = Problem::new(format!("`--set {name}={text}` is not {}", self.kind.words()));
                problems.push(problem.at(self.span.clone(), "declared here"));
            }
            // With one in its place nothing else is said to be wrong because of it.
            return Some(read.or_else(|| self.default.clone()).unwrap_or_else(|| blank(self.kind)));
        }
        if let Some(value) = given.input.get(name) {
            // One that is not known yet is passed on as null.
            let is_unknown = given.missing != Missing::Refused && value.is_null();
            if !is_unknown && !takes(self.kind, value) {
                let problem =
                    Problem::new(format!("the input gives `{name}` a value that is not {}", self.kind.words()));
                problems.push(problem.at(self.span.clone(), "declared here"));
                // As above.
                return Some(self.default.clone().unwrap_or_else(|| blank(self.kind)));
            }
            return Some(value.clone());
        }
        if self.default.is_none() && given.missing != Missing::Null {
            let problem = Problem::new(format!("the parameter `{name}` has no value"));
            let problem = problem.at(self.span.clone(), "it has no default");
            problems.push(problem.help(format!("add `--set {name}=VALUE`, or give it a default")));
        }
        Some(self.default.clone().unwrap_or(Value::Null))
    }
}

/// A value of this type.
fn blank(kind: Kind) -> Value {
    match kind {
        Kind::Text => Value::from(""),
        Kind::Number => Value::from(0),
        Kind::Flag => Value::from(false),
        Kind::Json => Value::Null,
    }
}

fn takes(kind: Kind, json: &Value) -> bool {
    match kind {
        Kind::Text => json.is_string(),
        Kind::Number => json.is_number(),
        Kind::Flag => json.is_boolean(),
        Kind::Json => true,
    }
}

fn parse(kind: Kind, text: &str) -> Option<Value> {
    let json = if kind == Kind::Text { Some(Value::from(text)) } else { serde_json::from_str(text).ok() };
    json.filter(|json| takes(kind, json))
}

fn kind_of(json: &Value) -> Kind {
    match json {
        Value::String(_) => Kind::Text,
        Value::Number(_) => Kind::Number,
        Value::Bool(_) => Kind::Flag,
        _ => Kind::Json,
    }
}

/// A name that expressions can write out.
fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A TOML value as JSON; dates are texts, and numbers that JSON has not are nothing.
pub(super) fn json(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::from(text.as_ref())),
        DeValue::Integer(number) => {
            i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok().map(Value::from)
        }
        DeValue::Float(number) => number.as_str().replace('_', "").parse::<f64>().ok().map(Value::from),
        DeValue::Boolean(flag) => Some(Value::from(*flag)),
        DeValue::Datetime(at) => Some(Value::from(at.to_string())),
        DeValue::Array(items) => {
            items.iter().map(|item| json(item.get_ref())).collect::<Option<Vec<_>>>().map(Value::from)
        }
        DeValue::Table(table) => object(table).map(Value::from),
    }
}

fn object(table: &DeTable<'_>) -> Option<serde_json::Map<String, Value>> {
    table.iter().map(|(key, value)| Some((key.get_ref().to_string(), json(value.get_ref())?))).collect()
}

/// The values that a table gives, for a flow that is included.
pub(super) fn given(value: Place<'_, '_>, problems: &mut Vec<Problem>) -> serde_json::Map<String, Value> {
    match value.get_ref().as_table().map(object) {
        Some(Some(values)) => values,
        Some(None) => {
            problems.push(Problem::new("`params` holds a number that has no JSON form").at(value.span(), "here"));
            serde_json::Map::new()
        }
        None => {
            problems.push(wrong_type("`params`", "a table", value));
            serde_json::Map::new()
        }
    }
}
