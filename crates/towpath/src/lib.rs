//! A durable work engine: jobs and graphs of jobs, embedded in an application on SQLite or shared by a
//! fleet on PostgreSQL. What is accepted is never lost, whenever a process dies.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use towpath::{Client, Failure, Job, Worker};
//!
//! #[derive(Serialize, Deserialize, Job)]
//! #[job(kind = "greet", output = String)]
//! struct Greet {
//!     name: String,
//! }
//!
//! # #[tokio::main(flavor = "multi_thread", worker_threads = 2)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}/app.db", dir.path().display());
//! let client = Client::open(&url).await?;
//! let worker = Worker::builder(&client)
//!     .handle(|job: Greet, _cx| async move { Ok::<_, Failure>(format!("hello {}", job.name)) })
//!     .start()?;
//!
//! let greeting = client.enqueue(&Greet { name: "Ann".into() }).await?;
//! assert_eq!(client.output(&greeting).await?, "hello Ann");
//! worker.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod ancestor;
mod batch;
mod blobs;
mod branch;
mod builtin;
mod bulk;
mod caretaker;
mod client;
mod context;
pub mod durable;
mod error;
#[cfg(feature = "cel")]
pub mod expression;
mod failure;
mod graph;
mod handler;
mod held;
mod host;
mod intake;
mod job;
mod log;
mod middleware;
mod notes;
mod notifier;
mod open;
mod outgoing;
mod random;
mod registry;
mod requeue;
mod restart;
mod retry;
mod schedules;
mod states;
mod stops;
mod sweep;
pub mod testing;
mod trace;
mod within;
mod worker;

pub use ancestor::{Ancestor, AncestorError};
pub use batch::BatchSize;
pub use blobs::DirBlobs;
pub use branch::{Branch, Gate};
#[cfg(feature = "cel")]
pub use builtin::ExpressionGate;
pub use builtin::{Each, EachEnded, ElementEnd, ElementGraph, InnerGraph, InnerOutputs, Ran, Timer, WaitFor};
pub use bulk::{Bulk, BulkChange, BulkDone};
pub use client::{Client, JobBuilder, JobHandle};
pub use context::{Cancellation, Context, Cursor};
pub use durable::{
    Cx, Durable, RunError, RunHandle, Signal, Step, StepCx, StepError, Stream, StreamError, Update, UpdateError,
};
pub use error::{Error, ForkError, OutputError, RestartError, RetryError};
pub use failure::Failure;
pub use graph::{Edge, Existing, Graph, GraphAppend, GraphBuilder, GraphHandle, Node, Parallel, Parents};
pub use handler::Perform;
pub use held::Holds;
pub use job::{Job, JobDefaults};
pub use middleware::{Left, Next};
pub use outgoing::Outgoing;
pub use registry::{InvalidRegistry, Registry, RegistryProblem};
pub use requeue::RequeueBuilder;
pub use restart::RestartBuilder;
pub use retry::{Retried, RetryBuilder};
pub use schedules::{Schedule, Schedules};
pub use states::State;
#[cfg(feature = "postgres")]
pub use within::SqlText;
pub use within::{Enlist, Within};
pub use worker::{FailedAttempt, Worker, WorkerBuilder, WorkerHandle};

#[cfg(feature = "macros")]
pub use towpath_macros::{Branch, Job, durable, step};

pub use towpath_core as core;
pub use towpath_core::store::{Changed, Ended, NodeRef, Placed, Refusal, StopCounts, Upstream, Wake};
pub use towpath_core::{
    Cause, Condition, Conflict, DecodeError, Due, EncodeError, End, FailureMode, Fields, GraphEnd, GraphId,
    GraphLimits, GraphName, GraphProblem, GraphRules, Hold, InvalidGraph, InvalidGraphLimits, InvalidName, JobId,
    JobRules, KeyHolder, Kind, Label, MemoryStore, Need, NewAppend, NewEdge, NewGraph, NewJob, NewNode, NodeName,
    Payload, Progress, Queue, RetryMode, RetryPolicy, RetryRefusal, SkipKind, State as JobState, Store, StoreError,
    StoreErrorKind, Timestamp, Unique, UniqueKey,
};

/// A JSON value, as [`Job::upcast`] takes and answers it: that of the crate `serde_json`.
pub type JsonValue = serde_json::Value;

/// Schedules as the core has them: specs, zones, policies, and what is stored.
pub mod schedule {
    pub use towpath_core::schedule::{
        Activity, CatchUp, InvalidSpec, Keeper, Minted, Overlap, Policy, SkipReason, SkippedTicks, Spec,
        StoredSchedule, TickJob, Zone,
    };
}

/// Views for people: what [`Client::inspect`] takes and answers.
pub mod inspect {
    pub use towpath_core::store::{
        AttemptLine, AttemptOutcome, AuditLine, Census, Counters, EdgeLine, GraphDetail, GraphFilter, GraphLine,
        GraphStanding, Inspect, JobDetail, JobFilter, JobLine, MarkLine, NodeLine, Page, PauseLine, ProgressLine,
        QueueLine, StopLine, TagLine, TagQuery, WorkerLine,
    };
}

#[cfg(feature = "postgres")]
pub use towpath_postgres::tokio_postgres;
#[cfg(feature = "postgres")]
pub use towpath_postgres::{PostgresBody, PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use towpath_sqlite::rusqlite;
#[cfg(feature = "sqlite")]
pub use towpath_sqlite::{SqliteBody, SqliteOptions, SqliteStore};

/// What the guide shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/durable.md")]
pub struct GuideToDurableFunctions;

/// What the guide to graphs shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/graphs.md")]
pub struct GuideToGraphs;

/// What the guide to jobs shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/jobs.md")]
pub struct GuideToJobs;

/// What the guide to enqueues in a transaction shows compiles; it runs in `tests/it/within.rs`, that with sqlx in `tests/beside`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/transactions.md")]
pub struct GuideToTransactions;

/// What the guide to unique keys shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/uniqueness.md")]
pub struct GuideToUniqueKeys;

/// What the guide to retries shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/retries.md")]
pub struct GuideToRetries;

/// What the guide to retention shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/retention.md")]
pub struct GuideToRetention;

/// What the page of schedules shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/schedules.md")]
pub struct PageOfSchedules;

/// What the guide to testing shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/testing.md")]
pub struct GuideToTesting;

/// What the first page shows compiles; the graph there is an excerpt, and stands whole at [`GraphBuilder`].
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
