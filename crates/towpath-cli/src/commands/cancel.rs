//! `towpath cancel`: a job or a graph.

use clap::Args;
use serde_json::json;
use towpath::core::store::Changed;
use towpath::{Client, GraphEnd, GraphId, JobId};

use super::{ActorArgs, ViewArgs};
use crate::error::CliError;
use crate::{exit, say};

/// Cancel a job or a graph
///
/// What has not started ends at once; running commands are asked to stop.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The job or the graph.
    #[arg(value_name = "ID")]
    id: JobId,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    actor: ActorArgs,
    #[command(flatten)]
    view: ViewArgs,
}

impl Cancel {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open().await?;
        // What a killed process has left running is not asked but stopped.
        let groups = location.groups();
        groups.clear_dead().await.map_err(|e| CliError::failed("stop what an earlier process left running", e))?;
        groups.leave();
        let graph = GraphId::from_bytes(*self.id.as_bytes());
        let done = if client.inspect().graph(graph).await?.is_some() {
            self.graph(&client, graph).await?
        } else {
            self.job(&client).await?
        };
        let Some((what, outcome)) = done else {
            let help = format!("list them with `towpath graph list{0}` and `towpath jobs{0}`", location.option());
            return Err(CliError::usage(format!("there is no job or graph {} in {}", self.id, location.shown()), help));
        };
        if self.view.json {
            say::json(&json!({ "id": self.id, "what": what, "outcome": outcome }))?;
        } else {
            say::line(format_args!("{what} {}: {outcome}", self.id));
        }
        Ok(exit::SUCCEEDED)
    }

    async fn graph(&self, client: &Client, graph: GraphId) -> Result<Option<(&'static str, &'static str)>, CliError> {
        let ended = client.inspect().graph(graph).await?.is_some_and(|d| d.line.end.is_some());
        if ended {
            return Ok(Some(("graph", "had ended already")));
        }
        if client.cancel_graph(graph, &self.actor.name(), &self.reason).await?.is_none() {
            return Ok(None);
        }
        let ended = client.inspect().graph(graph).await?.and_then(|d| d.line.end);
        Ok(Some(match ended {
            Some(GraphEnd::Failed) => ("graph", "cancelled; it reads failed, because a node had failed before"),
            Some(_) => ("graph", "cancelled"),
            None => ("graph", "cancelled; what runs was asked to stop"),
        }))
    }

    async fn job(&self, client: &Client) -> Result<Option<(&'static str, &'static str)>, CliError> {
        let outcome = match client.cancel(self.id, &self.actor.name(), &self.reason).await? {
            Changed::Unknown => return Ok(None),
            Changed::Ended => "cancelled",
            Changed::Asked => "it runs, and was asked to stop",
            _ => "had ended already",
        };
        Ok(Some(("job", outcome)))
    }
}
