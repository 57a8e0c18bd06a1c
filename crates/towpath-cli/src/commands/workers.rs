//! `towpath workers`: who is at work.

use clap::Args;
use serde_json::json;

use super::ViewArgs;
use crate::error::CliError;
use crate::table::Table;
use crate::{exit, say, words};

/// List workers
#[derive(Debug, Args)]
pub(crate) struct Workers {
    #[command(flatten)]
    view: ViewArgs,
}

impl Workers {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open_to_read().await?;
        let workers = client.inspect().workers().await?;
        if self.view.json {
            let lines = workers.iter().map(|w| {
                json!({
                    "worker": w.worker,
                    "name": w.name,
                    "queues": w.queues,
                    "running": w.running,
                    "started_at": words::instant(w.started_at),
                    "lease_until": words::instant(w.lease_until),
                })
            });
            say::json(&lines.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["name", "running", "started", "lease until", "queues"]);
        for line in &workers {
            table.row(vec![
                line.name.clone(),
                line.running.to_string(),
                words::instant(line.started_at),
                words::instant(line.lease_until),
                line.queues.join(", "),
            ]);
        }
        table.print_or("no workers");
        Ok(exit::SUCCEEDED)
    }
}
