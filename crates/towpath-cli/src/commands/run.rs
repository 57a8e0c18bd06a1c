//! `towpath run`: a flow file, from reading to its end.

use std::path::{Path, PathBuf};

use clap::Args;
use towpath::core::store::GraphStanding;
use towpath::{Client, GraphId};

use super::{ActorArgs, DriveArgs, LimitArgs, ParamArgs, StoreArgs, resume};
use crate::drive::{Drive, Outcome, Start};
use crate::error::CliError;
use crate::exit;
use crate::flow::{FlowFile, FlowSource, queues_of};
use crate::location::Location;
use crate::say;
use crate::waits::Waits;

/// Run a flow file
///
/// Checks the whole file, stores it as one graph, and runs its commands here until the graph has ended. If this process
/// is killed, `towpath resume` carries on.
///
/// Exit code: 0 succeeded, 1 failed, 2 bad file or usage, 3 cancelled, 130 interrupted.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The flow file, in TOML.
    #[arg(value_name = "FLOW.toml")]
    file: PathBuf,
    #[command(flatten)]
    params: ParamArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    actor: ActorArgs,
}

impl Run {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let file = read_flow(&self.file)?;
        let flow = file.parse(&self.params.given()?, &self.limits.limits())?;
        let location = Location::of_flow(self.store.store.as_deref(), file.folder());
        let client = self.limits.apply(location.open().await?)?;
        tell_of_unfinished(&client, &file).await?;
        let source = FlowSource::new(&file, &flow, &self.actor.name());
        let graph = Client::new_graph_id();
        let new = flow.into_graph(graph, &source).map_err(|why| CliError::failed("make a graph of the flow", why))?;
        let name = new.name.clone();
        client.enqueue_graph(new).await?;
        // Before anything runs: whoever is killed can read here how to go on.
        let option = location.option();
        say::line(format_args!("{name} is graph {graph} now; if this ends early: towpath resume{option} {graph}"));
        drive(&client, &location, graph, &source, self.drive.parallel(), Start::Anew).await
    }
}

/// A flow file by its path.
pub(super) fn read_flow(file: &Path) -> Result<FlowFile, CliError> {
    FlowFile::read(file).map_err(|why| {
        CliError::usage(
            format!("cannot read the flow file {}: {why}", file.display()),
            "name a file like examples/flows/sources.toml",
        )
    })
}

/// Drives a stored graph to its end, and says how to go on if somebody interrupts.
pub(super) async fn drive(
    client: &Client,
    location: &Location,
    graph: GraphId,
    source: &FlowSource,
    parallel: u16,
    start: Start,
) -> Result<u8, CliError> {
    let groups = location.groups();
    let left = groups.clear_dead().await.map_err(|e| CliError::failed("stop what a dead process left running", e))?;
    if left > 0 {
        say::line(format_args!(
            "stopped what an earlier process left running: {}",
            crate::words::count(left, "command", "commands")
        ));
    }
    let store_option = location.option();
    let queues = queues_of(graph, source);
    let mut waits = Waits::new(&store_option);
    if let Some(detail) = client.inspect().graph(graph).await? {
        waits.of_graph(client, &detail).await?.iter().for_each(say::line);
    }
    let (own, store_option_of) = (groups.clone(), store_option.clone());
    let drive = Drive { client, graph, groups: own, parallel, queues, store_option: store_option_of, waits, start };
    let driven = drive.run().await;
    groups.leave();
    match driven? {
        Outcome::Ended(end) => Ok(exit::of(end)),
        Outcome::Interrupted => {
            say::line(format_args!("resume with: towpath resume{store_option} {graph}"));
            Ok(exit::INTERRUPTED)
        }
    }
}

/// A second run of a file whose first one waits may be a mistake.
async fn tell_of_unfinished(client: &Client, file: &FlowFile) -> Result<(), CliError> {
    for line in resume::by_themselves(client, GraphStanding::Open, resume::SHOWN_MAX).await? {
        let detail = client.inspect().graph(line.id).await?;
        let source: Option<FlowSource> = detail.and_then(|d| d.input).and_then(|input| input.decode().ok());
        if source.is_some_and(|source| source.file == file.path) {
            say::remark(format_args!(
                "note: an earlier run of this file has not ended; carry on with `towpath resume {0}`, or end it with \
                 `towpath cancel {0}`",
                line.id
            ));
        }
    }
    Ok(())
}
