//! Durable functions: ordinary `async` Rust that goes on where it was, on any worker, after any crash.
//!
//! A function is defined by a `const` ([`Durable`]), started by a [`Client`](crate::Client) under an id of the caller's, and
//! served by a [`Worker`](crate::Worker). Each execution is a **run**: a job with a journal. What the function waits for
//! (steps, timers, signals) is recorded there; after a crash or a wait the function is entered again from the top and
//! told the recorded answers.

mod again;
mod child;
mod client;
mod cx;
mod drive;
mod frame;
mod function;
mod held;
mod history;
mod join;
mod op;
mod outcome;
mod race;
mod select;
mod signal;
mod step;
mod stream;
mod transact;
mod trap;
mod update;

pub use again::{ForkBuilder, RetryRunBuilder};
pub use child::{ChildBuilder, ChildError};
pub use client::{RunError, RunHandle, SignalBuilder, StartBuilder};
pub use cx::Cx;
pub use function::{Durable, DurableFn};
pub use join::{Elapsed, Tuple, join, join_all, map, timeout};
pub use op::Op;
pub use outcome::Outcome;
pub use race::{Race2, Race3, Race4, Race5, Race6, RaceTuple, race, race_all};
pub use signal::Signal;
pub use step::{Step, StepCx, StepError, StepFn};
pub use stream::{Line, Stream, StreamError, StreamReader};
#[cfg(feature = "postgres")]
pub use transact::PostgresFn;
pub use transact::{Finish, Memory, Postgres, Sqlite, TxFault, TxFn, TxStep};
pub use update::{Reply, Update, UpdateBuilder, UpdateError};

pub use crate::states::NeededState;

pub(crate) use child::ChildWork;
pub(crate) use drive::{Commits, Drive};
pub(crate) use frame::{How, Run, RunEnd};
pub(crate) use function::Erased;
pub(crate) use step::{Next, StepWork, lost as step_lost, next, stub};
pub(crate) use transact::Judge;
