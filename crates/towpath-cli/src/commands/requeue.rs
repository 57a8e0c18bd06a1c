//! `towpath requeue`: put jobs back that ended badly.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use towpath::core::State;
use towpath::{BulkChange, Client, End, Payload, RetryError};

use super::filter::BulkArgs;
use super::{OrderArgs, find_job};
use crate::error::CliError;
use crate::{exit, say};

/// Put jobs back that ended badly or are blocked
///
/// Each is a new arrival with its failures and crashes at 0; its attempts are counted on, and their history stays. The jobs
/// are named, or found by a filter; then those that were cancelled come back only with `--state cancelled`.
#[derive(Debug, Args)]
pub(crate) struct RequeueCommand {
    /// The jobs.
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Gives the job another input: the JSON in this file.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Puts back what has succeeded too; it is then done once more.
    #[arg(long)]
    even_succeeded: bool,
    #[command(flatten)]
    bulk: BulkArgs,
    #[command(flatten)]
    order: OrderArgs,
}

impl RequeueCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        if self.input.is_some() && self.jobs.len() > 1 {
            let help = "requeue them one by one";
            return Err(CliError::usage("--input is for one job, and several are named".to_owned(), help));
        }
        self.bulk.check(self.jobs.len())?;
        if self.jobs.is_empty() && (self.input.is_some() || self.even_succeeded) {
            let help = "name the jobs";
            return Err(CliError::usage("a bulk takes neither --input nor --even-succeeded".to_owned(), help));
        }
        let input = self.input.as_deref().map(read_input).transpose()?;
        let client = location.open().await?;
        if self.jobs.is_empty() {
            let (actor, change) = (self.order.actor.name(), BulkChange::Requeue);
            return self.bulk.run(&client, &change, (&actor, &self.order.reason), self.order.view.json).await;
        }
        let (mut lines, mut code) = (Vec::new(), exit::SUCCEEDED);
        for job in &self.jobs {
            let (outcome, is_done) = match self.requeue(&client, job, input.clone()).await? {
                Ok(()) => ("requeued".to_owned(), true),
                Err(refusal) => (refusal, false),
            };
            if !is_done {
                code = exit::FAILED;
            }
            if self.order.view.json {
                lines.push(json!({ "id": job, "requeued": is_done, "outcome": outcome }));
            } else {
                say::line(format_args!("job {job}: {outcome}"));
            }
        }
        if self.order.view.json {
            say::json(&Value::Array(lines))?;
        }
        Ok(code)
    }

    /// Answers why it was not put back, if it was not.
    async fn requeue(
        &self,
        client: &Client,
        text: &str,
        input: Option<Payload>,
    ) -> Result<Result<(), String>, CliError> {
        let Some(job) = find_job(client, text).await? else {
            return Ok(Err("there is no such job or run; `towpath jobs` lists them".to_owned()));
        };
        if let Some(problem) = super::pruned(client, text).await? {
            return Ok(Err(problem));
        }
        let mut requeue = client.requeue(job).by(&self.order.actor.name(), &self.order.reason);
        if let Some(input) = input {
            requeue = requeue.payload(input);
        }
        if self.even_succeeded {
            requeue = requeue.even_succeeded();
        }
        match requeue.await {
            Ok(()) => Ok(Ok(())),
            Err(RetryError::Store(error)) => Err(error.into()),
            Err(RetryError::Left { state: State::Ended(End::Succeeded), .. }) => {
                Ok(Err("it has succeeded: add --even-succeeded to have it done once more".to_owned()))
            }
            Err(refusal) => Ok(Err(refusal.to_string())),
        }
    }
}

pub(super) fn read_input(file: &Path) -> Result<Payload, CliError> {
    let usage = |problem: String| CliError::usage(problem, "write the job's input as JSON into the file");
    let text = std::fs::read_to_string(file).map_err(|e| usage(format!("{} cannot be read: {e}", file.display())))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| usage(format!("{} is no JSON: {e}", file.display())))?;
    Payload::json(&value).map_err(|e| usage(format!("{}: {}", file.display(), e.problem)))
}
