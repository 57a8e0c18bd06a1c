//! JSON objects read field by field, with everything that is wrong said at once.
//!
//! serde stops at the first thing that does not fit, and keeps the last of two fields of one name; an author wants to
//! know all of it.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::duration;
use crate::graph::GraphProblem;
use crate::graph::prepare::similar;
use crate::name::NodeName;
use crate::time::Timestamp;

/// The fields of an object, in the order in which they are written.
pub(super) struct Fields<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(All).map(Self)
    }
}

/// Of what something wrong is said.
#[derive(Clone, Debug)]
pub(super) enum Whose {
    Graph,
    /// A node that has a name.
    Node(NodeName),
    /// A node that has none, by its place from 0.
    Place(usize),
}

/// Reads values and collects what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct Reader {
    problems: Vec<GraphProblem>,
}

impl Reader {
    pub(super) fn into_problems(self) -> Vec<GraphProblem> {
        self.problems
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    pub(super) fn problem(&mut self, whose: &Whose, problem: impl Into<String>) {
        let problem = problem.into();
        self.problems.push(match whose {
            Whose::Graph => GraphProblem::Document(problem),
            Whose::Node(name) => GraphProblem::Job(name.clone(), problem),
            Whose::Place(place) => {
                GraphProblem::Document(format!("the node at place {} of `nodes`: {problem}", place + 1))
            }
        });
    }

    /// Goes through the fields that are known; others are problems, and so is a field that stands twice.
    pub(super) fn fields<'a>(
        &mut self,
        fields: &Fields<'a>,
        whose: &Whose,
        known: &[&'static str],
        mut each: impl FnMut(&mut Self, &'static str, &'a RawValue),
    ) {
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in &fields.0 {
            let Some(field) = known.iter().find(|field| *field == name) else {
                self.unknown(whose, name, known);
                continue;
            };
            if seen.contains(field) {
                self.problem(whose, format!("`{field}` is there twice: remove one"));
                continue;
            }
            seen.push(field);
            each(self, field, value);
        }
    }

    fn unknown(&mut self, whose: &Whose, name: &str, known: &[&'static str]) {
        let name = shown(name);
        self.problem(
            whose,
            match similar(&name, known.iter().copied()) {
                Some(near) => format!("unknown field `{name}`: did you mean `{near}`?"),
                None => format!("unknown field `{name}`: the fields are {}", known.join(", ")),
            },
        );
    }

    /// The value is of another type than asked for.
    pub(super) fn wrong_type(&mut self, whose: &Whose, field: &str, want: &str, value: &RawValue) {
        let found = match what(value) {
            "a number" => shown(value.get()),
            other => other.to_owned(),
        };
        self.problem(whose, format!("`{field}` must be {want}, and is {found}"));
    }

    /// A value of a type that serde reads by itself.
    pub(super) fn value<T: DeserializeOwned>(
        &mut self,
        whose: &Whose,
        field: &str,
        want: &str,
        value: &RawValue,
    ) -> Option<T> {
        let read = serde_json::from_str(value.get()).ok();
        if read.is_none() {
            self.wrong_type(whose, field, want, value);
        }
        read
    }

    pub(super) fn text(&mut self, whose: &Whose, field: &str, value: &RawValue) -> Option<String> {
        self.value(whose, field, "a text", value)
    }

    pub(super) fn flag(&mut self, whose: &Whose, field: &str, value: &RawValue) -> bool {
        self.value(whose, field, "true or false", value).unwrap_or(false)
    }

    /// A text that is read by its own rules, such as a name.
    pub(super) fn parsed<T: FromStr<Err: fmt::Display>>(
        &mut self,
        whose: &Whose,
        field: &str,
        value: &RawValue,
    ) -> Option<T> {
        let text = self.text(whose, field, value)?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(problem) => {
                self.problem(whose, format!("`{field}`: {problem}"));
                None
            }
        }
    }

    pub(super) fn duration(&mut self, whose: &Whose, field: &str, value: &RawValue) -> Option<Duration> {
        let text = self.value::<String>(whose, field, "a duration, such as \"30s\"", value)?;
        match duration::parse(&text) {
            Ok(duration) => Some(duration),
            Err(why) => {
                self.problem(whose, format!("`{field}` is no duration: {why}; {}", duration::help(&text)));
                None
            }
        }
    }

    pub(super) fn instant(&mut self, whose: &Whose, field: &str, value: &RawValue) -> Option<Timestamp> {
        let text = self.text(whose, field, value)?;
        match text.parse::<jiff::Timestamp>() {
            Ok(at) => Some(Timestamp::from_micros(at.as_microsecond())),
            Err(_) => {
                let text = shown(&text);
                self.problem(
                    whose,
                    format!("`{field}` is no instant: write it like \"2026-01-31T09:30:00Z\", not {text:?}"),
                );
                None
            }
        }
    }

    pub(super) fn list<'a>(&mut self, whose: &Whose, field: &str, value: &'a RawValue) -> Vec<&'a RawValue> {
        let read = serde_json::from_str(value.get()).ok();
        read.unwrap_or_else(|| {
            self.wrong_type(whose, field, "a list", value);
            Vec::new()
        })
    }

    pub(super) fn object<'a>(
        &mut self,
        whose: &Whose,
        field: &str,
        want: &str,
        value: &'a RawValue,
    ) -> Option<Fields<'a>> {
        let read = serde_json::from_str(value.get()).ok();
        if read.is_none() {
            self.wrong_type(whose, field, want, value);
        }
        read
    }
}

/// What a value is, by its first character.
pub(super) fn what(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// A text of a stranger's as errors show it: not too long.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

const SHOWN_CHARS_MAX: usize = 64;
