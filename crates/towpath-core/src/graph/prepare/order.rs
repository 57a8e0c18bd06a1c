//! What follows from the edges: how deep nodes lie, and what a graph that fails fast goes by.

use super::{ParentRef, PreparedEdge, PreparedNode};
use crate::graph::{Condition, Role};

/// How deep each node lies below those without parents among the new ones; an undo as deep as what it guards. `order` has
/// every node after its parents.
pub(super) fn depths(edges: &[PreparedEdge], order: &[usize], guards: &[Option<usize>]) -> Vec<u32> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); guards.len()];
    for edge in edges {
        if let ParentRef::New(parent) = edge.parent {
            children[parent].push(edge.child);
        }
    }
    let mut depths = vec![0_u32; guards.len()];
    for at in order {
        for child in &children[*at] {
            depths[*child] = depths[*child].max(depths[*at] + 1);
        }
    }
    for (at, guarded) in guards.iter().enumerate() {
        if let Some(guarded) = guarded {
            depths[at] = depths[*guarded];
        }
    }
    depths
}

/// Marks what a graph that fails fast goes by: which nodes' failures stop it, and which nodes run all the same.
pub(super) fn fail_fast(nodes: &mut [PreparedNode], edges: &[PreparedEdge]) {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut handlers: Vec<usize> = Vec::new();
    let of_failure = [Condition::Failed.table(), Condition::Finished.table()];
    // The edges to `end`, whose place is past the last node, ask for any end and mean nothing here.
    for edge in edges.iter().filter(|edge| edge.child < nodes.len()) {
        if let ParentRef::New(parent) = edge.parent {
            children[parent].push(edge.child);
        }
        if of_failure.contains(&edge.verdicts) {
            handlers.push(edge.child);
        }
    }
    while let Some(at) = handlers.pop() {
        if !nodes[at].role.has(Role::HANDLER) {
            nodes[at].role = nodes[at].role.with(Role::HANDLER);
            handlers.extend(&children[at]);
        }
    }
    for node in nodes {
        let counts = [Role::MAY_FAIL, Role::SPARE, Role::UNDO].iter().all(|mark| !node.role.has(*mark));
        node.job.rules.fail_fast = counts;
    }
}
