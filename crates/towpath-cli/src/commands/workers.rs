//! `towpath workers`: who is at work.

use clap::Args;
use serde_json::json;
use towpath::Kind;

use super::ViewArgs;
use crate::error::CliError;
use crate::served::{Served, ready};
use crate::table::Table;
use crate::{exit, say, words};

/// List workers
///
/// One whose lease has ended, or whose process on this machine is gone, is dead; others take over what it holds. What no living worker takes is told below, with the
/// remedy.
#[derive(Debug, Args)]
pub(crate) struct Workers {
    #[command(flatten)]
    view: ViewArgs,
}

impl Workers {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let served = Served::look(&client).await?;
        if self.view.json {
            let lines = served.workers.iter().map(|w| {
                json!({
                    "worker": w.worker,
                    "name": w.name,
                    "lives": served.lives(w),
                    "queues": w.queues,
                    "kinds": w.kinds,
                    "running": w.running,
                    "started_at": words::instant(w.started_at),
                    "lease_until": words::instant(w.lease_until),
                })
            });
            say::json(&lines.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["name", "lives", "running", "started", "lease until", "queues", "kinds"]);
        for line in &served.workers {
            let queues: Vec<String> = line.queues.iter().map(|queue| words::short(queue)).collect();
            let kinds: Vec<&str> = line.kinds.keys().map(Kind::as_str).collect();
            table.row(vec![
                line.name.clone(),
                if served.lives(line) { "yes" } else { "dead" }.to_owned(),
                line.running.to_string(),
                words::instant(line.started_at),
                words::instant(line.lease_until),
                queues.join(", "),
                kinds.join(", "),
            ]);
        }
        table.print_or("no workers");
        served.tell(&ready(&client).await?, &location.option());
        Ok(exit::SUCCEEDED)
    }
}
