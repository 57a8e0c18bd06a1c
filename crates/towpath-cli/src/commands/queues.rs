//! `towpath queues`: where live work stands.

use clap::Args;
use serde_json::json;

use super::ViewArgs;
use crate::error::CliError;
use crate::table::Table;
use crate::{exit, say};

/// List queues with live work
#[derive(Debug, Args)]
pub(crate) struct Queues {
    #[command(flatten)]
    view: ViewArgs,
}

impl Queues {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open_to_read().await?;
        let queues = client.inspect().queues().await?;
        if self.view.json {
            let lines = queues.iter().map(|q| {
                json!({ "queue": q.queue, "ready": q.ready, "later": q.later, "running": q.running, "blocked": q.blocked })
            });
            say::json(&lines.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["queue", "ready", "later", "running", "blocked"]);
        for line in &queues {
            let counts = [line.ready, line.later, line.running, line.blocked].map(|count| count.to_string());
            table.row([vec![line.queue.to_string()], counts.to_vec()].concat());
        }
        table.print_or("no live work");
        Ok(exit::SUCCEEDED)
    }
}
