//! `towpath workers`: who is at work, and what is asked of them.

use clap::{Args, Subcommand};
use serde_json::json;
use towpath::core::Incarnation;
use towpath::core::store::{Wish, WishLine, WorkerLine};
use towpath::{Client, Kind};

use super::{OrderArgs, ViewArgs};
use crate::error::CliError;
use crate::served::{Served, ready};
use crate::table::Table;
use crate::{exit, say, words};

/// List workers, or ask something of one
///
/// One whose lease has ended, or whose process on this machine is gone, is dead; others take over what it holds. What no living worker takes is told below, with the
/// remedy.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Workers {
    #[command(subcommand)]
    command: Option<WorkerCommand>,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Debug, Subcommand)]
enum WorkerCommand {
    Quiet(Quiet),
    Drain(Drain),
    Resume(Resume),
}

/// Let a worker claim nothing more
///
/// It finishes what it holds, and stays. It hears of it within a heartbeat (3 s), mostly at once.
#[derive(Debug, Args)]
struct Quiet {
    #[command(flatten)]
    which: Which,
}

/// Let a worker finish what it holds, and leave
///
/// It claims nothing more and hands back what it has not begun; handlers have its drain limit (25 s), as at a shutdown.
#[derive(Debug, Args)]
struct Drain {
    #[command(flatten)]
    which: Which,
}

/// Let a quiet worker claim again
///
/// One that drains goes on draining.
#[derive(Debug, Args)]
struct Resume {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    /// The worker: its id, or its name if no other has it.
    #[arg(value_name = "WORKER")]
    worker: String,
    #[command(flatten)]
    order: OrderArgs,
}

impl Which {
    async fn ask(self, wish: Wish) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        let client = location.open().await?;
        let (worker, name) = find(&client, &self.worker, &location.option()).await?;
        let (actor, reason) = (self.order.actor.name(), self.order.reason.as_str());
        let is_there = match wish {
            Wish::Quiet => client.quiet_worker(worker, &actor, reason).await?,
            Wish::Drain => client.drain_worker(worker, &actor, reason).await?,
            Wish::Resume => client.resume_worker(worker, &actor, reason).await?,
        };
        if !is_there {
            return Err(CliError::usage(format!("worker {name} has left meanwhile"), "there is nothing to do"));
        }
        if self.order.view.json {
            say::json(&json!({ "worker": worker, "name": name, "asked": wish }))?;
        } else {
            say::line(format_args!("worker {name}: asked to {}", in_words(wish)));
        }
        Ok(exit::SUCCEEDED)
    }
}

fn in_words(wish: Wish) -> &'static str {
    match wish {
        Wish::Quiet => "be quiet",
        Wish::Drain => "drain",
        Wish::Resume => "resume",
    }
}

/// A worker by its id, or by a name that no other one has.
async fn find(client: &Client, text: &str, option: &str) -> Result<(Incarnation, String), CliError> {
    let help = format!("list the workers with `towpath workers{option}`");
    let all = client.inspect().workers().await?;
    let found: Vec<&WorkerLine> =
        all.iter().filter(|line| line.name == text || line.worker.to_string() == text).collect();
    match found[..] {
        [line] => Ok((line.worker, line.name.clone())),
        [] => Err(CliError::usage(format!("there is no worker {text}"), help)),
        [..] => Err(CliError::usage(format!("{} workers are named {text}: say its id", found.len()), help)),
    }
}

fn asked(line: Option<&WishLine>) -> String {
    let Some(line) = line else { return "-".into() };
    let why = if line.why.is_empty() { String::new() } else { format!(": {}", words::short(&line.why)) };
    format!("to {} by {}{why}", in_words(line.wish), words::short(&line.actor))
}

impl Workers {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        match self.command {
            None => self.list().await,
            Some(WorkerCommand::Quiet(Quiet { which })) => which.ask(Wish::Quiet).await,
            Some(WorkerCommand::Drain(Drain { which })) => which.ask(Wish::Drain).await,
            Some(WorkerCommand::Resume(Resume { which })) => which.ask(Wish::Resume).await,
        }
    }

    async fn list(self) -> Result<u8, CliError> {
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
                    "asked": w.wish.as_ref().map(|line| {
                        json!({ "to": line.wish, "at": words::instant(line.at), "actor": line.actor, "why": line.why })
                    }),
                })
            });
            say::json(&lines.collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["name", "lives", "running", "started", "lease until", "asked", "queues", "kinds"]);
        for line in &served.workers {
            let queues: Vec<String> = line.queues.iter().map(|queue| words::short(queue)).collect();
            let kinds: Vec<&str> = line.kinds.keys().map(Kind::as_str).collect();
            table.row(vec![
                line.name.clone(),
                if served.lives(line) { "yes" } else { "dead" }.to_owned(),
                line.running.to_string(),
                words::instant(line.started_at),
                words::instant(line.lease_until),
                asked(line.wish.as_ref()),
                queues.join(", "),
                kinds.join(", "),
            ]);
        }
        table.print_or("no workers");
        served.tell(&ready(&client).await?, &location.option());
        Ok(exit::SUCCEEDED)
    }
}
