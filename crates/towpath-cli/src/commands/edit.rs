//! `towpath edit`: change jobs that no worker has.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use towpath::core::State;
use towpath::core::store::{Changed, Edit};
use towpath::{BulkChange, Timestamp};

use super::filter::BulkArgs;
use super::{OrderArgs, find_job, requeue};
use crate::error::CliError;
use crate::{exit, say};

/// Change the input, the priority or the time of jobs that no worker has
///
/// A job keeps its place in its queue unless its priority or its time changes. One that is blocked is tried again. The jobs
/// are named, or found by a filter.
#[derive(Debug, Args)]
pub(crate) struct EditCommand {
    /// The jobs.
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Gives them another input: the JSON in this file.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Gives them another priority; higher first.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i16>,
    /// Lets them run from this instant on: RFC 3339, such as 2027-01-31T08:00:00Z, or `now`.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<Timestamp>,
    #[command(flatten)]
    bulk: BulkArgs,
    #[command(flatten)]
    order: OrderArgs,
}

impl EditCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        self.bulk.check(self.jobs.len())?;
        let edit = self.edit()?;
        let client = self.order.view.store.found()?.open().await?;
        let actor = self.order.actor.name();
        if self.jobs.is_empty() {
            let change = BulkChange::Edit(edit);
            return self.bulk.run(&client, &change, (&actor, &self.order.reason), self.order.view.json).await;
        }
        let (mut lines, mut code) = (Vec::new(), exit::SUCCEEDED);
        for text in &self.jobs {
            let changed = match find_job(&client, text).await? {
                Some(job) => client.edit(job, edit.clone(), &actor, &self.order.reason).await?,
                None => Changed::Unknown,
            };
            let outcome = match changed {
                Changed::Edited => "edited".to_owned(),
                Changed::Unknown => "there is no such job or run; `towpath jobs` lists them".to_owned(),
                Changed::Left(State::Running) => "a worker has it: cancel it, or edit it once it has failed".to_owned(),
                Changed::Left(State::Ended(end)) => format!("it has ended, {end}: requeue it with another input"),
                _ => "it is a run that has begun, or waits for a decision".to_owned(),
            };
            if changed != Changed::Edited {
                code = exit::FAILED;
            }
            if self.order.view.json {
                lines.push(json!({ "id": text, "edited": changed == Changed::Edited, "outcome": outcome }));
            } else {
                say::line(format_args!("job {text}: {outcome}"));
            }
        }
        if self.order.view.json {
            say::json(&Value::Array(lines))?;
        }
        Ok(code)
    }

    fn edit(&self) -> Result<Edit, CliError> {
        let mut edit = Edit::default();
        edit.input = self.input.as_deref().map(requeue::read_input).transpose()?;
        (edit.priority, edit.due) = (self.priority, self.at);
        if edit.is_empty() {
            let help = "give --input, --priority or --at";
            return Err(CliError::usage("nothing is to change".to_owned(), help));
        }
        Ok(edit)
    }
}

fn instant(text: &str) -> Result<Timestamp, String> {
    if text == "now" {
        return Ok(Timestamp::ZERO);
    }
    match text.parse::<jiff::Timestamp>() {
        Ok(at) => Ok(Timestamp::from_micros(at.as_microsecond())),
        Err(e) => Err(format!("it is no instant such as 2027-01-31T08:00:00Z: {e}")),
    }
}
