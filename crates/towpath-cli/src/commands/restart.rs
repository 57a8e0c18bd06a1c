//! `towpath restart`: run a graph once more, as a new graph.

use clap::Args;
use serde_json::json;
use towpath::{GraphId, RestartError};

use super::{OrderArgs, tell_of_resume};
use crate::error::CliError;
use crate::{exit, say};

/// Run a graph once more, as a new graph
///
/// The same shape, inputs and rules under new ids; both graphs show the other. A worker, or `towpath resume`, then runs it.
#[derive(Debug, Args)]
pub(crate) struct RestartCommand {
    /// The graph.
    #[arg(value_name = "GRAPH")]
    graph: GraphId,
    /// The id of the new graph; restarted twice under it, it is one graph.
    #[arg(long, value_name = "ID")]
    id: Option<GraphId>,
    #[command(flatten)]
    order: OrderArgs,
}

impl RestartCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        let client = location.open().await?;
        let restart = client.restart_graph(self.graph).by(&self.order.actor.name(), &self.order.reason);
        let restart = match self.id {
            Some(id) => restart.id(id),
            None => restart,
        };
        let id = match restart.await {
            Ok(id) => id,
            Err(RestartError::Store(error)) => return Err(error.into()),
            Err(refusal @ RestartError::UnknownGraph { .. }) => {
                let help = format!("list the graphs with `towpath graph list{}`", location.option());
                return Err(CliError::usage(refusal.to_string(), help));
            }
            Err(refusal) => return Err(CliError::failed("restart the graph", refusal)),
        };
        if self.order.view.json {
            say::json(&json!({ "id": id, "restart_of": self.graph }))?;
        } else {
            say::line(format_args!("graph {id} is a restart of {}", self.graph));
            tell_of_resume(&client, id, &location.option()).await?;
        }
        Ok(exit::SUCCEEDED)
    }
}
