//! How a graph grows where it is stored: which nodes an edge joins, and what an append may not do. Every store asks here.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use super::Role;
use super::limits::{EDGES, GraphLimits, NODES, remedy};
use super::prepare::{ParentRef, PreparedAppend, PreparedEdge, PreparedNode};
use crate::name::NodeName;
use crate::store::Refusal;

/// New nodes and edges with the keys that a store has given them.
#[derive(Debug)]
pub struct Wiring<'a, K> {
    /// The parent, the child, and the edge between them, in the order of the edges.
    pub edges: Vec<(K, K, &'a PreparedEdge)>,
    /// Of each new node its parents, each once, in the order of its edges; `None` for `end`, which may have as many as
    /// there are nodes and never asks for them. An undo has what it guards.
    pub parents: Vec<Option<Vec<K>>>,
    /// Of each new node the longest path to it from a root of the graph.
    pub depths: Vec<u32>,
}

impl<'a, K: Copy + Eq + Hash> Wiring<'a, K> {
    /// `new` are the keys of the nodes; `stored` those of nodes that are there, by name. The place behind the last new node is
    /// the stored `end`, and `depths` are those of the stored parents. `None` if an edge leads to a node that is neither, which a prepared graph's never does.
    pub fn of(
        nodes: &[PreparedNode],
        edges: &'a [PreparedEdge],
        new: &[K],
        stored: &HashMap<NodeName, K>,
        depths: &HashMap<K, u32>,
        end: Option<K>,
    ) -> Option<Self> {
        let mut parents: Vec<Option<Vec<K>>> =
            nodes.iter().map(|node| (!node.role.has(Role::END)).then(Vec::new)).collect();
        let mut joined = Vec::with_capacity(edges.len());
        // An edge may come twice, with two conditions.
        let mut seen = std::collections::HashSet::with_capacity(edges.len());
        for edge in edges {
            let parent = *match &edge.parent {
                ParentRef::New(place) => new.get(*place),
                ParentRef::Existing(name) => stored.get(name),
            }?;
            let child = new.get(edge.child).copied().or(end)?;
            joined.push((parent, child, edge));
            if let Some(Some(of_child)) = parents.get_mut(edge.child)
                && seen.insert((parent, child))
            {
                of_child.push(parent);
            }
        }
        for (node, parents) in nodes.iter().zip(&mut parents) {
            if let (Some(guarded), Some(parents)) = (node.guards, parents) {
                parents.push(*new.get(guarded)?);
            }
        }
        let depths = deepened(nodes, edges, |name| stored.get(name).and_then(|key| depths.get(key)).copied());
        Some(Self { edges: joined, parents, depths })
    }
}

/// The depths of new nodes below those that are stored.
fn deepened(nodes: &[PreparedNode], edges: &[PreparedEdge], stored: impl Fn(&NodeName) -> Option<u32>) -> Vec<u32> {
    let mut depths: Vec<u32> = nodes.iter().map(|node| node.depth).collect();
    if !edges.iter().any(|edge| matches!(edge.parent, ParentRef::Existing(_))) {
        return depths;
    }
    // Parents lie above their children within the write too, so that is an order in which to go through them.
    let mut ordered: Vec<&PreparedEdge> = edges.iter().filter(|edge| edge.child < nodes.len()).collect();
    ordered.sort_by_key(|edge| match &edge.parent {
        ParentRef::Existing(_) => None,
        ParentRef::New(at) => Some(nodes[*at].depth),
    });
    for edge in ordered {
        let above = match &edge.parent {
            ParentRef::Existing(name) => stored(name).unwrap_or_default(),
            ParentRef::New(at) => depths[*at],
        };
        depths[edge.child] = depths[edge.child].max(above + 1);
    }
    for (at, node) in nodes.iter().enumerate() {
        if let Some(guarded) = node.guards {
            depths[at] = depths[guarded];
        }
    }
    depths
}

impl PreparedAppend {
    /// The names of nodes that must be there, each once.
    pub fn parent_names(&self) -> BTreeSet<&NodeName> {
        let existing = self.edges().iter().filter_map(|edge| match &edge.parent {
            ParentRef::Existing(name) => Some(name),
            ParentRef::New(_) => None,
        });
        existing.collect()
    }

    /// How many of its edges lead to the graph's stored `end`.
    pub fn edges_to_end(&self) -> u32 {
        self.edges().iter().filter(|edge| edge.child == self.nodes().len()).count() as u32
    }

    /// The refusal if names of its nodes are taken.
    pub fn refuse_taken(&self, is_taken: impl Fn(&NodeName) -> bool) -> Option<Refusal> {
        let names: Vec<NodeName> =
            self.nodes().iter().map(|node| &node.name).filter(|name| is_taken(name)).cloned().collect();
        (!names.is_empty()).then(|| Refusal::NamesTaken { graph: self.graph(), names })
    }

