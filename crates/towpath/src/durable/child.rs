//! Children of a run: jobs, graphs and other runs that it starts, and waits for or leaves alone.

use std::error::Error as StdError;
use std::fmt;
use std::future::IntoFuture;
use std::panic::Location;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use towpath_core::replay::{Ident, Interrupt, OpKind, Outcome, Pos, Request, Wants};
use towpath_core::store::{Child, ChildEnd, Item, Parent};
use towpath_core::{Cause, End, GraphEnd, JobId, Label, NewJob, Queue, RunId, State, defaults, fingerprint};

use super::client::new_run;
use super::cx::Cx;
use super::function::Durable;
use super::op::Op;
use crate::client;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::job::Job;

/// Why a child has no result to give. It is recorded, and the same in every replay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildError<E> {
    /// It was never started: the store refused it.
    Refused(String),
    /// Its function returned this error, or its job died of it.
    Failed(E),
    /// It was cancelled.
    Cancelled {
        /// By whom, and why.
        cause: Option<Cause>,
    },
    /// It took longer than it may.
    TimedOut,
    /// It ended otherwise.
    Ended {
        /// Its end.
        state: State,
        /// Why.
        cause: Option<Cause>,
        /// Its last error.
        error: Option<String>,
    },
    /// The graph ended so.
    Graph(GraphEnd),
}

impl<E: fmt::Display> fmt::Display for ChildError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(problem) => write!(f, "the child was not started: {problem}"),
            Self::Failed(error) => error.fmt(f),
            Self::Cancelled { cause: Some(cause) } => write!(f, "the child was cancelled: {cause}"),
            Self::Cancelled { cause: None } => f.write_str("the child was cancelled"),
            Self::TimedOut => f.write_str("the child took longer than it may"),
            Self::Ended { state, error: Some(error), .. } => write!(f, "the child is {state}: {error}"),
            Self::Ended { state, .. } => write!(f, "the child is {state}"),
            Self::Graph(GraphEnd::Cancelled) => f.write_str("the graph was cancelled"),
            Self::Graph(_) => f.write_str("the graph failed"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> StdError for ChildError<E> {}

/// A child about to be started. Await it for its result, or [`detach`](Self::detach) it.
///
/// It is started when it is first polled, and exactly once: its ids follow from the run and the place, so starting it again
/// after a crash finds it there. Dropped before it has ended, it is asked to cancel, and the run does not end before it has.
#[must_use = "a child is started when it is awaited"]
pub struct ChildBuilder<'r, T> {
    cx: Cx<'r>,
    pos: Pos,
    place: &'static Location<'static>,
    what: Result<What, String>,
    /// The arrival that tells of its end, unless it is that of the place.
    label: Option<Label>,
    decode: fn(&Outcome) -> Result<T, String>,
}

/// What is to be started, and who it is on replay.
pub(super) struct What {
    pub(super) item: Item,
    pub(super) child: Child,
    pub(super) name: String,
    pub(super) version: u16,
    pub(super) input: u64,
}

/// What is to be done for a child: the work of a command.
pub(crate) struct ChildWork {
    pub(crate) item: Item,
    /// What is delivered once it is started, if nobody waits for its end.
    pub(crate) detached: Option<Outcome>,
    /// The arrival that tells of its end.
    pub(crate) label: Label,
}

impl<'r> Cx<'r> {
    /// Starts a run of a durable function and waits for its result.
    ///
    /// Its id is this run's with chapter and place, unless [`ChildBuilder::id`] names another.
    #[track_caller]
    pub fn run_child<I, O, E>(
        &self,
        function: Durable<I, O, E>,
        input: &I,
    ) -> ChildBuilder<'r, Result<O, ChildError<E>>>
    where
        I: Serialize,
        O: DeserializeOwned + 'static,
        E: DeserializeOwned + 'static,
    {
        let place = Location::caller();
        self.child(place, decode_run::<O, E>, |pos, job| {
            let id = self.child_run_id(pos, job);
            let new = new_run(function, id.as_str(), input).map_err(|e| e.to_string())?;
            // Nobody else comes upon such an id.
            let new = NewJob { keep_id: None, ..new };
            self.lone(new, job, function.name(), input)
        })
    }

