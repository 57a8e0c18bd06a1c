//! `towpath queues`: where live work stands.

use clap::Args;
use serde_json::json;

use super::ViewArgs;
use crate::error::CliError;
use crate::served::{Served, ready};
use crate::table::Table;
use crate::{exit, say, words};

/// List queues with live work
#[derive(Debug, Args)]
pub(crate) struct Queues {
    #[command(flatten)]
    view: ViewArgs,
}

impl Queues {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let queues = client.inspect().queues().await?;
        let served = Served::look(&client).await?;
        if self.view.json {
            let lines = queues.iter().map(|q| {
                json!({
                    "queue": q.queue,
                    "ready": q.ready,
                    "later": q.later,
                    "running": q.running,
                    "blocked": q.blocked,
                    "workers": served.of_queue(&q.queue).count(),
                })
            });
            say::json(&lines.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["queue", "ready", "later", "running", "blocked", "workers"]);
        for line in &queues {
            let workers = served.of_queue(&line.queue).count();
            let counts = [line.ready, line.later, line.running, line.blocked].map(|count| count.to_string());
            table.row([vec![words::short(line.queue.as_str())], counts.to_vec(), vec![workers.to_string()]].concat());
        }
        table.print_or("no live work");
        served.tell(&ready(&client).await?, &location.option());
        Ok(exit::SUCCEEDED)
    }
}
