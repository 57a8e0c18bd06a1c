//! Retries a graph in place: what failed runs again, and what succeeded stays.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use towpath_core::store::Changed;
use towpath_core::{
    GraphId, JobId, NodeName, Payload, RetryMode, RetryRefusal, Retrying, Store, begin_retry, check_undone, defaults,
    end_retry, limits, plan_retry, rearm,
};

use crate::client::Client;
use crate::error::RetryError;

impl Client {
    /// Runs a graph again in place: by default its nodes that are dead, quarantined or cancelled, or that were undone, with
    /// those below that were skipped because of them. Outputs of the others stay; a cancel is lifted; the graph's generation rises. Await the
    /// builder to do it.
    ///
    /// ```
    /// # async fn f(client: towpath::Client, graph: towpath::GraphId) -> Result<(), Box<dyn std::error::Error>> {
    /// let retried = client.retry_graph(graph).by("ann", "the disk is full no more").await?;
    /// println!("{} nodes run again, in generation {}", retried.nodes, retried.generation);
    /// let from = towpath::NodeName::new("charge")?;
    /// client.retry_graph(graph).from(from).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry_graph(&self, graph: GraphId) -> RetryBuilder<'_> {
        let by = ("client".to_owned(), String::new());
        RetryBuilder { client: self, graph, mode: RetryMode::Failed, accepts: false, edit: None, by }
    }
}

/// What a retry of a graph came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retried {
    /// The generation that has begun, from 2.
    pub generation: u32,
    /// How many nodes wait again, or run.
    pub nodes: u32,
}

/// A graph about to be retried. Await it.
#[must_use = "a graph is retried when its builder is awaited"]
pub struct RetryBuilder<'c> {
    client: &'c Client,
    graph: GraphId,
    mode: RetryMode,
    accepts: bool,
    edit: Option<(JobId, Payload)>,
    by: (String, String),
}

impl RetryBuilder<'_> {
    /// Retries this node and everything below it, however they ended.
    pub fn from(mut self, node: NodeName) -> Self {
        self.mode = RetryMode::From(node);
        self
    }

    /// Retries every node that has ended.
    pub fn all(mut self) -> Self {
        self.mode = RetryMode::All;
        self
    }

    /// Retries it also where an undo has died, was set aside or was cancelled: what that was to reverse may still stand, and
    /// the nodes run again all the same.
    pub fn even_incomplete(mut self) -> Self {
        self.accepts = true;
        self
    }

    /// Says who does it and why, for the audit.
    pub fn by(mut self, actor: &str, reason: &str) -> Self {
        self.by = (actor.into(), reason.into());
        self
    }

    /// Gives one of the nodes another input, as the retry begins.
    pub(crate) fn edit(mut self, job: JobId, input: Payload) -> Self {
        self.edit = Some((job, input));
        self
    }
}

impl<'c> IntoFuture for RetryBuilder<'c> {
    type Output = Result<Retried, RetryError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// # Cancel safety
    /// Dropped, the retry may have begun and holds the graph back; asking again carries it on, and workers do after 30 s.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { retry(self).await })
    }
}

/// Retries a graph, once a retry that is under way, for others of its nodes perhaps, is over.
async fn retry(asked: RetryBuilder<'_>) -> Result<Retried, RetryError> {
    let RetryBuilder { client, graph: id, mode, accepts, edit, by } = asked;
    let (store, by) = (client.store(), &by);
    loop {
        let shape = store.retry_view(id).await?.ok_or(RetryError::UnknownGraph { id })?;
        if let Some(under_way) = &shape.retrying {
            let is_the_same = under_way.mode == mode && edit.is_none();
            let retried = carry_on(store, id, by).await?;
            if is_the_same && let Some(retried) = retried {
                return Ok(retried);
            }
            continue;
        }
        let checked = if accepts { Ok(()) } else { check_undone(&shape) };
        let plan =
            checked.and_then(|()| plan_retry(&shape, &mode, None)).map_err(|why| RetryError::Graph { id, why })?;
        if plan.is_empty() {
            return Err(RetryError::Nothing { id, mode });
        }
        let order = begin_retry(id, mode.clone(), edit.clone(), &by.0, &by.1);
        match store.apply(order).await?.changes.first() {
            // Somebody has begun another one since the look.
            Some(Changed::Retrying { retrying, .. }) if retrying.mode != mode => continue,
            Some(Changed::Retrying { .. }) => {}
            // They have begun since the look.
            Some(Changed::Undoing) => return Err(RetryError::Graph { id, why: RetryRefusal::Undoing }),
            Some(Changed::KeyTaken { by }) => return Err(RetryError::GraphKeyTaken { id, by: *by }),
            _ => return Err(RetryError::UnknownGraph { id }),
        }
        return carry_on(store, id, by).await?.ok_or(RetryError::CutShort { id });
    }
}

