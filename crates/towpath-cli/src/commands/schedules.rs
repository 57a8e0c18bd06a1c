//! `towpath schedules`: rules that mint jobs, with their last and next ticks, and what people do to them.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use towpath::core::schedule::{Activity, StoredSchedule};
use towpath::{Client, Timestamp};

use super::{OrderArgs, ViewArgs};
use crate::error::CliError;
use crate::table::Table;
use crate::{exit, say, words};

/// List schedules, pause, resume, run or forget one
///
/// Without a word it lists them. A ghost is a schedule of workers' code that no worker has declared for a day.
#[derive(Debug, Args)]
pub(crate) struct SchedulesCommand {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Mint nothing until it is resumed
    Pause(Named),
    /// Mint again; what was due meanwhile is skipped
    Resume(Named),
    /// Mint a job now
    Run(Named),
    /// Delete it; what it has minted stays
    Forget(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The schedule.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    order: OrderArgs,
}

impl SchedulesCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        match self.what {
            None => list(&self.view).await,
            Some(What::Pause(named)) => named.change(Verb::Pause).await,
            Some(What::Resume(named)) => named.change(Verb::Resume).await,
            Some(What::Run(named)) => named.change(Verb::Run).await,
            Some(What::Forget(named)) => named.change(Verb::Forget).await,
        }
    }
}

#[derive(Clone, Copy)]
enum Verb {
    Pause,
    Resume,
    Run,
    Forget,
}

impl Named {
    async fn change(self, verb: Verb) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        let client = location.open().await?;
        let (name, actor, reason) = (&*self.name, self.order.actor.name(), &*self.order.reason);
        let schedules = client.schedules();
        let refused = |e: towpath::Error| CliError::failed("change the schedule", e);
        let mut job = None;
        let is_there = match verb {
            Verb::Pause => schedules.pause(name, &actor, reason).await.map_err(refused)?,
            Verb::Resume => schedules.resume(name, &actor, reason).await.map_err(refused)?,
            Verb::Forget => schedules.forget(name, &actor, reason).await.map_err(refused)?,
            Verb::Run => {
                job = schedules.trigger(name, &actor, reason).await.map_err(refused)?;
                job.is_some()
            }
        };
        if !is_there {
            let help = format!("list them with `towpath schedules{}`", location.option());
            return Err(CliError::usage(format!("there is no schedule {name} in {}", location.shown()), help));
        }
        let outcome = match verb {
            Verb::Pause => "paused",
            Verb::Resume => "resumed",
            Verb::Run => "triggered",
            Verb::Forget => "forgotten",
        };
        match (self.order.view.json, job) {
            (true, _) => say::json(&json!({ "schedule": name, "outcome": outcome, "job": job }))?,
            (false, Some(job)) => say::line(format_args!("schedule {name} is {outcome}: job {job}")),
            (false, None) => say::line(format_args!("schedule {name} is {outcome}")),
        }
        Ok(exit::SUCCEEDED)
    }
}

async fn list(view: &ViewArgs) -> Result<u8, CliError> {
    let location = view.store.found()?;
    let client = location.open_to_read().await?;
    let now = now(&client).await?;
    let all = client.schedules().list().await.map_err(|e| CliError::failed("list the schedules", e))?;
    if view.json {
        say::json(&all.iter().map(|row| line(row, now)).collect::<Vec<_>>())?;
        return Ok(exit::SUCCEEDED);
    }
    let mut table = Table::new(&["schedule", "spec", "zone", "kind", "state", "next", "last", "skipped"]);
    for row in &all {
        let instant = |at: Option<Timestamp>| at.map_or_else(|| "-".into(), words::instant);
        let skipped: u32 = row.skipped.iter().map(|span| span.count).sum();
        table.row(vec![
            words::short(row.name.as_str()),
            row.rule.spec.to_string(),
            row.rule.zone.to_string(),
            words::short(row.job.kind.as_str()),
            state(row, now).into(),
            instant(row.next),
            instant(row.minted.last().map(|minted| minted.tick)),
            skipped.to_string(),
        ]);
    }
    table.print_or("no schedules");
    Ok(exit::SUCCEEDED)
}

/// The store's clock.
async fn now(client: &Client) -> Result<Timestamp, CliError> {
    Ok(client.store().schedules(None, 1).await?.now)
}

fn state(row: &StoredSchedule, now: Timestamp) -> &'static str {
    match row.activity {
        Activity::Paused => "paused",
        Activity::Active if row.is_ghost(now) => "ghost",
        Activity::Active => "active",
    }
}

fn line(row: &StoredSchedule, now: Timestamp) -> Value {
    let skipped = row.skipped.iter().map(|span| {
        json!({ "first": words::instant(span.first), "last": words::instant(span.last), "count": span.count, "reason": span.reason })
    });
    let minted = row.minted.iter().map(|minted| json!({ "tick": words::instant(minted.tick), "job": minted.job }));
    json!({
        "schedule": row.name,
        "spec": row.rule.spec,
        "zone": row.rule.zone.to_string(),
        "policy": row.rule.policy,
        "kind": row.job.kind,
        "queue": row.job.queue,
        "state": state(row, now),
        "next": row.next.map(words::instant),
        "minted": minted.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
    })
}
