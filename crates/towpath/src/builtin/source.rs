//! Values that a built-in node takes from what stands above it: a plain path is followed as it stands, byte by byte, and
//! everything else is an expression.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use towpath_core::builtin::{Given, Scope};
use towpath_core::store::{Upstream, Wanted};
use towpath_core::{GraphId, JobId, NodeName, Payload};

use crate::client::Client;
use crate::failure::Failure;

/// `outputs.list.files`, `outputs["my-list"]`, `input.files`, `params.files`: no expression is quicker to read, and none
/// keeps a large number as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) root: Root,
    fields: Vec<String>,
}

/// Where a path begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// At the output of a node above.
    Output(String),
    /// At the graph's input.
    Input,
    /// At a parameter.
    Param(String),
    /// At the element of a list.
    Each,
}

impl Path {
    /// Reads a path; `None` if the text is something else.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let root = field(&mut rest)?;
        let mut fields = Vec::new();
        while !rest.is_empty() {
            fields.push(step(&mut rest)?);
        }
        let root = match root.as_str() {
            "input" => Root::Input,
            "each" => Root::Each,
            "outputs" if !fields.is_empty() => Root::Output(fields.remove(0)),
            "params" if !fields.is_empty() => Root::Param(fields.remove(0)),
            _ => return None,
        };
        Some(Self { root, fields })
    }

    fn follow(&self, from: Box<RawValue>, text: &str) -> Result<Box<RawValue>, Failure> {
        let mut at = from;
        for field in &self.fields {
            let mut object: BTreeMap<String, Box<RawValue>> = serde_json::from_str(at.get())
                .map_err(|_| Failure::permanent(format!("`{text}`: what is asked for {field:?} is no object")))?;
            at = object
                .remove(field)
                .ok_or_else(|| Failure::permanent(format!("`{text}`: there is no field {field:?}")))?;
        }
        Ok(at)
    }
}

/// `.name`, or `["name"]`.
fn step(rest: &mut &str) -> Option<String> {
    if let Some(after) = rest.strip_prefix('.') {
        *rest = after;
        return field(rest);
    }
    let after = rest.strip_prefix("[\"")?;
    let (name, after) = after.split_once("\"]")?;
    *rest = after;
    (!name.contains(['\\', '"'])).then(|| name.to_owned())
}

fn field(rest: &mut &str) -> Option<String> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    *rest = after;
    is_name.then(|| name.to_owned())
}

/// The value of a text for a node, as JSON.
///
/// # Errors
/// It has none, for good; or the store could not be asked.
pub(crate) async fn value(client: &Client, job: JobId, text: &str, scope: &Scope) -> Result<Box<RawValue>, Failure> {
    let Some(path) = Path::read(text) else { return evaluated(client, job, text, scope).await };
    let from = match &path.root {
        Root::Output(node) => output(client, job, node, scope).await?,
        Root::Input => input(client, job).await?,
        Root::Param(name) => match scope.given.get(name) {
            Some(field) => Some(param(client, job, field, text).await?),
            None => scope.params.get(name).cloned(),
        },
        Root::Each => scope.each.clone(),
    };
    path.follow(from.unwrap_or_else(|| RawValue::NULL.to_owned()), text)
}

/// The parameters of the graph that a node holds, for each of these elements, or once if there is no list: objects as JSON.
///
/// # Errors
/// As [`value`]; and one is not of its type.
pub(super) async fn given(
    client: &Client,
    job: JobId,
    given: &BTreeMap<String, Given>,
    scope: &Scope,
    elements: &[Option<&RawValue>],
) -> Result<Vec<Box<RawValue>>, Failure> {
    let mut all = vec![BTreeMap::new(); elements.len()];
    for (name, Given { from, kind }) in given {
        let mut same: Option<Box<RawValue>> = None;
        for (params, element) in all.iter_mut().zip(elements) {
            let value = match &same {
                Some(value) => value.clone(),
                None => {
                    let scope = Scope { each: element.map(ToOwned::to_owned), ..scope.clone() };
                    value(client, job, from, &scope).await?
                }
            };
            if !kind.takes(&value) {
                let shown: String = value.get().chars().take(SHOWN_CHARS_MAX).collect();
                return Err(Failure::permanent(format!(
                    "the parameter `{name}` is to be {}, and `{from}` is {shown}",
                    kind.words()
                )));
            }
            // What does not read the element is the same for all.
            same = (!reads_each(from)).then(|| value.clone());
            params.insert(name.as_str(), value);
        }
    }
    let written = all.iter().map(serde_json::value::to_raw_value);
    written.collect::<Result<_, _>>().map_err(|e| Failure::permanent(e.to_string()))
}

/// Whether a text may read the element of a list.
fn reads_each(text: &str) -> bool {
    match Path::read(text) {
        Some(path) => path.root == Root::Each,
        None => text.contains("each"),
    }
}

