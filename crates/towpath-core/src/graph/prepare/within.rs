//! What is prepared, judged by other limits: a graph is checked where it is made, and how large it may be is known to who
//! enqueues it.

use super::{PreparedAppend, PreparedGraph, PreparedNode};
use crate::graph::{GraphLimits, GraphProblem, InvalidGraph};

impl PreparedGraph {
    /// The same graph, judged by other limits than those that it was prepared within.
    ///
    /// # Errors
    /// Everything that is too much.
    pub fn within(mut self, limits: &GraphLimits) -> Result<Self, InvalidGraph> {
        if self.limits == *limits {
            return Ok(self);
        }
        // The last node is `end`.
        let end = self.nodes.len().saturating_sub(1);
        let edges = self.edges.iter().filter(|edge| edge.child < end).count();
        let mut problems = judged(limits, &self.nodes[..end], edges);
        problems.extend(self.input.as_ref().and_then(|input| limits.input(input)));
        if !problems.is_empty() {
            return Err(InvalidGraph { graph: self.name.to_string(), problems });
        }
        self.limits = *limits;
        Ok(self)
    }
}

impl PreparedAppend {
    /// The same nodes, judged by other limits than those that they were prepared within. The store judges by them too what
    /// the graph would come to.
    ///
    /// # Errors
    /// Everything that is too much.
    pub fn within(mut self, limits: &GraphLimits) -> Result<Self, InvalidGraph> {
        if self.limits != *limits {
            let edges = self.edges.iter().filter(|edge| edge.child < self.nodes.len()).count();
            let problems = judged(limits, &self.nodes, edges);
            if !problems.is_empty() {
                return Err(InvalidGraph { graph: self.graph.to_string(), problems });
            }
            self.limits = *limits;
        }
        Ok(self)
    }
    /// What the graph may come to.
    pub fn limits(&self) -> &GraphLimits {
        &self.limits
    }
}

/// What is too much about nodes that are prepared.
fn judged(limits: &GraphLimits, nodes: &[PreparedNode], edges: usize) -> Vec<GraphProblem> {
    let mut problems = limits.size(nodes.len(), edges);
    for PreparedNode { name, job, .. } in nodes {
        limits.node(name, job, 0, |problem| problems.push(GraphProblem::Job(name.clone(), problem)));
    }
    problems
}
