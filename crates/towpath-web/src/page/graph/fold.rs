//! Which nodes are drawn: siblings that are alike become one box, or only what failed and what lies above it is left.

use std::collections::{BTreeMap, HashMap};

use towpath::core::State;
use towpath::core::store::GraphDetail;

/// So many siblings that are alike are folded.
const WIDE: usize = 6;

/// A box: one node, or several that are alike.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Places in the graph's list of nodes, at least one.
    pub(super) nodes: Vec<usize>,
}

/// What a line between two boxes stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Link {
    /// The edge at this place in the graph's list.
    Edge(usize),
    /// The child is the undo of the parent.
    Undo,
}

/// What is drawn.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) groups: Vec<Group>,
    /// Places of groups, with a link that stands for all between them.
    pub(super) edges: Vec<(usize, usize, Link)>,
}

/// Parents and children of a node, each with the number of what its edge asks for.
type Around = (Vec<(usize, usize)>, Vec<(usize, usize)>);

/// Every node by itself.
pub(super) fn all(detail: &GraphDetail) -> Folded {
    assemble(detail, (0..detail.nodes.len()).map(|node| vec![node]).collect())
}

/// What failed, and all that lies above it.
pub(super) fn failed(detail: &GraphDetail) -> Folded {
    let links = links(detail);
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); detail.nodes.len()];
    links.iter().for_each(|&(parent, child, _)| above[child].push(parent));
    let is_failed = |state: State| matches!(state, State::Ended(end) if end.is_failure());
    let mut open: Vec<usize> = (0..detail.nodes.len()).filter(|at| is_failed(detail.nodes[*at].state)).collect();
    let mut kept = vec![false; detail.nodes.len()];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut kept[node], true) {
            open.extend(&above[node]);
        }
    }
    assemble(detail, (0..detail.nodes.len()).filter(|node| kept[*node]).map(|node| vec![node]).collect())
}

/// Folds siblings with the same parents, children, conditions, kind and role; `open` names a node whose group is not.
pub(super) fn fold(detail: &GraphDetail, open: &str) -> Folded {
    let mut around: Vec<Around> = vec![Around::default(); detail.nodes.len()];
    let mut asks: HashMap<Option<(i32, Option<&str>)>, usize> = HashMap::new();
    for (parent, child, link) in links(detail) {
        let known = asks.len();
        let asked = match link {
            Link::Edge(edge) => {
                let edge = &detail.edges[edge];
                Some((edge.verdicts.bits(), edge.label.as_ref().map(|label| label.as_str())))
            }
            Link::Undo => None,
        };
        let ask = *asks.entry(asked).or_insert(known);
        around[child].0.push((parent, ask));
        around[parent].1.push((child, ask));
    }
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, (node, around)) in detail.nodes.iter().zip(&mut around).enumerate() {
        around.0.sort_unstable();
        around.1.sort_unstable();
        // Roots and lone nodes are siblings too, of nothing.
        alike.entry((node.kind.as_str(), node.role.bits(), &*around)).or_default().push(at);
    }
    let is_open = |nodes: &[usize]| nodes.iter().any(|at| detail.nodes[*at].name.as_str() == open);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for nodes in alike.into_values() {
        if nodes.len() < WIDE || is_open(&nodes) {
            groups.extend(nodes.into_iter().map(|node| vec![node]));
        } else {
            groups.push(nodes);
        }
    }
    groups.sort_unstable_by_key(|nodes| nodes[0]);
    assemble(detail, groups)
}

fn assemble(detail: &GraphDetail, groups: Vec<Vec<usize>>) -> Folded {
    let mut group_of = vec![None; detail.nodes.len()];
    for (at, nodes) in groups.iter().enumerate() {
        nodes.iter().for_each(|node| group_of[*node] = Some(at));
    }
    let mut edges: BTreeMap<(usize, usize), Link> = BTreeMap::new();
    for (parent, child, link) in links(detail) {
        if let (Some(parent), Some(child)) = (group_of[parent], group_of[child]) {
            edges.entry((parent, child)).or_insert(link);
        }
    }
    Folded {
        groups: groups.into_iter().map(|nodes| Group { nodes }).collect(),
        edges: edges.into_iter().map(|((parent, child), link)| (parent, child, link)).collect(),
    }
}

/// Edges by the places of their nodes, then undos beside what they undo.
fn links(detail: &GraphDetail) -> Vec<(usize, usize, Link)> {
    let places: HashMap<&str, usize> =
        detail.nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
    let link = |(at, edge): (usize, &towpath::inspect::EdgeLine)| {
        Some((*places.get(edge.parent.as_str())?, *places.get(edge.child.as_str())?, Link::Edge(at)))
    };
    let undo = |(at, node): (usize, &towpath::inspect::NodeLine)| {
        let guarded = *places.get(node.guards.as_ref()?.as_str())?;
        Some((guarded, at, Link::Undo))
    };
    let undos = detail.nodes.iter().enumerate().filter_map(undo);
    detail.edges.iter().enumerate().filter_map(link).chain(undos).collect()
}
