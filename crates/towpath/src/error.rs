//! What can go wrong for a client.

use towpath_core::replay::CutRefusal;
use towpath_core::store::Refusal;
use towpath_core::{
    Cause, EncodeError, End, GraphId, InvalidGraph, InvalidName, JobId, KeyHolder, RetryMode, RetryRefusal, RunId,
    State, StoreError,
};

/// Why a client's call did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store could not do it. See [`StoreError::kind`] for what helps.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store refused it; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A graph is invalid; nothing was written.
    #[error(transparent)]
    Graph(#[from] InvalidGraph),
    /// A name is invalid; nothing was written.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A job's input cannot be written.
    #[error("the input of kind {kind} cannot be stored: {source}")]
    Encode {
        /// The kind.
        kind: String,
        /// Why.
        source: EncodeError,
    },
    /// What is stored is of another type than what is asked for.
    #[error("{what} cannot be read: {problem}")]
    Decode {
        /// What.
        what: String,
        /// How it differs.
        problem: String,
    },
    /// The address of a store is not understood.
    #[error("{url:?} is no store: {problem}")]
    Address {
        /// The address, without what may be a password.
        url: String,
        /// What is wrong, and what is understood.
        problem: String,
    },
}

/// Why a run was not forked. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There is no such run.
    #[error("there is no run {run:?}: it was never started, or has been pruned")]
    UnknownRun {
        /// What was asked for.
        run: String,
    },
    /// Operations of a function are counted from 1.
    #[error("run {run} is not forked: operations are counted from 1")]
    NoOperation {
        /// The run.
        run: RunId,
    },
    /// It cannot be gone on from there.
    #[error("run {run} is not forked: {why}")]
    Cut {
        /// The run.
        run: RunId,
        /// Why.
        why: CutRefusal,
    },
    /// The run is one of the product's own, and means nothing without its graph.
    #[error("run {run} is a {kind} of a graph, and is not forked: restart the graph")]
    Builtin {
        /// The run.
        run: RunId,
        /// Its kind.
        kind: String,
    },
    /// Its journal cannot be written anew.
    #[error("the journal of run {run} cannot be written: {source}")]
    Line {
        /// The run.
        run: RunId,
        /// Why.
        source: EncodeError,
    },
    /// It could not be read or started, or was refused: the id of the fork may be taken.
    #[error(transparent)]
    Start(#[from] Error),
}

impl From<StoreError> for ForkError {
    fn from(error: StoreError) -> Self {
        Self::Start(error.into())
    }
}

