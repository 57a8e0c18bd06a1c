//! A flow file: commands, calls and waits as nodes of a graph, read, checked as a whole, and made into a graph.
//!
//! Nothing is written before the whole file is right, and everything that is wrong with it is said at
//! once, each problem with its place.

mod check;
mod graph;
mod include;
mod node;
mod params;
mod problem;
mod program;
mod read;
mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use towpath::core::GraphRetry;
use towpath::core::builtin::{self, Scope, Wait};
use towpath::{Condition, Due, GraphLimits, GraphName, Label, NodeName, Payload, RetryPolicy};

use crate::exec::{Exec, Http};
use node::Each;
use problem::Source;

pub(crate) use graph::{FlowSource, flow_of, queue_of, queues_of};
pub(crate) use params::{Given, Missing};
pub(crate) use problem::FlowProblems;
pub(crate) use program::find_program;
pub(crate) use schema::schema;

/// A flow that is right.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Its name, for people.
    pub(crate) name: GraphName,
    /// Whether the first failure stops it.
    pub(crate) fail_fast: bool,
    /// How often it is tried when it fails.
    pub(crate) retry: Option<GraphRetry>,
    /// How many nodes of a queue run at once.
    pub(crate) queues: BTreeMap<String, u16>,
    /// Its nodes, each with its undo behind it, in the order of the file, included ones at the end.
    pub(crate) nodes: Vec<Node>,
}

/// A node of a flow.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) does: Does,
    pub(crate) after: Vec<(NodeName, Condition)>,
    /// How many of those it waits for, if not for all.
    pub(crate) at_least: Option<u32>,
    /// Of an undo, the node that it guards.
    pub(crate) guards: Option<NodeName>,
    /// Without this it is skipped.
    pub(crate) guard: Option<String>,
    /// The list whose elements it does it for.
    pub(crate) each: Option<Each>,
    pub(crate) may_fail: bool,
    pub(crate) delay: Option<Duration>,
    pub(crate) queue: Option<String>,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Option<Duration>,
    pub(crate) scope: Scope,
}

/// What a node does.
#[derive(Debug)]
pub(crate) enum Does {
    Exec(Exec),
    Http(Http),
    Flow(Box<Held>),
    Branches(Vec<(Label, String)>),
    Signal(Wait),
    Timer(Due),
}

/// Another flow that a node runs.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) file: PathBuf,
    pub(crate) flow: Flow,
    /// Its parameters that are known when it is started.
    pub(crate) given: BTreeMap<String, builtin::Given>,
}

impl Does {
    /// The size of what is stored of it.
    fn bytes(&self) -> usize {
        let payload = match self {
            Self::Exec(exec) => Payload::json(exec),
            Self::Http(http) => Payload::json(http),
            Self::Flow(held) => return held.bytes(),
            Self::Branches(_) | Self::Signal(_) | Self::Timer(_) => return 0,
        };
        payload.map_or(0, |payload| payload.bytes.len())
    }
}

/// A flow file as it lies on disk.
#[derive(Debug)]
pub(crate) struct FlowFile {
    /// As the user named it.
    pub(crate) shown: String,
    /// Where it is, from the root.
    pub(crate) path: PathBuf,
    /// What it says.
    pub(crate) text: String,
}

impl FlowFile {
    /// Reads the file.
    ///
    /// # Errors
    /// Says why it cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|e| e.to_string())?;
        let text = String::from_utf8(text)
            .map_err(|e| format!("it is not UTF-8: the first invalid byte is at {}", e.utf8_error().valid_up_to()))?;
        let full = std::path::absolute(path).map_err(|e| e.to_string())?;
        Ok(Self { shown: path.display().to_string(), path: full, text })
    }

    /// The folder that relative folders count from, and where the store lies unless told otherwise.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The flow that the file and those that it includes describe, with these parameters.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn parse(&self, given: &Given, limits: &GraphLimits) -> Result<Flow, FlowProblems> {
        let default_name = self.path.file_stem().map_or_else(|| "flow".into(), |s| s.to_string_lossy().into_owned());
        let mut sources = vec![Source { name: self.shown.clone(), text: self.text.clone() }];
        let drafts = read::read(&self.text, &default_name, self.folder()).map(|mut drafts| {
            let values = params::values(&drafts.params, given, &mut drafts.problems);
            for node in &mut drafts.nodes {
                values.put_into(&mut node.scope);
            }
            let above = vec![self.path.canonicalize().unwrap_or_else(|_| self.path.clone())];
            let missing = given.missing;
            include::Expand { sources: &mut sources, above, missing }.expand(&mut drafts, 0, &values);
            drafts
        });
        let result = drafts.and_then(|drafts| check::check(drafts, self.folder(), limits));
        result.map_err(|problems| FlowProblems::new(sources, problems))
    }

    /// What tells one content of the file from another.
    pub(crate) fn hash(&self) -> String {
        graph::hash(self.text.as_bytes())
    }
}
