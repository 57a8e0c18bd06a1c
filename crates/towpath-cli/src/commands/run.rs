//! `towpath run`: a flow file, from reading to its end.

use std::path::PathBuf;

use clap::Args;
use towpath::core::store::{GraphFilter, Page};
use towpath::{Client, GraphId};

use super::{ActorArgs, DriveArgs, StoreArgs};
use crate::drive::{Drive, Outcome};
use crate::error::CliError;
use crate::exit;
use crate::flow::{FlowFile, FlowSource};
use crate::location::Location;
use crate::say;

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
    store: StoreArgs,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    actor: ActorArgs,
}

impl Run {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let file = FlowFile::read(&self.file).map_err(|why| {
            CliError::usage(
                format!("cannot read the flow file {}: {why}", self.file.display()),
                "name a file like examples/flows/sources.toml",
            )
        })?;
        let flow = file.parse()?;
        let location = Location::of_flow(self.store.store.as_deref(), file.folder());
        let client = location.open().await?;
        tell_of_unfinished(&client, &file).await?;
        let source = FlowSource::new(&file, &self.actor.name());
        let graph = Client::new_graph_id();
        let new = flow.into_graph(graph, &source).map_err(|why| CliError::failed("make a graph of the flow", why))?;
        client.enqueue_graph(new).await?;
        drive(&client, &location, graph, self.drive.parallel()).await
    }
}

/// Drives a stored graph to its end, and says how to go on if somebody interrupts.
pub(super) async fn drive(client: &Client, location: &Location, graph: GraphId, parallel: u16) -> Result<u8, CliError> {
    let groups = location.groups();
    let left = groups.clear_dead().await.map_err(|e| CliError::failed("stop what a dead process left running", e))?;
    if left > 0 {
        say::line(format_args!(
            "stopped what an earlier process left running: {}",
            crate::words::count(left, "command", "commands")
        ));
    }
    let store_option = location.option();
    let driven =
        (Drive { client, graph, groups: groups.clone(), parallel, store_option: store_option.clone() }).run().await;
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
    for line in client.inspect().graphs(GraphFilter::Open, Page { after: None, limit: 20 }).await? {
        let detail = client.inspect().graph(line.id).await?;
        let source: Option<FlowSource> = detail.and_then(|d| d.input).and_then(|input| input.decode().ok());
        if source.is_some_and(|source| source.file == file.path) {
            eprintln!(
                "note: an earlier run of this file has not ended; carry on with `towpath resume {0}`, or end it with \
                 `towpath cancel {0}`",
                line.id
            );
        }
    }
    Ok(())
}
