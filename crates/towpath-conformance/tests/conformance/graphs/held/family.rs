//! What a family of graphs is made of: graphs whose nodes hold graphs or lists, drawn by chance.

use std::collections::BTreeMap;

use towpath_conformance::Chance;
use towpath_core::GraphId;

use super::super::draw;
use super::super::model::{Model, Node, Stands};

/// What the families of a test have shown.
#[derive(Debug, Default)]
pub(in super::super) struct Held {
    pub(in super::super) graphs: usize,
    pub(in super::super) lists: usize,
    pub(in super::super) woken_by_an_end: usize,
    pub(in super::super) woken_by_a_stop: usize,
    pub(in super::super) parked_on_news: usize,
    pub(in super::super) unread: usize,
    pub(in super::super) crashed_before_its_children: usize,
    pub(in super::super) crashed_after: usize,
    pub(in super::super) started_twice: usize,
    pub(in super::super) cancelled_downwards: usize,
    pub(in super::super) outlived: usize,
    pub(in super::super) ended_dead: usize,
    pub(in super::super) ended_cancelled: usize,
    pub(in super::super) undone: usize,
}

impl Held {
    /// How often what was seen least was seen.
    pub(in super::super) fn rarest(&self) -> usize {
        let Self {
            graphs,
            lists,
            woken_by_an_end,
            woken_by_a_stop,
            parked_on_news,
            unread,
            crashed_before_its_children,
            crashed_after,
            started_twice,
            cancelled_downwards,
            outlived,
            ended_dead,
            ended_cancelled,
            undone,
        } = *self;
        let waits =
            [graphs, lists, woken_by_an_end, woken_by_a_stop, parked_on_news, started_twice, cancelled_downwards];
        let ends = [unread, outlived, crashed_before_its_children, crashed_after, ended_dead, ended_cancelled, undone];
        waits.into_iter().chain(ends).min().unwrap_or_default()
    }
}

/// A graph of the family.
pub(super) struct Member {
    pub(super) id: GraphId,
    pub(super) model: Model,
    pub(super) holders: BTreeMap<usize, Holder>,
    /// The node that holds it.
    pub(super) inside: Option<(usize, usize)>,
    pub(super) is_over: bool,
}

/// A node that holds something.
pub(super) struct Holder {
    pub(super) holds: Holds,
    pub(super) place: Place,
    /// Its journal has a line.
    pub(super) is_opened: bool,
    /// Its children were asked for.
    pub(super) has_children: bool,
    /// How many arrivals there are.
    pub(super) arrived: u32,
    /// How many its worker had read when it settled last.
    pub(super) read: u32,
    /// It was told of a stop of its graph.
    pub(super) is_told: bool,
}

pub(super) enum Holds {
    /// A graph: as it was drawn, then which member it is.
    Graph { drawn: Option<(Vec<Node>, BTreeMap<usize, Holder>)>, member: Option<usize> },
    /// A job for each element of a list; the first that fails fails the node, or all are awaited.
    List { elements: Vec<Element>, collects: bool, is_cancelled: bool },
}

pub(super) struct Element {
    pub(super) stands: Stands,
    pub(super) is_asked: bool,
}

/// Where a holder stands that has begun, or is with a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// As its model says.
    Model,
    Worker,
    Parked,
    Woken,
}

/// What a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Node(usize, usize),
    Element(usize, usize, usize),
}

/// The nodes of a graph, and what some of them hold.
pub(super) fn drawn(chance: &mut Chance, depth: usize) -> (Vec<Node>, BTreeMap<usize, Holder>) {
    let count = 1 + chance.below(if depth == 0 { 6 } else { 4 });
    let mut nodes = draw::nodes(chance, &[], count);
    let mut holders = BTreeMap::new();
    for (at, node) in nodes.iter_mut().enumerate().filter(|(_, node)| node.guards.is_none()) {
        if depth < 2 && chance.percent(40) {
            node.is_run = true;
            let holds = if chance.percent(60) {
                Holds::Graph { drawn: Some(drawn(chance, depth + 1)), member: None }
            } else {
                let count = 1 + chance.below(4);
                let element = |_| Element { stands: Stands::Waiting, is_asked: false };
                let elements = (0..count).map(element).collect();
                Holds::List { elements, collects: chance.percent(50), is_cancelled: false }
            };
            let place = Place::Model;
            let holder =
                Holder { holds, place, is_opened: false, has_children: false, arrived: 0, read: 0, is_told: false };
            holders.insert(at, holder);
        }
    }
    (nodes, holders)
}

pub(super) fn graph_id(seed: u64, member: usize) -> GraphId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&seed.to_be_bytes());
    (id[8], id[12]) = (member as u8, 0x68);
    GraphId::from_bytes(id)
}
