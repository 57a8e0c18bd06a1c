//! Folds nodes that are alike into one: a fan of ten thousand is three lines.

use std::collections::{BTreeMap, HashMap};

use super::{Drawn, Line, Picture, Stands};
use crate::lifecycle::State;

impl Picture {
    /// The same graph with siblings folded: nodes of one kind and role whose edges lead from and to the same nodes, if
    /// there are at least so many of them.
    pub fn folded(&self, at_least: usize) -> Self {
        let groups = self.groups();
        let folds: Vec<&Vec<usize>> = groups.values().filter(|group| group.len() >= at_least.max(2)).collect();
        if folds.is_empty() {
            return self.clone();
        }
        // Each node's stand-in; a fold is stood in for by its first.
        let mut stand_in: Vec<usize> = (0..self.nodes.len()).collect();
        for fold in &folds {
            for at in fold.iter() {
                stand_in[*at] = fold[0];
            }
        }
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut nodes = Vec::new();
        for at in (0..self.nodes.len()).filter(|at| stand_in[*at] == *at) {
            places.insert(at, nodes.len());
            nodes.push(self.nodes[at].clone());
        }
        for fold in folds {
            if let (Some(place), Some(last)) = (places.get(&fold[0]), fold.last()) {
                nodes[*place].last = Some(self.nodes[*last].name.clone());
                nodes[*place].states = self.states(fold);
            }
        }
        let mut lines: Vec<Line> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for line in &self.lines {
            // Every node has a stand-in, and every stand-in a place.
            let place = |at: usize| places.get(&stand_in[at]).copied().unwrap_or_default();
            let line = Line { parent: place(line.parent), child: place(line.child), asks: line.asks.clone() };
            if seen.insert(line.clone()) {
                lines.push(line);
            }
        }
        Self { nodes, lines }
    }

    /// Nodes that are alike, in their order.
    fn groups(&self) -> BTreeMap<Alike<'_>, Vec<usize>> {
        let mut edges: Vec<Vec<(bool, usize, &str)>> = vec![Vec::new(); self.nodes.len()];
        for line in &self.lines {
            edges[line.parent].push((false, line.child, &line.asks));
            edges[line.child].push((true, line.parent, &line.asks));
        }
        let mut groups: BTreeMap<Alike<'_>, Vec<usize>> = BTreeMap::new();
        for (at, mut edges) in edges.into_iter().enumerate() {
            edges.sort_unstable();
            let Drawn { kind, role, at_least, .. } = &self.nodes[at];
            groups.entry((kind, role.bits(), *at_least, edges)).or_default().push(at);
        }
        groups
    }

    /// How many of these nodes stand how, in the order of the lifecycle.
    fn states(&self, nodes: &[usize]) -> Vec<Stands> {
        let mut counts: Vec<Stands> = Vec::new();
        for state in State::ALL {
            let of_state = nodes.iter().flat_map(|at| &self.nodes[*at].states).filter(|stands| stands.state == state);
            for stands in of_state {
                match counts.iter_mut().find(|known| known.word == stands.word) {
                    Some(known) => known.nodes += stands.nodes,
                    None => counts.push(*stands),
                }
            }
        }
        counts
    }
}

/// Kind, role, need, and edges: whether from a parent, the other node, what is asked.
type Alike<'a> = (&'a str, i16, Option<u32>, Vec<(bool, usize, &'a str)>);
