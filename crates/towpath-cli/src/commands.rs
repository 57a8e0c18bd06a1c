//! The command line: one file per command.

mod audit;
mod bench;
mod cancel;
mod check;
mod completions;
mod edit;
mod filter;
mod follow;
mod fork;
mod graph;
mod history;
mod job;
mod jobs;
mod journal;
mod json;
mod migrate;
mod queues;
mod replay;
mod requeue;
mod restart;
mod resume;
mod retry;
mod run;
mod runs;
mod schedules;
mod schema;
mod serve;
mod signal;
mod stream;
mod tags;
mod top;
mod update;
mod versions;
mod workers;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use towpath::core::RunId;
use towpath::{Client, GraphId, GraphLimits, JobId};

use crate::error::CliError;
use crate::flow::{Given, flow_of};
use crate::location::Location;
use crate::words;

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
    Check(check::Check),
    Graph(graph::Graph),
    Jobs(jobs::Jobs),
    Job(job::JobCommand),
    Tags(tags::Tags),
    Queues(queues::Queues),
    Workers(workers::Workers),
    Versions(versions::VersionsCommand),
    Schedules(schedules::SchedulesCommand),
    Cancel(cancel::Cancel),
    Edit(edit::EditCommand),
    Requeue(requeue::RequeueCommand),
    Retry(retry::RetryCommand),
    Restart(restart::RestartCommand),
    Fork(fork::ForkCommand),
    Runs(runs::Runs),
    Signal(signal::SignalCommand),
    Update(update::UpdateCommand),
    Stream(stream::StreamCommand),
    History(history::HistoryCommand),
    Replay(replay::Replay),
    Audit(audit::Audit),
    Schema(schema::Schema),
    Serve(serve::Serve),
    Top(top::Top),
    Completions(completions::Completions),
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
            Command::Check(command) => command.run(),
            Command::Graph(command) => command.run().await,
            Command::Jobs(command) => command.run().await,
            Command::Tags(command) => command.run().await,
            Command::Job(command) => command.run().await,
            Command::Queues(command) => command.run().await,
            Command::Workers(command) => command.run().await,
            Command::Versions(command) => command.run().await,
            Command::Schedules(command) => command.run().await,
            Command::Cancel(command) => command.run().await,
            Command::Edit(command) => command.run().await,
            Command::Requeue(command) => command.run().await,
            Command::Retry(command) => command.run().await,
            Command::Restart(command) => command.run().await,
            Command::Fork(command) => command.run().await,
            Command::Runs(command) => command.run().await,
            Command::Signal(command) => command.run().await,
            Command::Update(command) => command.run().await,
            Command::Stream(command) => command.run().await,
            Command::History(command) => command.run().await,
            Command::Replay(command) => command.run(),
            Command::Audit(command) => command.run().await,
            Command::Schema(command) => command.run(),
            Command::Serve(command) => command.run().await,
            Command::Top(command) => command.run().await,
            Command::Completions(command) => command.run(),
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

/// Of a run that was pruned and whose id is taken still, what is known of it.
///
/// # Errors
/// The store could not be asked.
async fn pruned(client: &Client, text: &str) -> Result<Option<String>, CliError> {
    let Ok(run) = RunId::new(text) else { return Ok(None) };
    let left = client.inspect().tombstone(run).await?;
    Ok(left.map(|left| {
        format!(
            "the run {} of {} {} at {} and has been pruned; its id stays taken until {}",
            left.run,
            left.kind,
            words::ended(left.end),
            words::instant(left.ended_at),
            words::instant(left.until)
        )
    }))
}

/// Which store.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    ///
    /// Without it, `.towpath/store.db` beside the flow file, or the nearest one from the current folder upwards. On PostgreSQL the
    /// tables are in the schema `towpath`, or in that of `?schema=NAME`.
    #[arg(long, value_name = "URL", env = "TOWPATH_STORE", hide_env_values = true)]
    store: Option<String>,
}

impl StoreArgs {
    fn found(&self) -> Result<Location, CliError> {
        Location::found(self.store.as_deref())
    }

    /// For a command that makes the store that is named if it is not there.
    fn found_or_made(&self) -> Result<Location, CliError> {
        self.store.as_deref().map_or_else(|| Location::found(None), |named| Ok(Location::named(named)))
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

/// How large a graph may be.
#[derive(Clone, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Other limits of graphs than the defaults, such as `nodes=50000,depth=2`.
    ///
    /// They are `nodes`, `edges`, `depth` (of graphs inside graphs), `elements` (of a list that a node goes through),
    /// `name_bytes` and `input_bytes`.
    #[arg(long, value_name = "LIMITS", env = "TOWPATH_GRAPH_LIMITS", hide_env_values = true)]
    graph_limits: Option<GraphLimits>,
}

impl LimitArgs {
    fn limits(&self) -> GraphLimits {
        self.graph_limits.unwrap_or_default()
    }

    /// The client within these limits.
    fn apply(&self, client: Client) -> Result<Client, CliError> {
        Ok(client.with_graph_limits(self.limits())?)
    }
}

/// The parameters of a flow.
#[derive(Clone, Debug, Args)]
pub(crate) struct ParamArgs {
    /// Gives a parameter its value.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A file with a JSON object of parameters; `--set` comes before it.
    #[arg(long, value_name = "FILE.json")]
    input: Option<PathBuf>,
}

impl ParamArgs {
    fn given(&self) -> Result<Given, CliError> {
        let mut given = Given::default();
        for set in &self.set {
            let (name, value) = set
                .split_once('=')
                .ok_or_else(|| CliError::usage(format!("--set {set} has no `=`"), "write --set NAME=VALUE"))?;
            given.set.push((name.to_owned(), value.to_owned()));
        }
        if let Some(file) = &self.input {
            let cannot = |why: String| {
                let help = "name a file with a JSON object, such as {\"region\": \"eu\"}";
                CliError::usage(format!("cannot read the parameters in {}: {why}", file.display()), help)
            };
            let text = std::fs::read_to_string(file).map_err(|e| cannot(e.to_string()))?;
            given.input = serde_json::from_str(&text).map_err(|e| cannot(e.to_string()))?;
        }
        Ok(given)
    }
}

/// Who does it, for the audit.
#[derive(Clone, Debug, Args)]
pub(crate) struct ActorArgs {
    /// Who does this, for the record; the user's name if not given, or `cli` where there is none.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
}

/// An order that changes something: why and by whom, and how it is answered.
#[derive(Clone, Debug, Args)]
struct OrderArgs {
    /// Why, for the record.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    actor: ActorArgs,
    #[command(flatten)]
    view: ViewArgs,
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

/// Says how a flow goes on that was put back, since only `towpath` runs it.
async fn tell_of_resume(client: &Client, graph: GraphId, store_option: &str) -> Result<(), CliError> {
    let detail = client.inspect().graph(graph).await?;
    let flow = detail.and_then(|detail| detail.nodes.iter().find_map(|node| flow_of(&node.queue)));
    if let Some(flow) = flow {
        crate::say::line(format_args!("carry on with: towpath resume{store_option} {flow}"));
    }
    Ok(())
}

/// Tells of a part of a list that was left out.
fn tell_of_more(shown: usize, limit: u32) {
    if shown >= limit as usize {
        crate::say::remark(format_args!("… the newest {limit}; more with --limit"));
    }
}
