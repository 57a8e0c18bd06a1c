//! Random graphs, and their form for a store.

use towpath_conformance::Chance;
use towpath_core::{
    Condition, FailureMode, GraphId, JobId, JobRules, Kind, Label, Need, NewEdge, NewJob, NewNode, NodeName,
    RetryPolicy, RunId,
};

use super::model::{Node, On, Stands};

/// The labels that gates choose from.
pub(super) const LABELS: [&str; 3] = ["a", "b", "c"];

/// So many new nodes, whose parents are among all that are there then, and undos of some of them.
pub(super) fn nodes(chance: &mut Chance, stored: &[Node], count: usize) -> Vec<Node> {
    let known = stored.len();
    let is_undo: Vec<bool> = stored.iter().map(|node| node.guards.is_some()).collect();
    let mut nodes: Vec<Node> = Vec::new();
    for at in known..known + count {
        let name = format!("n{at}");
        let may_fail = chance.percent(12);
        let is_run = chance.percent(15);
        let mut node = Node { may_fail, is_run, ..blank(name, known) };
        if chance.percent(12) {
            spare(chance, &nodes, known, &mut node);
        } else {
            parents(chance, &is_undo, at, &mut node);
        }
        nodes.push(node);
    }
    if chance.percent(50) {
        for guarded in (known..known + count).filter(|_| chance.percent(60)).collect::<Vec<_>>() {
            let at = known + nodes.len();
            nodes.push(Node { guards: Some(guarded), ..blank(format!("n{at}"), known) });
        }
    }
    nodes
}

fn blank(name: String, write: usize) -> Node {
    let stands = Stands::Waiting;
    Node {
        name,
        parents: Vec::new(),
        behind: Vec::new(),
        at_least: None,
        may_fail: false,
        is_run: false,
        write,
        stands,
        guards: None,
        started: false,
        ahead: false,
    }
}

/// Any parents, in any way.
fn parents(chance: &mut Chance, is_undo: &[bool], at: usize, node: &mut Node) {
    let wanted = [0, 1, 1, 1, 2, 2, 3, 5][chance.below(8)];
    for _ in 0..wanted.min(at) {
        // Near ones more often: deep graphs.
        let parent = if chance.percent(60) { at - 1 - chance.below(at.min(3)) } else { chance.below(at) };
        let edge = (parent, condition(chance));
        let is_undo = is_undo.get(parent).copied().unwrap_or(false);
        if !is_undo && !node.parents.contains(&edge) {
            node.parents.push(edge);
        }
    }
    if !node.parents.is_empty() && chance.percent(15) {
        node.at_least = Some(1 + chance.below(node.parents.len()) as u32);
    }
    if node.at_least.is_none() {
        // What no end of a parent could be all of is refused.
        let edges = std::mem::take(&mut node.parents);
        for edge in edges {
            if !node.parents.iter().any(|other| other.0 == edge.0 && never_both(other.1, edge.1)) {
                node.parents.push(edge);
            }
        }
    }
}

fn never_both(a: On, b: On) -> bool {
    let others = |on| !matches!(on, On::Failed | On::Finished);
    (matches!(a, On::Failed) && others(b)) || (matches!(b, On::Failed) && others(a))
}

/// Parents that nobody else waits for, of which one is enough.
fn spare(chance: &mut Chance, nodes: &[Node], known: usize, node: &mut Node) {
    let is_parent = |at: usize| nodes.iter().any(|node| node.parents.iter().any(|(parent, _)| *parent == at));
    let free: Vec<usize> = (known..known + nodes.len()).filter(|at| !is_parent(*at)).collect();
    node.parents = free.into_iter().rev().take(2 + chance.below(2)).map(|parent| (parent, On::Succeeded)).collect();
    node.at_least = (!node.parents.is_empty()).then_some(1);
}

fn condition(chance: &mut Chance) -> On {
    match chance.below(20) {
        0..=2 => On::Finished,
        3..=5 => On::Failed,
        6..=8 => On::Joined,
        9..=12 => On::Branch(chance.below(LABELS.len()) as u8),
        _ => On::Succeeded,
    }
}

pub(super) fn job_id(graph: GraphId, at: usize) -> JobId {
    let mut id = *graph.as_bytes();
    id[14] ^= (at >> 8) as u8 ^ 0xa5;
    id[15] ^= at as u8;
    JobId::from_bytes(id)
}

/// The nodes from this place on, as a store gets them.
pub(super) fn stored(graph: GraphId, nodes: &[Node], from: usize) -> (Vec<NewNode>, Vec<NewEdge>) {
    let rules = JobRules { retry: RetryPolicy::attempts(1), crash_limit: 1, ..JobRules::default() };
    let name = |at: usize| NodeName::new(&nodes[at].name).unwrap();
    let mut edges = Vec::new();
    let mut new = Vec::new();
    for (at, node) in nodes.iter().enumerate().skip(from) {
        for (parent, on) in &node.parents {
            let condition = match on {
                On::Succeeded => Condition::Succeeded,
                On::Finished => Condition::Finished,
                On::Failed => Condition::Failed,
                On::Branch(label) => Condition::Branch(label_of(*label)),
                On::Joined => Condition::Joined,
            };
            edges.push(NewEdge { parent: name(*parent), child: name(at), condition });
        }
        let mut job = NewJob::new(job_id(graph, at), Kind::new("k").unwrap()).rules(rules.clone());
        let is_gate =
            |node: &Node| node.parents.iter().any(|(parent, on)| *parent == at && matches!(on, On::Branch(_)));
        if nodes.iter().any(is_gate) {
            job.rules.labels = (0..LABELS.len()).map(|label| label_of(label as u8)).collect();
        }
        job.run = node.is_run.then(|| RunId::new(&format!("{graph}/n{at}")).unwrap());
        let need = node.at_least.map_or(Need::All, Need::AtLeast);
        let failure = if node.may_fail { FailureMode::MayFail } else { FailureMode::Counts };
        let guards = node.guards.map(name);
        new.push(NewNode { need, failure, guards, ..NewNode::new(name(at), job) });
    }
    (new, edges)
}

pub(super) fn label_of(label: u8) -> Label {
    Label::new(LABELS[usize::from(label)]).unwrap()
}