/// Why a job was not put back, or a graph not run again. Nothing was changed, unless it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// The job is not stored: never enqueued, or pruned.
    #[error("there is no job {id}: it was never enqueued, or has been pruned")]
    UnknownJob {
        /// The job.
        id: JobId,
    },
    /// The job is in a state from which it is not put back.
    #[error("job {id} is {state}: {}", left(.state))]
    Left {
        /// The job.
        id: JobId,
        /// Where it stands.
        state: State,
    },
    /// The job is a run that has begun, and was to get another input.
    #[error(
        "job {id} is a run that has begun, and its journal was made with the input that it has: retry it without another one, or start a new run"
    )]
    HasBegun {
        /// The job.
        id: JobId,
    },
    /// There is no such run.
    #[error("there is no run {run:?}: it was never started, or has been pruned")]
    UnknownRun {
        /// What was asked for.
        run: String,
    },
    /// Operations of a function are counted from 1.
    #[error("run {run} is not retried: operations are counted from 1")]
    NoOperation {
        /// The run.
        run: RunId,
    },
    /// The run cannot go on from there.
    #[error("run {run} is not retried: {why}")]
    Run {
        /// The run.
        run: RunId,
        /// Why.
        why: CutRefusal,
    },
    /// The run is a node, and nodes begin at their beginnings.
    #[error(
        "run {run} is a node of graph {graph}, and is run again from its beginning only: retry it without saying from where"
    )]
    RunOfGraph {
        /// The run.
        run: RunId,
        /// The graph.
        graph: GraphId,
    },
    /// Another job has the unique key of the job since it has ended.
    #[error("job {id} is not put back: {by} has its unique key now: wait until that has ended, or cancel it")]
    KeyTaken {
        /// The job.
        id: JobId,
        /// Who has the key.
        by: KeyHolder,
    },
    /// Another graph has the unique key of the graph since it has ended.
    #[error("graph {id} is not retried: {by} has its unique key now: wait until that has ended, or cancel it")]
    GraphKeyTaken {
        /// The graph.
        id: GraphId,
        /// Who has the key.
        by: KeyHolder,
    },
    /// The graph is not stored: never enqueued, or pruned.
    #[error("there is no graph {id}: it was never enqueued, or has been pruned")]
    UnknownGraph {
        /// The graph.
        id: GraphId,
    },
    /// The graph cannot be retried so.
    #[error("graph {id} is not retried: {why}")]
    Graph {
        /// The graph.
        id: GraphId,
        /// Why.
        why: RetryRefusal,
    },
    /// None of the graph's nodes that have ended is meant.
    #[error(
        "there is nothing to retry in graph {id} ({mode}): none of those nodes has ended so yet; what still runs is retried when it has failed"
    )]
    Nothing {
        /// The graph.
        id: GraphId,
        /// Which nodes were meant.
        mode: RetryMode,
    },
    /// Somebody lifted or cancelled the retry while it was under way. Some nodes may wait again.
    #[error(
        "the retry of graph {id} was cut short: it was cancelled, or its stop was lifted; look at it, and retry it again"
    )]
    CutShort {
        /// The graph.
        id: GraphId,
    },
    /// The new input cannot be written.
    #[error("the new input of job {id} cannot be stored: {source}")]
    Input {
        /// The job.
        id: JobId,
        /// Why.
        source: EncodeError,
    },
    /// The store could not do it. If some of it was written, asking again goes on from there.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a graph was not restarted. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestartError {
    /// The graph is not stored: never enqueued, or pruned.
    #[error("there is no graph {id}: it was never enqueued, or has been pruned")]
    UnknownGraph {
        /// The graph.
        id: GraphId,
    },
    /// It cannot be enqueued once more: the id is taken by another graph, it has grown beyond what one write may have, or the
    /// store could not do it.
    #[error(transparent)]
    Enqueue(#[from] Error),
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn left(state: &State) -> &'static str {
    match state {
        State::Ended(End::Succeeded) => "say that it is to be done once more, if that is meant",
        State::Ended(_) => "it is not put back",
        State::Running => "wait for its end, or cancel it first",
        _ => "it is still to be done",
    }
}

/// Why a job has no output to give, or a graph no input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// It ended otherwise than by success.
    #[error("job {id} is {state}{}{}", because(.cause), said(.error))]
    Ended {
        /// The job.
        id: JobId,
        /// Its end.
        state: State,
        /// Why.
        cause: Option<Cause>,
        /// Its last failure.
        error: Option<String>,
    },
    /// It is not stored: never enqueued, or pruned.
    #[error("there is no job {id}: it was never enqueued, or has been pruned")]
    Unknown {
        /// The job.
        id: JobId,
    },
    /// Its output is of another shape than the type asked for.
    #[error("the output of job {id} cannot be read: {problem}")]
    Decode {
        /// The job.
        id: JobId,
        /// What is wrong, and where.
        problem: String,
    },
    /// A graph's input is of another shape than the type asked for.
    #[error("the input of graph {graph} cannot be read: {problem}")]
    GraphInput {
        /// The graph.
        graph: GraphId,
        /// What is wrong, and where.
        problem: String,
    },
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn because(cause: &Option<Cause>) -> String {
    cause.as_ref().map(|c| format!(": {c}")).unwrap_or_default()
}

fn said(error: &Option<String>) -> String {
    error.as_ref().map(|e| format!(" ({e})")).unwrap_or_default()
}
