//! Nodes that stand for more than one job, as types: a graph inside a graph, and the same for each element of a list.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use towpath_core::DecodeError;
use towpath_core::builtin::{self, Map, Nested};

use crate::job::Job;

/// A node that runs a graph and ends as that ends. Its output is what the graph's last nodes have left. Read it by name,
/// `cx.ancestor_named::<InnerGraph>("import")`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InnerGraph(pub(crate) Nested);

impl Job for InnerGraph {
    const KIND: &'static str = builtin::GRAPH;
    type Output = InnerOutputs;
}

/// What the last nodes of a graph have left, by name: those that succeeded, and that no other node waits for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InnerOutputs(BTreeMap<String, Box<RawValue>>);

impl InnerOutputs {
    /// The output of a node; `None` if the node is none of the last ones, or has not succeeded.
    ///
    /// # Errors
    /// The output is of another shape.
    pub fn of<T: DeserializeOwned>(&self, node: &str) -> Result<Option<T>, DecodeError> {
        let output = self.0.get(node).map(|output| serde_json::from_str(output.get()));
        output.transpose().map_err(|e| DecodeError { problem: e.to_string() })
    }

    /// The names of the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// A node that does a job of a type for each element of a list. Its output is what the jobs have left, in the order of the
/// elements.
pub struct Each<R> {
    pub(crate) map: Map,
    job: PhantomData<fn() -> R>,
}

/// The same where failures are collected: the output says of each element how it ended.
pub struct EachEnded<R> {
    map: Map,
    job: PhantomData<fn() -> R>,
}

/// How an element ended, where failures are collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementEnd<T> {
    /// It left this.
    Ok(T),
    /// It did not succeed.
    Error(String),
}

/// A graph that is run for each element of a list, and what its last nodes leave: stands in for a job in [`Each`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ElementGraph(Box<RawValue>);

impl Job for ElementGraph {
    const KIND: &'static str = builtin::GRAPH;
    type Output = InnerOutputs;
}

macro_rules! maps {
    ($($name:ident: $output:ty;)+) => {$(
        impl<R> $name<R> {
            pub(crate) fn new(map: Map) -> Self {
                Self { map, job: PhantomData }
            }
        }

        impl<R> fmt::Debug for $name<R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.map).finish()
            }
        }

        impl<R> Serialize for $name<R> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.map.serialize(serializer)
            }
        }

        impl<'de, R> Deserialize<'de> for $name<R> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Map::deserialize(deserializer).map(Self::new)
            }
        }

        impl<R: Job> Job for $name<R> {
            const KIND: &'static str = builtin::MAP;
            type Output = $output;
        }
    )+};
}

maps! {
    Each: Vec<R::Output>;
    EachEnded: Vec<ElementEnd<R::Output>>;
}