    /// The refusal if parents of its nodes are not there, named in the order of its edges.
    pub fn refuse_unknown(&self, is_there: impl Fn(&NodeName) -> bool) -> Option<Refusal> {
        let mut names: Vec<NodeName> = Vec::new();
        for edge in self.edges() {
            if let ParentRef::Existing(name) = &edge.parent
                && !is_there(name)
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        (!names.is_empty()).then(|| Refusal::UnknownParents { graph: self.graph(), names })
    }

    /// The refusal if a graph that has so many nodes (without `end`) and edges (with those to `end`) would have too many.
    pub fn refuse_too_large(&self, nodes: u32, edges: u32) -> Option<Refusal> {
        let over = |have: usize, what: &'static str, max: usize| {
            let remedy = remedy(what, max, "begin another graph");
            let problem =
                format!("graph {}: it would have {have} {what}, at most {max} are allowed{remedy}", self.graph());
            (have > max).then_some(Refusal::Invalid { problem })
        };
        let GraphLimits { nodes: nodes_max, edges: edges_max, .. } = *self.limits();
        let nodes = nodes as usize + self.nodes().len();
        let edges = edges as usize + self.edges().len();
        // A node has at most one edge to `end`.
        over(nodes, NODES, nodes_max as usize).or_else(|| over(edges, EDGES, edges_max as usize + nodes_max as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{NewAppend, NewEdge, NewNode};
    use crate::id::{GraphId, JobId};
    use crate::job::NewJob;
    use crate::name::Kind;

    fn append() -> PreparedAppend {
        let name = |name: &str| NodeName::from_stored(name);
        let node = |at: u8| {
            let job = NewJob::new(JobId::from_bytes([at; 16]), Kind::from_stored("echo"));
            NewNode::new(name(&format!("new{at}")), job)
        };
        let edge = |parent: &str, child: &str| NewEdge::new(name(parent), name(child));
        let edges = vec![edge("old", "new1"), edge("other", "new1"), edge("new1", "new2"), edge("old", "new2")];
        NewAppend { graph: GraphId::from_bytes([9; 16]), nodes: vec![node(1), node(2)], edges }.prepare().unwrap()
    }

    #[test]
    fn new_nodes_are_wired_to_each_other_to_what_is_stored_and_to_the_end() {
        let append = append();
        let stored = HashMap::from([(NodeName::from_stored("old"), 10), (NodeName::from_stored("other"), 11)]);
        let depths = HashMap::from([(10, 0), (11, 4)]);
        let wiring = Wiring::of(append.nodes(), append.edges(), &[1, 2], &stored, &depths, Some(99)).unwrap();
        assert_eq!(wiring.depths, [5, 6], "the longest path counts");
        assert_eq!(wiring.parents, [Some(vec![10, 11]), Some(vec![1, 10])]);
        let to_end = wiring.edges.iter().filter(|(_, child, _)| *child == 99).count();
        assert_eq!(to_end as u32, append.edges_to_end());
        assert!(Wiring::of(append.nodes(), append.edges(), &[1, 2], &HashMap::new(), &depths, Some(99)).is_none());
    }

    #[test]
    fn an_append_is_refused_for_what_is_taken_unknown_or_too_much() {
        let append = append();
        assert_eq!(append.refuse_taken(|_| false), None);
        assert!(matches!(append.refuse_taken(|name| name.as_str() == "new2"),
            Some(Refusal::NamesTaken { names, .. }) if names.len() == 1));
        assert!(matches!(append.refuse_unknown(|name| name.as_str() == "other"),
            Some(Refusal::UnknownParents { names, .. }) if names == [NodeName::from_stored("old")]));
        let most = GraphLimits::default().nodes - 2;
        assert_eq!(append.refuse_too_large(most, 0), None);
        assert!(append.refuse_too_large(most + 1, 0).is_some());
        let within = |limits: GraphLimits| append.clone().within(&limits);
        let roomy = within(GraphLimits::default().nodes(most + 3)).unwrap();
        assert_eq!(roomy.refuse_too_large(most + 1, 0), None);
        let narrow = within(GraphLimits::default().nodes(5).edges(9)).unwrap();
        let said = |nodes, edges| narrow.refuse_too_large(nodes, edges).map(|refusal| refusal.to_string());
        assert_eq!(said(3, 9), None, "one of its edges leads to the end");
        assert!(
            said(4, 0)
                .unwrap()
                .contains("6 nodes, at most 5 are allowed: begin another graph, or raise the graph limit `nodes`")
        );
        assert!(said(3, 10).unwrap().contains("15 edges, at most 14 are allowed"));
        let refused = within(GraphLimits::default().nodes(1).edges(3).name_bytes(3)).unwrap_err().to_string();
        for problem in
            ["it has 2 nodes, at most 1 ", "it has 4 edges, at most 3 ", "node new2: its name has 4 bytes, at most 3 "]
        {
            assert!(refused.contains(problem), "{refused}");
        }
    }
}
