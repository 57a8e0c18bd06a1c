//! `towpath audit`: what people have done.

use clap::Args;
use serde_json::json;
use towpath::core::store::Page;

use super::ViewArgs;
use crate::error::CliError;
use crate::table::Table;
use crate::{exit, say, words};

/// List what people have done to jobs and graphs, newest first
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Only what was done to this: the id of a job, graph, run or worker, or the name of a queue or schedule.
    #[arg(long, value_name = "TARGET")]
    of: Option<String>,
    /// Most lines.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    #[command(flatten)]
    view: ViewArgs,
}

impl Audit {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open_to_read().await?;
        let page = Page { after: None, limit: self.limit };
        let lines = match self.of {
            Some(target) => client.inspect().audit_of(target, page).await?,
            None => client.inspect().audit(page).await?,
        };
        if self.view.json {
            let lines = lines.iter().map(|line| {
                json!({
                    "at": words::instant(line.at),
                    "actor": line.actor,
                    "action": line.action,
                    "target": line.target,
                    "outcome": line.outcome,
                    "reason": line.reason,
                })
            });
            say::json(&lines.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["at", "actor", "action", "target", "outcome", "reason"]);
        for line in &lines {
            table.row(vec![
                words::instant(line.at),
                line.actor.clone(),
                line.action.clone(),
                line.target.clone(),
                line.outcome.clone(),
                line.reason.clone(),
            ]);
        }
        table.print_or("nobody has done anything");
        Ok(exit::SUCCEEDED)
    }
}
