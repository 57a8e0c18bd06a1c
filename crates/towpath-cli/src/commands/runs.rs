//! `towpath runs`: hold a run back, and let it go on.

use clap::{Args, Subcommand};
use serde_json::json;
use towpath::Changed;
use towpath::core::State;

use super::OrderArgs;
use crate::error::CliError;
use crate::{exit, say};

/// Pause and resume a run
///
/// Runs are listed by `towpath jobs --runs`.
#[derive(Debug, Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    Pause(Pause),
    Resume(Resume),
}

/// Let no worker enter a run
///
/// A worker that has it brings to an end the steps that have begun. Signals are kept, and time goes on; a cancel lifts the
/// pause.
#[derive(Debug, Args)]
struct Pause {
    #[command(flatten)]
    which: Which,
}

/// Let a paused run go on
#[derive(Debug, Args)]
struct Resume {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    /// The run.
    #[arg(value_name = "RUN-ID")]
    run: String,
    #[command(flatten)]
    order: OrderArgs,
}

impl Runs {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        match self.command {
            RunsCommand::Pause(Pause { which }) => which.set(true).await,
            RunsCommand::Resume(Resume { which }) => which.set(false).await,
        }
    }
}

impl Which {
    async fn set(self, pauses: bool) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        let client = location.open().await?;
        let actor = self.order.actor.name();
        let changed = if pauses {
            client.pause_run(&self.run, &actor, &self.order.reason).await
        } else {
            client.resume_run(&self.run, &actor, &self.order.reason).await
        };
        let help = format!("list the runs with `towpath jobs --runs{}`", location.option());
        let outcome = match changed.map_err(|e| CliError::usage(e.to_string(), help.clone()))? {
            Changed::Paused => "paused",
            Changed::Unpaused => "resumed",
            Changed::Left(State::Ended(_)) => "had ended already",
            _ => return Err(CliError::usage(format!("there is no run {} in {}", self.run, location.shown()), help)),
        };
        if self.order.view.json {
            say::json(&json!({ "run": self.run, "outcome": outcome }))?;
        } else {
            say::line(format_args!("run {}: {outcome}", self.run));
        }
        Ok(exit::SUCCEEDED)
    }
}
