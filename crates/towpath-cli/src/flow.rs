//! A flow file: commands as nodes of a graph, read, checked as a whole, and made into a graph.
//!
//! Nothing is written before the whole file is right, and everything that is wrong with it is said at
//! once, each problem with its place.

mod check;
mod graph;
mod node;
mod problem;
mod program;
mod read;

use std::path::{Path, PathBuf};
use std::time::Duration;

use towpath::{Condition, GraphName, NodeName, RetryPolicy};

use crate::exec::Exec;

pub(crate) use graph::{FlowSource, queue_of};
pub(crate) use problem::FlowProblems;
pub(crate) use program::find_program;

/// A flow that is right.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Its name, for people.
    pub(crate) name: GraphName,
    /// Its nodes, in the order of the file.
    pub(crate) nodes: Vec<Node>,
}

/// A node of a flow.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) exec: Exec,
    pub(crate) after: Vec<(NodeName, Condition)>,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Option<Duration>,
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

    /// The flow that the file describes.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn parse(&self) -> Result<Flow, FlowProblems> {
        let default_name = self.path.file_stem().map_or_else(|| "flow".into(), |s| s.to_string_lossy().into_owned());
        let result =
            read::read(&self.text, &default_name, self.folder()).and_then(|drafts| check::check(drafts, self.folder()));
        result.map_err(|problems| FlowProblems::new(&self.shown, &self.text, problems))
    }

    /// What tells one content of the file from another.
    pub(crate) fn hash(&self) -> String {
        graph::hash(self.text.as_bytes())
    }
}
