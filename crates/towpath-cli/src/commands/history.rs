//! `towpath history`: what is recorded of a run, as lines of JSON.

use clap::Args;

use super::StoreArgs;
use crate::error::CliError;
use crate::{exit, say};

/// Print the history of a run, to be kept with its code and replayed in a test
#[derive(Debug, Args)]
pub(crate) struct HistoryCommand {
    /// The run.
    #[arg(value_name = "RUN-ID")]
    run: String,
    #[command(flatten)]
    store: StoreArgs,
}

impl HistoryCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.store.found()?;
        let client = location.open_to_read().await?;
        let history = client.history(&self.run).await.map_err(|e| CliError::failed("read the history", e))?;
        let Some(history) = history else {
            let help = format!("list the jobs with `towpath jobs{}`", location.option());
            let what = super::pruned(&client, &self.run).await?;
            let what = what.unwrap_or_else(|| format!("there is no run {} in {}", self.run, location.shown()));
            return Err(CliError::usage(what, help));
        };
        for line in history.to_json_lines().lines() {
            say::line(line);
        }
        Ok(exit::SUCCEEDED)
    }
}
