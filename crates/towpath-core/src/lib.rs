//! The pure core of Towpath, a durable work engine: jobs, graphs of jobs, and the rules by which they
//! live.
//!
//! Everything here is values in, values out. No clock, no IO, no runtime, no randomness: instants
//! and random bytes are parameters, and the same core runs under a worker, a test harness and a
//! simulator. The [`Store`] trait says what a store must do; [`MemoryStore`] is its specification.
//!
//! Applications use the `towpath` crate; this one is for those who write a store or look inside.

mod blob;
pub mod builtin;
mod clock;
pub mod defaults;
pub mod dispatch;
pub mod duration;
#[doc(hidden)]
pub mod fault;
mod fingerprint;
mod graph;
mod id;
mod intake;
mod job;
mod lifecycle;
pub mod limits;
mod memory;
mod name;
mod outcome;
mod payload;
mod plan;
mod progress;
pub mod replay;
mod retry;
mod rules;
pub mod schedule;
pub mod store;
pub mod tag;
pub mod tally;
mod time;
mod unique;

pub use blob::{BlobLine, BlobName, BlobRef, BlobStore};
pub use clock::{Clock, ManualClock};
pub use fingerprint::fingerprint;
pub use graph::{
    Behind, CauseRank, Compensation, Condition, Count, Difference, FailureMode, GraphEnd, GraphLimits, GraphProblem,
    GraphRetry, GraphRules, GraphText, Guard, Guarded, InvalidGraph, InvalidGraphLimits, Need, NewAppend, NewEdge,
    NewGraph, NewNode, NodeCounters, ParentCause, ParentRef, Passed, Picture, PreparedAppend, PreparedEdge,
    PreparedGraph, PreparedNode, Restart, RetryEdge, RetryLater, RetryMode, RetryNode, RetryNodeEnd, RetryPlan,
    RetryRefusal, RetryView, Retrying, Role, Shape, Standing, Tries, UndoStep, Undoing, Verdict, VerdictTable, Why,
    Wiring, check_undone, decide, decide_end, graph_schema, plan_retry, restart,
};
pub use id::{Fence, GraphId, Incarnation, InvalidId, JobId, Token};
pub use intake::Intake;
pub use job::{Due, NewJob};
pub use lifecycle::{Cause, End, SkipKind, State, StopReason};
pub use memory::MemoryStore;
pub use name::{GraphName, InvalidName, Kind, Label, NodeName, Queue, RunId, ScheduleName, UniqueKey};
pub use outcome::{
    Report, Retry, RunCommit, settle_decision, settle_refused, settle_report, settle_rescued, settle_run,
};
pub use payload::{Codec, DecodeError, EncodeError, Payload};
pub use plan::{
    Requeue, abandon_job, begin_retry, cancel_graph, cancel_job, cancel_jobs, end_retry, rearm, requeue_job,
    settle_stopped, terminate_job,
};
pub use progress::Progress;
pub use retry::RetryPolicy;
pub use rules::JobRules;
pub use store::{Inspect, Store, StoreError, StoreErrorKind};
pub use time::{Timestamp, from_micros, micros};
pub use unique::{Clash, Conflict, Fields, Hold, KeyHolder, OwnKey, Stage, Unique};
