//! Arms side by side that begin after one node and come together again.

use std::fmt;

use super::{Edge, Node, Parents};
use crate::job::Job;

/// Arms that run side by side. Each begins after the same node; what comes [`then`](Self::then) waits for all.
#[must_use = "add arms, then what comes after them"]
pub struct Parallel<'g, J> {
    from: Node<'g, J>,
    pub(super) lasts: Vec<Edge<'g>>,
}

impl<'g, J> Parallel<'g, J> {
    pub(super) fn new(from: Node<'g, J>) -> Self {
        Self { from, lasts: Vec::new() }
    }

    /// Adds an arm. It is given the node before, and answers what the node after is to wait for: its last node, an
    /// edge such as `last.finished()`, or several.
    pub fn arm<P: Parents<'g>>(mut self, arm: impl FnOnce(Node<'g, J>) -> P) -> Self {
        arm(self.from).edges(&mut self.lasts);
        self
    }

    /// Adds an arm for each of these.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "work")] struct Work;
    /// let graph = Graph::builder("pages");
    /// graph.node("split", &Work).parallel().arms(1..=10, |split, page| split.then(format!("page-{page}"), &Work)).then("bind", &Work);
    /// assert_eq!(graph.build()?.nodes().len(), 12);
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn arms<T, P: Parents<'g>>(
        mut self,
        each: impl IntoIterator<Item = T>,
        mut arm: impl FnMut(Node<'g, J>, T) -> P,
    ) -> Self {
        for one in each {
            arm(self.from, one).edges(&mut self.lasts);
        }
        self
    }

    /// Adds a node that waits for all arms; without any it comes right after the node before.
    pub fn then<C: Job>(self, name: impl AsRef<str>, job: &C) -> Node<'g, C> {
        let node = self.from.graph.node(name, job);
        if self.lasts.is_empty() { node.after(self.from) } else { node.after(self) }
    }
}

impl<J> fmt::Debug for Parallel<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parallel").field("from", &self.from).field("lasts", &self.lasts).finish()
    }
}
