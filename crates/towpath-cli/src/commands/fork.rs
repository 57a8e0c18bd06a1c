//! `towpath fork`: start a run that goes on from another one's journal.

use clap::Args;
use serde_json::{Value, json};
use towpath::ForkError;

use super::ViewArgs;
use crate::error::CliError;
use crate::say;

/// Start a run that goes on from a place in another one
///
/// It takes over what that one has recorded before an operation of its function, and does the rest itself: it and all behind it.
/// That one, which may have ended or not, stays as it is. A worker then runs it.
#[derive(Debug, Args)]
pub(crate) struct ForkCommand {
    /// The run.
    #[arg(value_name = "RUN-ID")]
    run: String,
    /// The operation from which it goes its own way, as `towpath job RUN-ID` counts them, from 1.
    #[arg(long, value_name = "OPERATION", value_parser = clap::value_parser!(u32).range(1..))]
    at: u32,
    /// The id of the new run, which must be free.
    #[arg(long, value_name = "ID")]
    key: String,
    #[command(flatten)]
    view: ViewArgs,
}

impl ForkCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open().await?;
        let fork = match client.fork::<Value, Value>(&self.run, self.at, &self.key).await {
            Ok(fork) => fork,
            Err(ForkError::Start(towpath::Error::Store(error))) => return Err(error.into()),
            Err(refusal @ ForkError::UnknownRun { .. }) => {
                let help = format!("list the runs with `towpath jobs --runs{}`", location.option());
                return Err(CliError::usage(refusal.to_string(), help));
            }
            Err(refusal) => {
                let help = format!("see its operations with `towpath job {}{}`", self.run, location.option());
                return Err(CliError::usage(refusal.to_string(), help));
            }
        };
        if self.view.json {
            say::json(&json!({ "run": fork.id(), "job": fork.job(), "forked_from": self.run, "at": self.at }))?;
        } else {
            say::line(format_args!("run {}: forked from run {} at operation {}", fork.id(), self.run, self.at));
        }
        Ok(crate::exit::SUCCEEDED)
    }
}
