//! The `undo` of a node: a command or a call that reverses what the node has done, as a node of its own without edges.

use towpath::RetryPolicy;
use towpath::core::defaults;

use super::{DraftNode, NodeReader};
use crate::flow::read::{Place, wrong_type};

/// The fields of an undo.
pub(crate) const FIELDS: [&str; 8] = ["exec", "shell", "env", "dir", "http", "queue", "retry", "timeout"];

impl NodeReader<'_> {
    /// The undo of a node. It works where the node does, in its `dir` and its `queue`, unless it says otherwise.
    pub(super) fn undo(&mut self, of: &DraftNode, value: Place<'_, '_>) -> Option<DraftNode> {
        let Some(table) = value.get_ref().as_table() else {
            let problem = wrong_type(&format!("the undo of node `{}`", of.name), "a table", value);
            self.problem(problem.help("write undo = { exec = [\"program\", \"argument\"] }"));
            return None;
        };
        let mut undo = DraftNode::new(undo_name(&of.name), value.span(), &of.dir);
        undo.guards = Some(of.name.clone());
        undo.queue.clone_from(&of.queue);
        undo.retry = RetryPolicy::attempts(defaults::FLOW_UNDO_ATTEMPTS_MAX);
        self.fill(&mut undo, table, "an undo", &FIELDS);
        Some(undo)
    }
}

/// The name of the undo of the node that is named so.
pub(in crate::flow) fn undo_name(node: &str) -> String {
    format!("undo {node}")
}
