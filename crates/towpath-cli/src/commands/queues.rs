//! `towpath queues`: where live work stands, and which queues are held back.

use clap::{Args, Subcommand};
use serde_json::json;
use towpath::Queue;
use towpath::core::store::QueueLine;

use super::{OrderArgs, ViewArgs};
use crate::error::CliError;
use crate::served::{Served, ready};
use crate::table::Table;
use crate::{exit, say, words};

/// List queues with live work, or pause and resume one
///
/// A paused queue is listed too, with who paused it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Queues {
    #[command(subcommand)]
    command: Option<QueueCommand>,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Debug, Subcommand)]
enum QueueCommand {
    Pause(Pause),
    Resume(Resume),
}

/// Let no worker claim from a queue
///
/// It holds from the next turn of every worker on. What was claimed before runs on; cancels and deadlines count.
#[derive(Debug, Args)]
struct Pause {
    #[command(flatten)]
    which: Which,
}

/// Let workers claim from a queue again
#[derive(Debug, Args)]
struct Resume {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    /// The queue.
    #[arg(value_name = "QUEUE")]
    queue: Queue,
    #[command(flatten)]
    order: OrderArgs,
}

impl Queues {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        match self.command {
            None => list(&self.view).await,
            Some(QueueCommand::Pause(Pause { which })) => which.set(true).await,
            Some(QueueCommand::Resume(Resume { which })) => which.set(false).await,
        }
    }
}

impl Which {
    async fn set(self, pauses: bool) -> Result<u8, CliError> {
        let client = self.order.view.store.found()?.open().await?;
        let actor = self.order.actor.name();
        if pauses {
            client.pause_queue(&self.queue, &actor, &self.order.reason).await?;
        } else {
            client.resume_queue(&self.queue, &actor, &self.order.reason).await?;
        }
        if self.order.view.json {
            say::json(&json!({ "queue": self.queue, "paused": pauses }))?;
        } else {
            say::line(format_args!("queue {}: {}", self.queue, if pauses { "paused" } else { "resumed" }));
        }
        Ok(exit::SUCCEEDED)
    }
}

async fn list(view: &ViewArgs) -> Result<u8, CliError> {
    let location = view.store.found()?;
    let client = location.open_to_read().await?;
    let queues = client.inspect().queues(u32::MAX).await?;
    let served = Served::look(&client).await?;
    if view.json {
        let lines = queues.iter().map(|q| {
            json!({
                "queue": q.queue,
                "ready": q.ready,
                "later": q.later,
                "running": q.running,
                "blocked": q.blocked,
                "workers": served.of_queue(&q.queue).count(),
                "paused": q.paused.as_ref().map(|pause| {
                    json!({ "at": words::instant(pause.at), "actor": pause.actor, "why": pause.why })
                }),
            })
        });
        say::json(&lines.collect::<Vec<_>>())?;
        return Ok(exit::SUCCEEDED);
    }
    let mut table = Table::new(&["queue", "ready", "later", "running", "blocked", "workers", "paused"]);
    for line in &queues {
        let workers = served.of_queue(&line.queue).count();
        let counts = [line.ready, line.later, line.running, line.blocked].map(|count| count.to_string());
        let name = vec![words::short(line.queue.as_str())];
        table.row([name, counts.to_vec(), vec![workers.to_string(), paused(line)]].concat());
    }
    table.print_or("no live work");
    served.tell(&ready(&client).await?, &location.option());
    Ok(exit::SUCCEEDED)
}

fn paused(line: &QueueLine) -> String {
    let Some(pause) = &line.paused else { return "-".into() };
    let why = if pause.why.is_empty() { String::new() } else { format!(": {}", words::short(&pause.why)) };
    format!("{} by {}{why}", words::instant(pause.at), words::short(&pause.actor))
}
