//! The command line: one file per command.

mod audit;
mod bench;
mod cancel;
mod graph;
mod history;
mod job;
mod jobs;
mod journal;
mod json;
mod migrate;
mod queues;
mod requeue;
mod resume;
mod run;
mod serve;
mod signal;
mod workers;

use clap::{Args, Parser, Subcommand};
use towpath::core::RunId;
use towpath::{Client, JobId};

use crate::error::CliError;
use crate::location::Location;

/// Runs flows of commands durably: what has succeeded never runs again, whatever is killed.
#[derive(Debug, Parser)]
#[command(name = "towpath", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Resume(resume::Resume),
    Graph(graph::Graph),
    Jobs(jobs::Jobs),
    Job(job::JobCommand),
    Queues(queues::Queues),
    Workers(workers::Workers),
    Cancel(cancel::Cancel),
    Requeue(requeue::RequeueCommand),
    Signal(signal::SignalCommand),
    History(history::HistoryCommand),
    Audit(audit::Audit),
    Serve(serve::Serve),
    Migrate(migrate::Migrate),
    Bench(bench::Bench),
    #[command(hide = true)]
    BenchChild(bench::BenchChild),
}

impl Cli {
    /// Does what was asked; answers the exit code.
    pub(crate) async fn run(self) -> Result<u8, CliError> {
        match self.command {
            Command::Run(command) => command.run().await,
            Command::Resume(command) => command.run().await,
            Command::Graph(command) => command.run().await,
            Command::Jobs(command) => command.run().await,
            Command::Job(command) => command.run().await,
            Command::Queues(command) => command.run().await,
            Command::Workers(command) => command.run().await,
            Command::Cancel(command) => command.run().await,
            Command::Requeue(command) => command.run().await,
            Command::Signal(command) => command.run().await,
            Command::History(command) => command.run().await,
            Command::Audit(command) => command.run().await,
            Command::Serve(command) => command.run().await,
            Command::Migrate(command) => command.run().await,
            Command::Bench(command) => command.run().await,
            Command::BenchChild(command) => command.run().await,
        }
    }
}

/// The job that is meant: by its id, or by that of the run that it is.
///
/// # Errors
/// The store could not be asked.
async fn find_job(client: &Client, text: &str) -> Result<Option<JobId>, CliError> {
    let by_id = text.parse::<JobId>().ok();
    if let Some(id) = by_id
        && client.inspect().job(id).await?.is_some()
    {
        return Ok(Some(id));
    }
    match RunId::new(text) {
        Ok(run) => Ok(client.inspect().run(run).await?),
        Err(_) => Ok(None),
    }
}

/// Which store.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    ///
    /// Without it, `.towpath/store.db` beside the flow file, or the nearest one from the current folder upwards.
    #[arg(long, value_name = "URL", env = "TOWPATH_STORE", hide_env_values = true)]
    store: Option<String>,
}

impl StoreArgs {
    fn found(&self) -> Result<Location, CliError> {
        Location::found(self.store.as_deref())
    }
}

/// How answers are written.
#[derive(Clone, Debug, Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Answers in JSON.
    #[arg(long)]
    json: bool,
}

/// How a flow is driven.
#[derive(Clone, Debug, Args)]
pub(crate) struct DriveArgs {
    /// Commands that run at once; twice the processors, and at least 8, if not given.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    parallel: Option<u16>,
}

impl DriveArgs {
    /// Commands wait as often as they compute, and a fan-out over a network should not crawl on a small machine.
    fn parallel(&self) -> u16 {
        self.parallel.unwrap_or_else(|| {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            u16::try_from(processors.saturating_mul(2)).unwrap_or(u16::MAX).clamp(8, 100)
        })
    }
}

/// Who does it, for the audit.
#[derive(Clone, Debug, Args)]
pub(crate) struct ActorArgs {
    /// Who does this, for the record; the user's name if not given.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
}

impl ActorArgs {
    fn name(&self) -> String {
        self.actor
            .clone()
            .or_else(|| std::env::var("USER").ok())
            .filter(|a| !a.is_empty())
            .unwrap_or_else(|| "cli".into())
    }
}

/// Tells of a part of a list that was left out.
fn tell_of_more(shown: usize, limit: u32) {
    if shown >= limit as usize {
        crate::say::line(format_args!("… the newest {limit}; more with --limit"));
    }
}