    /// Starts a job and waits for its output.
    #[track_caller]
    pub fn job<J: Job>(&self, job: &J) -> ChildBuilder<'r, Result<J::Output, ChildError<Failure>>> {
        let place = Location::caller();
        self.child(place, decode_job::<J::Output>, |_, id| {
            let new = client::new_job(job).map_err(|e| e.to_string())?;
            self.lone(new, id, J::KIND, job)
        })
    }

    /// Starts a graph and waits for its end: an error if it fails or is cancelled.
    ///
    /// The ids of the graph and its jobs follow from the run and the place, since those of a builder are others in each
    /// replay: handles that were made before are of no use; [`ChildBuilder::starts`] has the graph's id.
    #[track_caller]
    pub fn graph(&self, graph: &Graph) -> ChildBuilder<'r, Result<(), ChildError<Failure>>> {
        let place = Location::caller();
        self.child(place, decode_graph, |pos, _| {
            let prepared = graph.as_child(self.job_id(), self.chapter(), pos.0);
            let nodes = graph.nodes().iter().map(|node| {
                let job = &node.job;
                let input = String::from_utf8_lossy(&job.input.bytes).into_owned();
                (node.name.as_str().to_owned(), job.kind.as_str().to_owned(), job.version, input)
            });
            let input = fingerprint(&nodes.collect::<Vec<_>>()).map_err(|e| e.problem)?;
            let (name, child) = (graph.name().as_str().to_owned(), Child::Graph(prepared.id()));
            Ok(What { item: Item::Graph(Box::new(prepared)), child, name, version: 0, input })
        })
    }

    fn child<T>(
        &self,
        place: &'static Location<'static>,
        decode: fn(&Outcome) -> Result<T, String>,
        make: impl FnOnce(Pos, JobId) -> Result<What, String>,
    ) -> ChildBuilder<'r, T> {
        let pos = self.ops().claim();
        let what = make(pos, JobId::child_of(self.job_id(), self.chapter(), pos.0, 0));
        ChildBuilder::new(self.clone(), pos, place, what, None, decode)
    }

    /// A lone job or a run, as a child of this run.
    fn lone<I: Serialize>(&self, mut new: NewJob, id: JobId, name: &str, input: &I) -> Result<What, String> {
        new.id = id;
        let input = fingerprint(input).map_err(|e| e.problem)?;
        let (name, version, child) = (name.to_owned(), new.version, Child::Job(id));
        Ok(What { item: Item::job(new), child, name, version, input })
    }

    /// Short of the limit of an id it tells whose child it is.
    fn child_run_id(&self, pos: Pos, job: JobId) -> RunId {
        let id = format!("{}.{}.{pos}", self.id(), self.chapter());
        RunId::new(&id).unwrap_or_else(|_| RunId::from_stored(&job.to_string()))
    }
}

impl<'r, T> ChildBuilder<'r, T> {
    pub(super) fn new(
        cx: Cx<'r>,
        pos: Pos,
        place: &'static Location<'static>,
        what: Result<What, String>,
        label: Option<Label>,
        decode: fn(&Outcome) -> Result<T, String>,
    ) -> Self {
        Self { cx, pos, place, what, label, decode }
    }

    /// Gives a child that is a run this id. If a run of this id is there, the child is refused.
    pub fn id(self, id: &str) -> Self {
        let id = id.to_owned();
        self.change(move |what, job| {
            if job.run.is_none() {
                return Err(format!("{} is no run and has no id of a run", what.1));
            }
            job.run = Some(RunId::new(&id).map_err(|e| e.to_string())?);
            job.keep_id = Some(defaults::KEEP_ID);
            *what.0 = fingerprint(&(*what.0, &id)).map_err(|e| e.problem)?;
            Ok(())
        })
    }

    /// Puts a job or a run in this queue.
    pub fn queue(self, queue: &str) -> Self {
        let queue = queue.to_owned();
        self.change(move |_, job| {
            job.queue = Queue::new(&queue).map_err(|e| e.to_string())?;
            Ok(())
        })
    }

    /// The priority of a job or a run: higher first.
    pub fn priority(self, priority: i16) -> Self {
        self.change(move |_, job| {
            job.priority = priority;
            Ok(())
        })
    }

    /// What it starts: the id of its job or graph. `None` if it cannot be started, which blocks the run.
    pub fn starts(&self) -> Option<Child> {
        self.what.as_ref().ok().map(|what| what.child)
    }

    /// Changes the job; of a graph that is refused. `change` gets the fingerprint and the name.
    fn change(mut self, change: impl FnOnce((&mut u64, &str), &mut NewJob) -> Result<(), String>) -> Self {
        self.what = self.what.and_then(|mut what| {
            let Item::Job(job) = &mut what.item else {
                return Err(format!(
                    "the graph {} has no queue, priority or run of its own: its nodes have",
                    what.name
                ));
            };
            change((&mut what.input, &what.name), job)?;
            Ok(what)
        });
        self
    }

    /// Starts it and does not wait for its end: nothing of this run cancels it.
    #[track_caller]
    pub fn detach<E: 'static>(self) -> Op<'r, Result<Child, ChildError<E>>> {
        self.enter(OpKind::Detached, |outcome| {
            Ok(match outcome.decode().map_err(|e| e.problem)? {
                Detached::Started(child) => Ok(child),
                Detached::Refused(problem) => Err(ChildError::Refused(problem)),
            })
        })
    }