/// Looks at a retry that others carry out too, and in which none was left for this one.
const IDLE_MAX: u32 = 10;

/// Carries a retry to its end that has begun, perhaps elsewhere, and perhaps together with others. `None` if there is none, or
/// somebody has lifted it.
///
/// # Errors
/// The store could not do it; the graph is held back until somebody carries on.
pub(crate) async fn carry_on(
    store: &Arc<dyn Store>,
    id: GraphId,
    (actor, reason): &(String, String),
) -> Result<Option<Retried>, RetryError> {
    let (mut begun, mut idle) = (None, 0);
    loop {
        let Some(shape) = store.retry_view(id).await? else { return Err(RetryError::UnknownGraph { id }) };
        let begun = *begun.get_or_insert(shape.generation);
        let Some(Retrying { mode, since }) = &shape.retrying else {
            // Who was quicker has ended it.
            let is_over = shape.generation == begun + 1;
            return Ok(is_over.then_some(Retried { generation: shape.generation, nodes: shape.rearmed }));
        };
        if shape.generation != begun {
            return Ok(None);
        }
        // What has come in the way since it began is not retried; the graph goes on all the same.
        let planned = plan_retry(&shape, mode, Some(*since)).map_err(|why| RetryError::Graph { id, why });
        let mut moved = 0;
        if let Ok(plan) = &planned {
            for order in rearm(id, begun, plan, actor, reason) {
                match store.apply(order).await?.changes.first() {
                    Some(Changed::Rearmed { nodes }) => moved += nodes,
                    _ => break,
                }
            }
        }
        // Where others had them first, there may be more to find.
        let is_done = planned.as_ref().map_or(true, |plan| plan.nodes.is_empty());
        idle += u32::from(moved == 0);
        if is_done || idle > IDLE_MAX {
            store.apply(end_retry(id, begun, actor, reason)).await?;
            planned?;
        }
    }
}

/// Carries on retries that nobody has carried to their end, and those that the graphs' own rules have put off until now.
/// Answers how long it may take until there is more to do.
pub(crate) async fn carry_on_due(store: &Arc<dyn Store>) -> Duration {
    let (graphs, next) = match store.retries(limits::RETRIES_LOOK_MAX).await {
        Ok(due) => (due.graphs, due.next),
        Err(error) => {
            tracing::warn!(%error, "cannot look for retries of graphs; trying again");
            return defaults::RETRIES_LOOK;
        }
    };
    let is_full = graphs.len() >= limits::RETRIES_LOOK_MAX as usize;
    let mut is_stuck = false;
    let by = (defaults::ACTOR.to_owned(), "a retry that was due".to_owned());
    for graph in graphs {
        match carry_on(store, graph, &by).await {
            Ok(Some(retried)) => {
                tracing::info!(%graph, generation = retried.generation, nodes = retried.nodes, "retried a graph");
            }
            Ok(None) | Err(RetryError::UnknownGraph { .. }) => {}
            Err(error) => {
                is_stuck = true;
                tracing::warn!(%graph, %error, "cannot carry a retry on; trying again");
            }
        }
    }
    match next {
        // There may be more that is due.
        _ if is_full && !is_stuck => Duration::ZERO,
        next => next.map_or(defaults::RETRIES_LOOK, |next| next.min(defaults::RETRIES_LOOK)),
    }
}
