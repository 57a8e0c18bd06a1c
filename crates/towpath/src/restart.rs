//! Runs a graph once more, as a new graph that knows which one it repeats.

use std::future::{Future, IntoFuture};
use std::pin::Pin;

use towpath_core::store::Item;
use towpath_core::{GraphId, restart};

use crate::client::Client;
use crate::error::{Error, RestartError};

impl Client {
    /// Enqueues a graph once more as a new one: the same shape, kinds, inputs and rules, with what appends have added, and
    /// with its gates undecided. Both show the other. Await the builder to do it; it answers the new graph's id.
    ///
    /// ```
    /// # async fn f(client: towpath::Client, graph: towpath::GraphId) -> Result<(), Box<dyn std::error::Error>> {
    /// // An id drawn before makes it idempotent.
    /// let id = towpath::Client::new_graph_id();
    /// let again = client.restart_graph(graph).id(id).by("ann", "the feed was wrong").await?;
    /// println!("{}", client.wait_graph(again).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn restart_graph(&self, graph: GraphId) -> RestartBuilder<'_> {
        RestartBuilder { client: self, graph, id: None, by: ("client".to_owned(), String::new()) }
    }
}

/// A graph about to be enqueued once more. Await it.
#[must_use = "a graph is restarted when its builder is awaited"]
pub struct RestartBuilder<'c> {
    client: &'c Client,
    graph: GraphId,
    id: Option<GraphId>,
    by: (String, String),
}

impl RestartBuilder<'_> {
    /// Uses an id drawn before ([`Client::new_graph_id`]): restarted twice under it, it is one graph.
    pub fn id(mut self, id: GraphId) -> Self {
        self.id = Some(id);
        self
    }

    /// Says who wants it and why, for the audit.
    pub fn by(mut self, actor: &str, reason: &str) -> Self {
        self.by = (actor.into(), reason.into());
        self
    }

    async fn restart(self) -> Result<GraphId, RestartError> {
        let (of, id) = (self.graph, self.id.unwrap_or_else(Client::new_graph_id));
        // The old graph may have grown, or be gone, since the first time.
        if let Some(there) = self.client.inspect().graph(id).await?
            && there.line.restart_of == Some(of)
        {
            return Ok(id);
        }
        let content = self.client.store().content(of).await?.ok_or(RestartError::UnknownGraph { id: of })?;
        let graph = restart(content, id, &self.by.0, &self.by.1).map_err(Error::Graph)?;
        // It has no unique key, so no other graph can stand in its place.
        self.client.enqueue_judged(vec![Item::Graph(Box::new(graph))]).await?;
        Ok(id)
    }
}

impl<'c> IntoFuture for RestartBuilder<'c> {
    type Output = Result<GraphId, RestartError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// # Cancel safety
    /// Dropped, the new graph was enqueued or was not. Draw its id first ([`RestartBuilder::id`]) and ask again to be sure.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.restart())
    }
}
