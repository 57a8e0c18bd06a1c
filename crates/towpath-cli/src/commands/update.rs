//! `towpath update`: ask a run, and wait for its answer.

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use serde_json::value::RawValue;
use towpath::UpdateError;
use towpath::core::duration;

use super::ViewArgs;
use crate::error::CliError;
use crate::{exit, say};

/// Send an update to a run, and print its answer
///
/// A signal that the function answers. The run must have been started.
#[derive(Debug, Args)]
pub(crate) struct UpdateCommand {
    /// The run.
    #[arg(value_name = "RUN-ID")]
    run: String,
    /// The update's name.
    #[arg(value_name = "NAME")]
    name: String,
    /// What it carries.
    #[arg(value_name = "JSON", default_value = "null")]
    payload: String,
    /// However often it is sent with this id, the function is asked once, and all are given its answer.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// How long to wait for the answer, such as 30s.
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration::parse)]
    timeout: Duration,
    #[command(flatten)]
    view: ViewArgs,
}

impl UpdateCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let input: Value = serde_json::from_str(&self.payload).map_err(|e| {
            let problem = format!("JSON: {} is no JSON ({e}); a text is quoted, \'\"a\"\'", self.payload);
            CliError::usage(problem, "see `towpath help update`")
        })?;
        let client = self.view.store.found()?.open().await?;
        let update = client.update_named::<_, Box<RawValue>>(&self.run, &self.name, &input);
        let update = match &self.id {
            Some(id) => update.id(id),
            None => update,
        };
        let Ok(answered) = tokio::time::timeout(self.timeout, update.into_future()).await else {
            let problem = format!("run {} has not answered within {:?}", self.run, self.timeout);
            let look = format!("see what it waits for with `towpath job {}`; it may answer yet", self.run);
            return Err(CliError::failed_with_help(problem, look));
        };
        match answered {
            Ok(answer) => say::line(answer.get()),
            Err(error @ (UpdateError::Unknown { .. } | UpdateError::Send(_))) => {
                return Err(CliError::usage(error.to_string(), "see the runs with `towpath jobs --runs`"));
            }
            Err(error) => return Err(CliError::failed("update the run", error)),
        }
        Ok(exit::SUCCEEDED)
    }
}
