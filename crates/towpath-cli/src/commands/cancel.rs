//! `towpath cancel`: a job, a run or a graph.

use clap::Args;
use serde_json::json;
use towpath::core::State;
use towpath::core::store::Changed;
use towpath::{BulkChange, Client, GraphEnd, GraphId};

use super::filter::BulkArgs;
use super::{OrderArgs, find_job};
use crate::error::CliError;
use crate::{exit, say};

/// Cancel a job, a run or a graph
///
/// What has not started ends at once; running commands are asked to stop; a run that has begun ends after its undos.
/// Jobs can also be found by a filter, many at once.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The job, the run or the graph.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Ends the job or run at once, whatever it does; undos do not run.
    #[arg(long)]
    terminate: bool,
    /// Ends a job that runs and does not stop though it was asked to; what its handler still does counts for nothing, and
    /// the undos of its graph may run.
    #[arg(long, conflicts_with = "terminate")]
    abandon: bool,
    #[command(flatten)]
    bulk: BulkArgs,
    #[command(flatten)]
    order: OrderArgs,
}

impl Cancel {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        self.bulk.check(usize::from(self.id.is_some()))?;
        if self.terminate && self.id.is_none() {
            return Err(CliError::usage("--terminate is of one job or run".to_owned(), "name the job"));
        }
        let location = self.order.view.store.found()?;
        let client = location.open().await?;
        // What a killed process has left running is not asked but stopped.
        let groups = location.groups();
        groups.clear_dead().await.map_err(|e| CliError::failed("stop what an earlier process left running", e))?;
        groups.leave();
        let Some(id) = self.id.as_deref() else {
            let (actor, change) = (self.order.actor.name(), BulkChange::Cancel);
            return self.bulk.run(&client, &change, (&actor, &self.order.reason), self.order.view.json).await;
        };
        let graph = match id.parse::<GraphId>() {
            Ok(graph) => client.inspect().graph_line(graph).await?.map(|_| graph),
            Err(_) => None,
        };
        let done = if let Some(graph) = graph {
            if self.terminate || self.abandon {
                let done = if self.terminate { "terminated" } else { "abandoned" };
                let help = "cancel the graph, or give one of its jobs";
                return Err(CliError::usage(format!("{} is a graph: it cannot be {done}", id), help));
            }
            self.graph(&client, graph).await?
        } else {
            self.job(&client, id).await?
        };
        let Some((what, outcome)) = done else {
            let help = format!("list them with `towpath graph list{0}` and `towpath jobs{0}`", location.option());
            return Err(CliError::usage(format!("there is no job, run or graph {id} in {}", location.shown()), help));
        };
        if self.order.view.json {
            say::json(&json!({ "id": id, "what": what, "outcome": outcome }))?;
        } else {
            say::line(format_args!("{what} {id}: {outcome}"));
        }
        Ok(exit::SUCCEEDED)
    }

    async fn graph(&self, client: &Client, graph: GraphId) -> Result<Option<(&'static str, &'static str)>, CliError> {
        let ended = client.inspect().graph_line(graph).await?.is_some_and(|line| line.end.is_some());
        if ended {
            return Ok(Some(("graph", "had ended already")));
        }
        if client.cancel_graph(graph, &self.order.actor.name(), &self.order.reason).await?.is_none() {
            return Ok(None);
        }
        let ended = client.inspect().graph_line(graph).await?.and_then(|line| line.end);
        Ok(Some(match ended {
            Some(GraphEnd::Failed) => ("graph", "cancelled; it reads failed, because a node had failed before"),
            Some(_) => ("graph", "cancelled"),
            None => ("graph", "cancelled; what runs was asked to stop"),
        }))
    }

    async fn job(&self, client: &Client, id: &str) -> Result<Option<(&'static str, &'static str)>, CliError> {
        let Some(job) = find_job(client, id).await? else { return Ok(None) };
        let detail = client.inspect().job(job).await?;
        let is_run = detail.as_ref().is_some_and(|detail| detail.run.is_some());
        let is_blocked = detail.is_some_and(|detail| detail.line.state == State::Blocked);
        let actor = self.order.actor.name();
        let changed = if self.terminate {
            client.terminate(job, &actor, &self.order.reason).await?
        } else if self.abandon {
            client.abandon(job, &actor, &self.order.reason).await?
        } else {
            client.cancel(job, &actor, &self.order.reason).await?
        };
        let outcome = match changed {
            Changed::Unknown => match super::pruned(client, id).await? {
                Some(_) => return Ok(Some(("run", "had ended already, and has been pruned"))),
                None => return Ok(None),
            },
            Changed::Ended if self.terminate => "terminated",
            Changed::Ended if self.abandon => "abandoned",
            Changed::Ended => "cancelled",
            Changed::Asked if is_blocked => {
                "it is blocked: it is asked to stop once it can go on; --terminate ends it now, without its undos"
            }
            Changed::Asked if is_run => "it has begun, and was asked to stop; it ends after its undos",
            Changed::Asked => "it runs, and was asked to stop",
            Changed::Left(State::Ended(_)) => "had ended already",
            _ => "waits for its parents: cancel its graph",
        };
        Ok(Some((if is_run { "run" } else { "job" }, outcome)))
    }
}