/// The input of the node's graph.
async fn input(client: &Client, job: JobId) -> Result<Option<Box<RawValue>>, Failure> {
    match graph_of(client, job).await? {
        Some(graph) => client.store().graph_input(graph).await?.map(|payload| json(&payload)).transpose(),
        None => Ok(None),
    }
}

/// A parameter that the graph's input has in this field of `params`.
async fn param(client: &Client, job: JobId, field: &str, text: &str) -> Result<Box<RawValue>, Failure> {
    let fields = vec!["params".to_owned(), field.to_owned()];
    let input = input(client, job).await?.unwrap_or_else(|| RawValue::NULL.to_owned());
    Path { root: Root::Input, fields }.follow(input, text)
}

/// What a node above has left; an error if it has left nothing.
async fn output(client: &Client, job: JobId, node: &str, scope: &Scope) -> Result<Option<Box<RawValue>>, Failure> {
    let name = NodeName::new(&format!("{}{node}", scope.prefix)).map_err(|e| Failure::permanent(e.to_string()))?;
    let found = client.store().ancestors(job, Wanted::Node(name), 1).await?.pop();
    let found = found.ok_or_else(|| Failure::permanent(format!("no node above is named {node}")))?;
    let Upstream { state, output, error, .. } = found.upstream;
    let error = error.map(|error| format!(" ({error})")).unwrap_or_default();
    let output =
        output.ok_or_else(|| Failure::permanent(format!("node {node} has no output: it is {state}{error}")))?;
    json(&output).map(Some)
}

fn json(payload: &Payload) -> Result<Box<RawValue>, Failure> {
    payload.decode().map_err(|e| Failure::permanent(format!("what is read from above is no JSON: {}", e.problem)))
}

async fn graph_of(client: &Client, job: JobId) -> Result<Option<GraphId>, Failure> {
    Ok(client.inspect().job(job).await?.and_then(|detail| detail.line.node).map(|node| node.graph))
}

#[cfg(feature = "cel")]
async fn evaluated(client: &Client, job: JobId, text: &str, scope: &Scope) -> Result<Box<RawValue>, Failure> {
    use crate::expression::{Expression, Facts};
    let expression = Expression::parse(text).map_err(|e| Failure::permanent(e.to_string()))?;
    let (graph, above) = (graph_of(client, job).await?, client.store().upstream(job).await?);
    let facts = Facts::of(client, job, graph, &above, &[&expression], scope).await?;
    let value = tokio::task::spawn_blocking(move || expression.evaluate(&facts)).await;
    let value = value.map_err(|e| Failure::new(format!("the evaluation was stopped: {e}")))?;
    let value = value.map_err(|e| Failure::permanent(e.to_string()))?;
    serde_json::value::to_raw_value(&value).map_err(|e| Failure::permanent(e.to_string()))
}

#[cfg(not(feature = "cel"))]
async fn evaluated(_: &Client, _: JobId, text: &str, _: &Scope) -> Result<Box<RawValue>, Failure> {
    Err(Failure::unfit(format!("`{text}` needs the feature `cel` of the crate towpath")))
}

/// Characters of a wrong value in the error that says so.
const SHOWN_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_path_is_told_from_an_expression() {
        let path = |text: &str| Path::read(text);
        let list = path("outputs.list").unwrap();
        assert_eq!((list.root, list.fields.len()), (Root::Output("list".into()), 0));
        let deep = path("outputs[\"my-list\"].a.b_2").unwrap();
        assert_eq!((deep.root, deep.fields), (Root::Output("my-list".into()), vec!["a".to_owned(), "b_2".to_owned()]));
        assert_eq!(path(" input ").unwrap().root, Root::Input);
        assert_eq!(path("params.files").unwrap().root, Root::Param("files".into()));
        assert_eq!(path("each.name").unwrap().root, Root::Each);
        assert!(reads_each("each") && reads_each("each.size * 2") && !reads_each("outputs.each"));
        for text in [
            "outputs",
            "outputs.a[0]",
            "outputs.a + outputs.b",
            "size(input)",
            "inputs.a",
            "input.",
            "",
            "1",
            "input.a b",
        ] {
            assert_eq!(path(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_is_followed_byte_by_byte_and_says_where_it_ends() {
        let from = || RawValue::from_string(r#"{"a": {"b": [1.10, 12345678901234567890123]}}"#.into()).unwrap();
        let follow = |text: &str| Path::read(text).unwrap().follow(from(), text);
        assert_eq!(follow("input.a.b").unwrap().get(), "[1.10, 12345678901234567890123]");
        assert!(follow("input.a.c").unwrap_err().to_string().contains("there is no field \"c\""));
        assert!(follow("input.a.b.c").unwrap_err().to_string().contains("is no object"));
    }
}
