//! `towpath jobs`: a list.

use clap::Args;
use towpath::Client;
use towpath::core::store::{JobLine, Page};

use super::filter::FilterArgs;
use super::{ViewArgs, json, tell_of_more};
use crate::error::CliError;
use crate::served::Served;
use crate::table::Table;
use crate::{exit, say, words};

/// List jobs, newest first
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Most lines, 1 to 1000.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    #[command(flatten)]
    view: ViewArgs,
}

impl Jobs {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let jobs = self.list(&client).await?;
        let served = Served::look(&client).await?;
        if self.view.json {
            say::json(&jobs.iter().map(|line| json::job_line(line, &served)).collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["job", "kind", "queue", "state", "attempts", "node", "enqueued"]);
        for line in &jobs {
            table.row(vec![
                line.id.to_string(),
                line.kind.to_string(),
                words::short(line.queue.as_str()),
                if served.lack_of(line).is_some() {
                    format!("{}, unserved", line.state)
                } else {
                    line.word(served.now).to_owned()
                },
                line.counters.attempt.to_string(),
                line.node.as_ref().map_or_else(|| "-".into(), |n| n.name.to_string()),
                words::instant(line.enqueued_at),
            ]);
        }
        table.print_or("no jobs");
        tell_of_more(jobs.len(), self.limit);
        served.tell(&jobs, &location.option());
        Ok(exit::SUCCEEDED)
    }

    async fn list(&self, client: &Client) -> Result<Vec<JobLine>, CliError> {
        let page = Page { after: None, limit: self.limit };
        if self.filter.states().is_empty() {
            return Ok(client.inspect().jobs(self.filter.of(None), page).await?);
        }
        let mut jobs = Vec::new();
        for state in self.filter.states() {
            jobs.extend(client.inspect().jobs(self.filter.of(Some(state)), page).await?);
        }
        jobs.sort_by_key(|line| std::cmp::Reverse(line.key));
        jobs.truncate(self.limit as usize);
        Ok(jobs)
    }
}
