//! For tests. Of jobs and graphs: [`Harness`] performs what is enqueued, in virtual time. Of durable functions:
//! [`RunHarness`] runs one in virtual time without a store, lets it crash at every commit, and [`assert_replays`] holds old
//! histories against new code.
//!
//! ```
//! # use std::time::Duration;
//! # use towpath::{Cx, Durable, Failure, Signal, Step, StepCx};
//! # const CONFIRMED: Signal<u32> = Signal::new("confirmed");
//! # const MAIL: Step<String, (), Failure> = Step::new("mail", &mail);
//! # async fn mail(_cx: StepCx, _to: String) -> Result<(), Failure> { Ok(()) }
//! # const WELCOME: Durable<String, u32, Failure> = Durable::new("welcome", 1, Duration::from_secs(86_400 * 4), &welcome);
//! # async fn welcome(cx: Cx<'_>, to: String) -> Result<u32, Failure> {
//! #     cx.step(MAIL, &to).await?;
//! #     Ok(cx.signal(CONFIRMED).await)
//! # }
//! use towpath::testing::RunHarness;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let day = Duration::from_secs(86_400);
//! let harness = RunHarness::new(WELCOME, "ann".to_owned()).signal_after(2 * day, CONFIRMED, &7);
//! let run = harness.run().await;
//! assert_eq!(run.result.unwrap(), 7);
//! assert!(run.took >= 2 * day, "of virtual time");
//! harness.prove().await;
//! # }
//! ```

mod expect;
mod harness;
mod replays;
mod run;
mod shell;
mod throwaway;

pub use harness::{Harness, Performed, TestClock};
pub(crate) use replays::replay;
pub use replays::{assert_replays, replay_builtin};
pub use run::{RunHarness, TestRun};
pub use towpath_core::replay::{Entry, History, Unfit};
