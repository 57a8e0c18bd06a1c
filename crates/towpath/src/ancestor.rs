//! What the nodes above a node have left, read by type: by kind, or by name.

use std::fmt;

use towpath_core::store::{self, Wanted};
use towpath_core::{End, InvalidName, Kind, NodeName, Payload, State, StoreError};

use crate::builtin::RAN;
use crate::context::Context;
use crate::job::Job;

/// A node above this one. That it left nothing is a value: it may have failed, been skipped, or, above an `at_least`
/// node, still be running.
pub struct Ancestor<J: Job> {
    /// Its name.
    pub node: NodeName,
    /// Where it stands.
    pub state: State,
    /// What it left, if it succeeded.
    pub output: Option<J::Output>,
    /// Its last failure, if an attempt of it has failed.
    pub error: Option<String>,
}

impl<J: Job> Ancestor<J> {
    /// Its output, for a node that cannot do without.
    ///
    /// # Errors
    /// [`AncestorError::Absent`] when it has not succeeded.
    pub fn into_output(self) -> Result<J::Output, AncestorError> {
        let Self { node, state, output, error } = self;
        output.ok_or(AncestorError::Absent { node, state, error })
    }
}

impl<J: Job> fmt::Debug for Ancestor<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ancestor")
            .field("node", &self.node)
            .field("state", &self.state)
            .field("has_output", &self.output.is_some())
            .field("error", &self.error)
            .finish()
    }
}

/// Why a node cannot read what lies above it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AncestorError {
    /// No node above is of this kind, or bears this name.
    #[error("no node above {} {wanted}: add an edge, or read another", at(.node))]
    None {
        /// What was asked for.
        wanted: String,
        /// The node that asked, if the job stands in a graph.
        node: Option<NodeName>,
    },
    /// Several are of this kind, and none of them is meant more than the others.
    #[error("{} nodes above are of kind {kind}: {}: name one of them", many(.candidates), listed(.candidates))]
    Ambiguous {
        /// The kind.
        kind: &'static str,
        /// Their names, at most 11.
        candidates: Vec<NodeName>,
    },
    /// The node of this name is of another kind.
    #[error("node {node} is of kind {kind}, not {asked}")]
    OtherKind {
        /// The node.
        node: NodeName,
        /// Its kind.
        kind: Kind,
        /// The kind asked for.
        asked: &'static str,
    },
    /// It left nothing.
    #[error("node {node} has no output: it is {state}{}", error.as_ref().map(|e| format!(" ({e})")).unwrap_or_default())]
    Absent {
        /// The node.
        node: NodeName,
        /// Where it stands.
        state: State,
        /// Its last failure.
        error: Option<String>,
    },
    /// What it left is of another shape than the type asked for.
    #[error("the output of node {node} cannot be read: {problem}")]
    Decode {
        /// The node.
        node: NodeName,
        /// What is wrong, and where.
        problem: String,
    },
    /// That is no name of a node.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn at(node: &Option<NodeName>) -> String {
    node.as_ref().map_or_else(|| "a job without a graph".to_owned(), ToString::to_string)
}

fn many(candidates: &[NodeName]) -> String {
    if candidates.len() > SHOWN { format!("more than {SHOWN}") } else { candidates.len().to_string() }
}

fn listed(candidates: &[NodeName]) -> String {
    let shown: Vec<&str> = candidates.iter().take(SHOWN).map(NodeName::as_str).collect();
    let rest = if candidates.len() > SHOWN { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

impl Context {
    /// The node above this one that is of this kind: the only one among the direct parents, or, if none of those is of
    /// the kind, the only one further up.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Context, Failure, Job, Perform};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "price", output = u64)] struct Price;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "charge")] struct Charge;
    /// impl Perform for Charge {
    ///     async fn perform(self, cx: Context) -> Result<(), Failure> {
    ///         let cents: u64 = cx.ancestor::<Price>().await?.into_output()?;
    ///         println!("charging {cents}");
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`AncestorError::None`] and [`AncestorError::Ambiguous`], which name what is there.
    pub async fn ancestor<J: Job>(&self) -> Result<Ancestor<J>, AncestorError> {
        let mut found = self.above(Wanted::Kind(Kind::new(J::KIND)?), SHOWN as u32 + 1).await?;
        if found.len() > 1 {
            let candidates = found.into_iter().map(|one| one.upstream.node).collect();
            return Err(AncestorError::Ambiguous { kind: J::KIND, candidates });
        }
        let one = found.pop().ok_or_else(|| self.nothing(format!("is of kind {}", J::KIND)))?;
        read::<J>(one.upstream)
    }

    /// The node of this name above this one, which must be of this kind.
    ///
    /// # Errors
    /// [`AncestorError::None`] when no node above bears the name, [`AncestorError::OtherKind`] when it is of another kind.
    pub async fn ancestor_named<J: Job>(&self, name: &str) -> Result<Ancestor<J>, AncestorError> {
        let found = self.above(Wanted::Node(NodeName::new(name)?), 1).await?.pop();
        let store::Ancestor { kind, upstream } = found.ok_or_else(|| self.nothing(format!("is named {name}")))?;
        if kind.as_str() != J::KIND && J::KIND != RAN {
            return Err(AncestorError::OtherKind { node: upstream.node, kind, asked: J::KIND });
        }
        read::<J>(upstream)
    }

    /// All nodes of this kind above this one, in the order in which they were added: those among the direct parents,
    /// or, if none of those is of the kind, those further up. None is no error.
    ///
    /// # Errors
    /// The store could not be asked, or an output is of another shape.
    pub async fn ancestors<J: Job>(&self) -> Result<Vec<Ancestor<J>>, AncestorError> {
        let found = self.above(Wanted::Kind(Kind::new(J::KIND)?), u32::MAX).await?;
        found.into_iter().map(|one| read::<J>(one.upstream)).collect()
    }

    async fn above(&self, wanted: Wanted, limit: u32) -> Result<Vec<store::Ancestor>, StoreError> {
        if self.node().is_none() {
            return Ok(Vec::new());
        }
        self.client().store().ancestors(self.job(), wanted, limit).await
    }

    fn nothing(&self, wanted: String) -> AncestorError {
        AncestorError::None { wanted, node: self.node().map(|node| node.name.clone()) }
    }
}

fn read<J: Job>(upstream: store::Upstream) -> Result<Ancestor<J>, AncestorError> {
    let store::Upstream { node, state, output, error } = upstream;
    let output = match output {
        Some(payload) => Some(payload),
        // The unit leaves no payload.
        None => (state == State::Ended(End::Succeeded)).then(|| Payload::json_bytes(&b"null"[..])),
    };
    let output = output.map(|payload| payload.decode::<J::Output>()).transpose();
    match output {
        Ok(output) => Ok(Ancestor { node, state, output, error }),
        Err(e) => Err(AncestorError::Decode { node, problem: e.problem }),
    }
}

/// Candidates that an ambiguity names.
const SHOWN: usize = 10;
