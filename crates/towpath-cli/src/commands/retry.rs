//! `towpath retry`: run a graph again in place, or let a run go on that has ended.

use clap::Args;
use serde_json::json;
use towpath::core::RetryRefusal;
use towpath::{Client, GraphId, NodeName, RetryError};

use super::{OrderArgs, tell_of_resume};
use crate::error::CliError;
use crate::location::Location;
use crate::{exit, say};

/// Run a graph again in place, or let a run go on that failed
///
/// Of a graph, by default what is dead, quarantined or cancelled, or was undone, with what was skipped because of it; outputs of the rest
/// stay, and a cancel is lifted. A run goes on in its next chapter: what has succeeded stays, and what failed last is tried again; one
/// that was undone begins anew. A worker, or `towpath resume`, then runs it.
#[derive(Debug, Args)]
pub(crate) struct RetryCommand {
    /// The graph, or the id of the run.
    #[arg(value_name = "GRAPH|RUN-ID")]
    what: String,
    /// Of a graph: only this node and everything below it, however they ended.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["all", "at"])]
    from: Option<String>,
    /// Of a graph: every node that has ended. Of a run: from its beginning.
    #[arg(long, conflicts_with = "at")]
    all: bool,
    /// Of a graph: also where an undo has failed, so that what it was to reverse may still stand.
    #[arg(long)]
    even_incomplete: bool,
    /// Of a run: from this operation on, as `towpath job RUN-ID` counts them, from 1.
    #[arg(long, value_name = "OPERATION", value_parser = clap::value_parser!(u32).range(1..))]
    at: Option<u32>,
    /// Of a run: even if it has succeeded.
    #[arg(long)]
    even_succeeded: bool,
    #[command(flatten)]
    order: OrderArgs,
}

impl RetryCommand {
    /// What there is to do about a refusal.
    fn remedy(graph: GraphId, refusal: &RetryError, store_option: &str) -> String {
        match refusal {
            RetryError::Graph { why: RetryRefusal::LeftUndone(_), .. } => format!(
                "run it again as it is by --even-incomplete, or from its beginning: `towpath restart{store_option} {graph}`"
            ),
            RetryError::Graph { why: RetryRefusal::Committed(_), .. } => {
                format!("run it once more: `towpath restart{store_option} {graph}`")
            }
            _ => format!("see its nodes with `towpath graph show {graph}{store_option}`"),
        }
    }

    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.order.view.store.found()?;
        let client = location.open().await?;
        let of_run = self.at.is_some() || self.even_succeeded;
        match self.what.parse() {
            // A run may be called like a graph.
            Ok(graph) if !of_run => self.retry_graph(&client, &location, graph).await,
            _ => self.retry_run(&client, &location).await,
        }
    }

    async fn retry_run(&self, client: &Client, location: &Location) -> Result<u8, CliError> {
        if self.from.is_some() || self.even_incomplete {
            let help = "name a graph by its id: `towpath graph list` has them";
            return Err(CliError::usage(
                format!("--from and --even-incomplete are for graphs, and {} is none", self.what),
                help,
            ));
        }
        let retry = client.retry_run(&self.what).by(&self.order.actor.name(), &self.order.reason);
        let retry = match self.at {
            Some(at) => retry.at(at),
            None if self.all => retry.from_beginning(),
            None => retry,
        };
        let retry = if self.even_succeeded { retry.even_succeeded() } else { retry };
        match retry.await {
            Ok(()) if self.order.view.json => say::json(&json!({ "id": self.what, "retried": true }))?,
            Ok(()) => say::line(format_args!("run {}: it goes on", self.what)),
            Err(RetryError::Store(error)) => return Err(error.into()),
            Err(refusal @ RetryError::UnknownRun { .. }) => {
                let help = format!(
                    "list the runs with `towpath jobs --runs{}`, and graphs with `towpath graph list`",
                    location.option()
                );
                return Err(CliError::usage(refusal.to_string(), help));
            }
            Err(refusal) => {
                let help = format!("look at it with `towpath job {}{}`", self.what, location.option());
                return Err(CliError::usage(refusal.to_string(), help));
            }
        }
        Ok(exit::SUCCEEDED)
    }

    async fn retry_graph(&self, client: &Client, location: &Location, graph: GraphId) -> Result<u8, CliError> {
        let from = self.from.as_deref().map(NodeName::new).transpose();
        let help = format!("see its nodes with `towpath graph show {graph}{}`", location.option());
        let from = from.map_err(|e| CliError::usage(format!("--from: {e}"), help))?;
        let retry = client.retry_graph(graph).by(&self.order.actor.name(), &self.order.reason);
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
                return Err(CliError::usage(refusal.to_string(), Self::remedy(graph, &refusal, &location.option())));
            }
        };
        if self.order.view.json {
            say::json(&json!({ "id": graph, "generation": retried.generation, "nodes": retried.nodes }))?;
        } else {
            let nodes = if retried.nodes == 1 { "1 node runs".into() } else { format!("{} nodes run", retried.nodes) };
            say::line(format_args!("graph {graph}: {nodes} again, in generation {}", retried.generation));
            tell_of_resume(client, graph, &location.option()).await?;
        }
        Ok(exit::SUCCEEDED)
    }
}
