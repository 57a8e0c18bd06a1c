//! Graphs once more: retried in place, after what that means was counted, or restarted as a new one.

use towpath::core::{RetryMode, RetryRefusal, check_undone, plan_retry};
use towpath::{GraphId, NodeName, RestartError, RetryError};

use super::{Done, checked};
use crate::app::Ctx;
use crate::options::Action;
use crate::problem::{Code, Problem};

/// How a graph is retried, as it is asked for.
pub(crate) struct Retry {
    pub(crate) mode: RetryMode,
    /// Even though an undo has failed, so that what it was to reverse may still stand.
    pub(crate) even_incomplete: bool,
}

impl Retry {
    /// Reads the words: `failed`, `all`, or `from` with a node.
    pub(crate) fn read(mode: &str, node: &str, even_incomplete: bool) -> Result<Self, Problem> {
        let mode = match mode {
            "" | "failed" if node.is_empty() => RetryMode::Failed,
            "all" if node.is_empty() => RetryMode::All,
            "from" => RetryMode::From(NodeName::new(node).map_err(|e| Problem::invalid(format!("node: {e}")))?),
            "" | "failed" | "all" => return Err(Problem::invalid("node: it is for the mode `from` only")),
            other => {
                return Err(Problem::invalid(format!("mode: {other:?} is not known")).help("one of failed, from, all"));
            }
        };
        Ok(Self { mode, even_incomplete })
    }
}

/// What a retry would do.
pub(crate) struct Planned {
    /// The nodes that would run again, roots first.
    pub(crate) nodes: Vec<NodeName>,
    /// Whether it lifts a stop that holds nodes back which have not ended.
    pub(crate) lifts: bool,
}

/// Counts what a retry would do, and does nothing.
pub(crate) async fn plan(ctx: &Ctx, id: GraphId, asked: &Retry) -> Result<Planned, Problem> {
    let unknown = || Problem::not_found("graph", &id.to_string());
    let shape = ctx.app.client.store().retry_view(id).await?.ok_or_else(unknown)?;
    let refused = |why| refused(&RetryError::Graph { id, why });
    if !asked.even_incomplete {
        check_undone(&shape).map_err(refused)?;
    }
    let plan = plan_retry(&shape, &asked.mode, None).map_err(refused)?;
    if plan.is_empty() {
        return Err(self::refused(&RetryError::Nothing { id, mode: asked.mode.clone() }));
    }
    let chosen: std::collections::HashSet<_> = plan.nodes.iter().collect();
    let nodes = shape.nodes.iter().filter(|node| chosen.contains(&node.job)).map(|node| node.name.clone());
    Ok(Planned { nodes: nodes.collect(), lifts: plan.lifts })
}

pub(crate) async fn retry(ctx: &Ctx, id: GraphId, asked: Retry, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Retry)?;
    let retry = ctx.app.client.retry_graph(id).by(&ctx.user.name, checked(reason)?);
    let retry = match asked.mode {
        RetryMode::Failed => retry,
        RetryMode::From(node) => retry.from(node),
        RetryMode::All => retry.all(),
    };
    let retry = if asked.even_incomplete { retry.even_incomplete() } else { retry };
    let retried = match retry.await {
        Ok(retried) => retried,
        Err(RetryError::Store(error)) => return Err(error.into()),
        Err(other) => return Err(refused(&other)),
    };
    let nodes = if retried.nodes == 1 { "one node runs".to_owned() } else { format!("{} nodes run", retried.nodes) };
    let message = format!("{nodes} again, in generation {}", retried.generation);
    Ok(Done { id: id.to_string(), outcome: "retried", message })
}

pub(crate) async fn restart(ctx: &Ctx, id: GraphId, new: Option<GraphId>, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Retry)?;
    let restart = ctx.app.client.restart_graph(id).by(&ctx.user.name, checked(reason)?);
    let restart = new.into_iter().fold(restart, |restart, new| restart.id(new));
    match restart.await {
        Ok(new) => {
            Ok(Done { id: new.to_string(), outcome: "restarted", message: format!("once more, as graph {new}") })
        }
        Err(RestartError::UnknownGraph { id }) => Err(Problem::not_found("graph", &id.to_string())),
        Err(RestartError::Enqueue(error)) => Err(error.into()),
        Err(RestartError::Store(error)) => Err(error.into()),
        Err(other) => Err(Problem::new(Code::Conflict, other.to_string())),
    }
}

/// What there is to do about a refusal.
fn refused(error: &RetryError) -> Problem {
    let conflict = || Problem::new(Code::Conflict, error.to_string());
    match error {
        RetryError::UnknownGraph { id } => Problem::not_found("graph", &id.to_string()),
        RetryError::Graph { why: RetryRefusal::UnknownNode(_), .. } => {
            Problem::invalid(error.to_string()).help("its nodes are listed on its page")
        }
        RetryError::Graph { why: RetryRefusal::LeftUndone(_), .. } => {
            conflict().help("say that it may run even so (even_incomplete), or restart it as a new graph")
        }
        RetryError::Graph { why: RetryRefusal::Committed(_), .. } => conflict().help("restart it as a new graph"),
        RetryError::Nothing { .. } => conflict().help("retry it from a node, or all of it"),
        _ => conflict(),
    }
}
