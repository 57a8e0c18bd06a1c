//! `towpath retry`: run a graph again in place.

use clap::Args;
use serde_json::json;
use towpath::core::RetryRefusal;
use towpath::{GraphId, NodeName, RetryError};

use super::{OrderArgs, tell_of_resume};
use crate::error::CliError;
use crate::{exit, say};

/// Run a graph again in place
///
/// By default what is dead, quarantined or cancelled, or was undone, with what was skipped because of it; outputs of the rest stay, and a
/// cancel is lifted. A worker, or `towpath resume`, then runs it.
#[derive(Debug, Args)]
pub(crate) struct RetryCommand {
    /// The graph.
    #[arg(value_name = "GRAPH")]
    graph: GraphId,
    /// Only this node and everything below it, however they ended.
    #[arg(long, value_name = "NODE", conflicts_with = "all")]
    from: Option<String>,
    /// Every node that has ended.
    #[arg(long)]
    all: bool,
    /// Also where an undo has failed, so that what it was to reverse may still stand.
    #[arg(long)]
    even_incomplete: bool,
    #[command(flatten)]
    order: OrderArgs,
}

impl RetryCommand {
    /// What there is to do about a refusal.
    fn remedy(&self, refusal: &RetryError, store_option: &str) -> String {
        match refusal {
            RetryError::Graph { why: RetryRefusal::LeftUndone(_), .. } => format!(
                "run it again as it is by --even-incomplete, or from its beginning: `towpath restart{store_option} {}`",
                self.graph
            ),
            RetryError::Graph { why: RetryRefusal::Committed(_), .. } => {
                format!("run it once more: `towpath restart{store_option} {}`", self.graph)
            }
            _ => format!("see its nodes with `towpath graph show {}{store_option}`", self.graph),
        }
    }

    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        let from = self.from.as_deref().map(NodeName::new).transpose();
        let help = format!("see its nodes with `towpath graph show {}{}`", self.graph, location.option());
        let from = from.map_err(|e| CliError::usage(format!("--from: {e}"), help))?;
        let client = location.open().await?;
        let retry = client.retry_graph(self.graph).by(&self.order.actor.name(), &self.order.reason);
        let retry = match from {
            Some(node) => retry.from(node),
            None if self.all => retry.all(),
            None => retry,
        };
        let retry = if self.even_incomplete { retry.even_incomplete() } else { retry };
        let retried = match retry.await {
            Ok(retried) => retried,
            Err(RetryError::Store(error)) => return Err(error.into()),
            Err(refusal @ RetryError::UnknownGraph { .. }) => {
                let help = format!("list the graphs with `towpath graph list{}`", location.option());
                return Err(CliError::usage(refusal.to_string(), help));
            }
            Err(refusal) => {
                return Err(CliError::usage(refusal.to_string(), self.remedy(&refusal, &location.option())));
            }
        };
        if self.order.view.json {
            say::json(&json!({ "id": self.graph, "generation": retried.generation, "nodes": retried.nodes }))?;
        } else {
            let nodes = if retried.nodes == 1 { "1 node runs".into() } else { format!("{} nodes run", retried.nodes) };
            say::line(format_args!("graph {}: {nodes} again, in generation {}", self.graph, retried.generation));
            tell_of_resume(&client, self.graph, &location.option()).await?;
        }
        Ok(exit::SUCCEEDED)
    }
}