    fn enter<U>(self, kind: OpKind, decode: fn(&Outcome) -> Result<U, String>) -> Op<'r, U> {
        let Self { cx, pos, place, what, label, .. } = self;
        let what = match what {
            Ok(what) => what,
            Err(problem) => {
                cx.ops().interrupt(Interrupt::Unencodable { name: "the input of a child".into(), problem });
                return Op::nowhere(cx.ops());
            }
        };
        let label = label.unwrap_or_else(|| Parent::label(cx.chapter(), pos.0));
        let is_detached = kind == OpKind::Detached;
        let parent = Parent { run: cx.id().clone(), awaits: (!is_detached).then(|| label.clone()) };
        let What { item, child, name, version, input } = what;
        let item = match item {
            Item::Job(mut job) => {
                job.rules.parent = Some(parent);
                Item::Job(job)
            }
            Item::Graph(graph) => Item::Graph(Box::new(graph.with_parent(parent))),
            other => other,
        };
        let ident = Ident { kind, name: name.into(), version, input };
        let detached = is_detached.then(|| Outcome::of(&Detached::Started(child)).unwrap_or_else(|_| Outcome::null()));
        let work = Box::new(ChildWork { item, detached, label: label.clone() });
        let wants = match kind {
            OpKind::Detached => Wants::Work { work, at_most_once: false },
            _ => Wants::Child { work, label, child },
        };
        Op::new(cx.ops(), pos, Request { ident, wants, place: Some(place) }, decode)
    }
}

impl<'r, T> IntoFuture for ChildBuilder<'r, T> {
    type Output = T;
    type IntoFuture = Op<'r, T>;

    fn into_future(self) -> Op<'r, T> {
        let decode = self.decode;
        self.enter(OpKind::Child, decode)
    }
}

impl<T> fmt::Debug for ChildBuilder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildBuilder").field("place", &self.pos.to_string()).finish_non_exhaustive()
    }
}

/// What is recorded of a detached child.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Detached {
    Started(Child),
    Refused(String),
}

impl ChildWork {
    /// What is delivered if the store refuses it.
    pub(crate) fn refused(&self, problem: String) -> Outcome {
        let outcome = match self.detached {
            Some(_) => Outcome::of(&Detached::Refused(problem)),
            None => Outcome::of(&ChildEnd::Refused { problem }),
        };
        outcome.unwrap_or_else(|_| Outcome::null())
    }
}

fn decode_run<O: DeserializeOwned, E: DeserializeOwned>(outcome: &Outcome) -> Result<Result<O, ChildError<E>>, String> {
    let told: ChildEnd = outcome.decode().map_err(|e| e.problem)?;
    match told {
        ChildEnd::Job { error: Some(error), end: End::Dead, .. } => {
            Ok(Err(ChildError::Failed(error.decode().map_err(|e| e.problem)?)))
        }
        told => ended(told),
    }
}

pub(super) fn decode_job<O: DeserializeOwned>(outcome: &Outcome) -> Result<Result<O, ChildError<Failure>>, String> {
    let told: ChildEnd = outcome.decode().map_err(|e| e.problem)?;
    match told {
        ChildEnd::Job {
            message: Some(message),
            end: End::Dead,
            cause: Some(Cause::Exhausted | Cause::Permanent),
            ..
        } => Ok(Err(ChildError::Failed(Failure::permanent(message)))),
        told => ended(told),
    }
}

pub(super) fn decode_graph(outcome: &Outcome) -> Result<Result<(), ChildError<Failure>>, String> {
    ended(outcome.decode().map_err(|e| e.problem)?)
}

/// What every child may come to, whatever it is.
fn ended<O: DeserializeOwned, E>(told: ChildEnd) -> Result<Result<O, ChildError<E>>, String> {
    let (end, cause, output, error) = match told {
        ChildEnd::Job { end, cause, output, message, .. } => (end, cause, output, message),
        ChildEnd::Graph { end: GraphEnd::Succeeded } => (End::Succeeded, None, None, None),
        ChildEnd::Graph { end } => return Ok(Err(ChildError::Graph(end))),
        ChildEnd::Refused { problem } => return Ok(Err(ChildError::Refused(problem))),
        _ => return Err("the end of the child is of a newer release".into()),
    };
    match (end, &cause) {
        (End::Succeeded, _) => {
            let output = output.unwrap_or_else(Outcome::null);
            Ok(Ok(output.decode().map_err(|e| e.problem)?))
        }
        (End::Cancelled, _) => Ok(Err(ChildError::Cancelled { cause })),
        (End::Dead, Some(Cause::Deadline)) => Ok(Err(ChildError::TimedOut)),
        (end, _) => Ok(Err(ChildError::Ended { state: State::Ended(end), cause, error })),
    }
}
