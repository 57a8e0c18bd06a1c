//! What an expression sees: nodes above, the graph's input, parameters.

use std::collections::{BTreeMap, BTreeSet};

use cel::{Context as Variables, Value};
use serde::Serialize;
use serde_json::value::RawValue;
use towpath_core::builtin::Scope;
use towpath_core::store::{Upstream, Wanted};
use towpath_core::{GraphId, JobId, NodeName, Payload};

use super::{Expression, value};
use crate::client::Client;
use crate::context::Context;
use crate::failure::Failure;

/// What an expression sees.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    nodes: BTreeMap<String, Fact>,
    input: Option<serde_json::Value>,
    params: BTreeMap<String, serde_json::Value>,
    each: Option<serde_json::Value>,
}

/// How a node ended and what it left.
#[derive(Clone, Debug, Default)]
pub struct Fact {
    /// Its state, in a word.
    pub state: String,
    /// Its output, if it left one that is JSON.
    pub output: Option<serde_json::Value>,
    /// Its last failure.
    pub error: Option<String>,
}

impl Facts {
    /// Adds a node.
    pub fn node(mut self, name: &str, fact: Fact) -> Self {
        self.nodes.insert(name.to_owned(), fact);
        self
    }

    /// Sets the graph's input; a value that has no JSON form is none.
    pub fn input<T: Serialize>(mut self, input: &T) -> Self {
        self.input = serde_json::to_value(input).ok();
        self
    }

    /// Adds a parameter; a value that has no JSON form is none.
    pub fn param<T: Serialize>(mut self, name: &str, param: &T) -> Self {
        self.params.insert(name.to_owned(), serde_json::to_value(param).unwrap_or_default());
        self
    }

    /// Sets the element of a list; a value that has no JSON form is none.
    pub fn each<T: Serialize>(mut self, element: &T) -> Self {
        self.each = serde_json::to_value(element).ok();
        self
    }

    /// Gathers what expressions of a node see: its direct parents, the nodes further up that they name, the graph's input,
    /// and the parameters of its scope.
    ///
    /// # Errors
    /// The store could not be asked, or a node that is named stands nowhere above: the attempt failed.
    pub async fn gather(cx: &Context, expressions: &[&Expression], scope: &Scope) -> Result<Self, Failure> {
        let graph = cx.node().map(|node| node.graph);
        Self::of(cx.client(), cx.job(), graph, &cx.upstream().await?, expressions, scope).await
    }

    /// The same of a node that is no attempt: `parents` are its direct ones.
    pub(crate) async fn of(
        client: &Client,
        job: JobId,
        graph: Option<GraphId>,
        parents: &[Upstream],
        expressions: &[&Expression],
        scope: &Scope,
    ) -> Result<Self, Failure> {
        let mut facts = Self::default();
        for upstream in parents {
            let name = upstream.node.as_str();
            facts.add(name.strip_prefix(scope.prefix.as_str()).unwrap_or(name), upstream);
        }
        let named: BTreeSet<&String> = expressions.iter().flat_map(|expression| &expression.uses().nodes).collect();
        for name in named {
            if facts.nodes.contains_key(name) {
                continue;
            }
            let full =
                NodeName::new(&format!("{}{name}", scope.prefix)).map_err(|e| Failure::permanent(e.to_string()))?;
            let found = client.store().ancestors(job, Wanted::Node(full), 1).await?.pop();
            let found = found.ok_or_else(|| Failure::permanent(format!("no node above is named {name}")))?;
            facts.add(name, &found.upstream);
        }
        facts.input = match graph {
            Some(graph) => client.store().graph_input(graph).await?.as_ref().and_then(read),
            None => None,
        };
        let decode = |json: &RawValue| serde_json::from_str(json.get()).unwrap_or_default();
        facts.each = scope.each.as_deref().map(decode);
        let known = scope.params.iter().map(|(name, json)| (name.clone(), decode(json)));
        let given = facts.input.as_ref().and_then(|input| input.get("params"));
        // What was not given is none: an expression that reads it says so.
        let given = scope.given.iter().filter_map(|(name, field)| Some((name.clone(), given?.get(field)?.clone())));
        facts.params = known.chain(given).collect();
        Ok(facts)
    }

    /// Makes them the variables of an evaluation.
    pub(super) fn add_to(&self, variables: &mut Variables<'_, '_>) {
        let of_nodes =
            |each: fn(&Fact) -> Value| value::map(self.nodes.iter().map(|(name, fact)| (name.clone(), each(fact))));
        let output = |fact: &Fact| fact.output.as_ref().map_or(Value::Null, value::of_json);
        let error = |fact: &Fact| fact.error.clone().map_or(Value::Null, Value::from);
        variables.add_variable_from_value("outputs", of_nodes(output));
        variables.add_variable_from_value("states", of_nodes(|fact| Value::from(fact.state.clone())));
        variables.add_variable_from_value("errors", of_nodes(error));
        variables.add_variable_from_value("input", self.input.as_ref().map_or(Value::Null, value::of_json));
        let params = self.params.iter().map(|(name, param)| (name.clone(), value::of_json(param)));
        variables.add_variable_from_value("params", value::map(params));
        variables.add_variable_from_value("each", self.each.as_ref().map_or(Value::Null, value::of_json));
    }

    fn add(&mut self, name: &str, upstream: &Upstream) {
        let fact = Fact {
            state: upstream.state.word().to_owned(),
            output: upstream.output.as_ref().and_then(|output| output.decode().ok()),
            error: upstream.error.clone(),
        };
        self.nodes.insert(name.to_owned(), fact);
    }
}

fn read(payload: &Payload) -> Option<serde_json::Value> {
    payload.decode().ok()
}
