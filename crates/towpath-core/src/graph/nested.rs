//! Graphs inside a graph: read and judged with the graph in which they stand, before anything is written.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::limits::{DEPTH, GraphLimits, remedy};
use super::{InvalidGraph, NewGraph};
use crate::builtin::{self, Each, Map, Nested};
use crate::id::GraphId;
use crate::job::NewJob;
use crate::tag;

impl NewGraph {
    /// Reads the graph that a node holds, with the id that it is to have.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json); and it names an id of its own, which follows from its node's.
    pub fn inner(text: &RawValue, id: GraphId) -> Result<Self, InvalidGraph> {
        Self::inner_at(text, id, 1, &GraphLimits::HIGHEST)
    }

    fn inner_at(text: &RawValue, id: GraphId, depth: u32, limits: &GraphLimits) -> Result<Self, InvalidGraph> {
        has_no_id(text)?;
        Self::from_json_at(text.get(), id, depth, limits)
    }
}

/// Refuses a graph in a graph that names its id, which follows from its node's.
pub(super) fn has_no_id(text: &RawValue) -> Result<(), InvalidGraph> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(default, borrow)]
        id: Option<&'a RawValue>,
    }
    if let Ok(Named { id: Some(_) }) = serde_json::from_str(text.get()) {
        let problem = "it has an `id`, which follows from the node that holds it: remove it".to_owned();
        return Err(InvalidGraph::document(problem));
    }
    Ok(())
}

/// What is wrong with what a node holds, if it is a node that holds something.
pub(super) fn check(job: &NewJob, depth: u32, limits: &GraphLimits, mut problem: impl FnMut(String)) {
    let input = &job.input;
    let graph = match job.kind.as_str() {
        builtin::GRAPH => match input.decode::<Nested>() {
            Ok(nested) => nested.graph,
            Err(e) => return problem(e.problem),
        },
        builtin::MAP => match input.decode::<Map>() {
            Ok(map) => {
                if let Err(why) = builtin::check_concurrency(map.concurrency) {
                    problem(why);
                }
                match map.each {
                    Each::Job(each) => {
                        tag::problems(&each.tags)
                            .for_each(|tag| problem(format!("what it does for an element has {tag}")));
                        return each.check().unwrap_or_else(problem);
                    }
                    Each::Graph(graph) => graph,
                }
            }
            Err(e) => return problem(e.problem),
        },
        _ => return,
    };
    let max = limits.depth;
    if depth >= max {
        let remedy = remedy(DEPTH, max as usize, "enqueue it apart");
        return problem(format!("its graph stands inside {depth} others, at most {max} are allowed{remedy}"));
    }
    let id = GraphId::from_bytes([0; 16]);
    let read = NewGraph::inner_at(&graph, id, depth + 1, limits);
    let read = read.and_then(|graph| graph.prepare_at(depth + 1, limits));
    if let Err(invalid) = read {
        invalid.problems.iter().for_each(|inner| problem(format!("in its graph: {inner}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn problems(text: &str) -> Vec<String> {
        let id = GraphId::from_bytes([7; 16]);
        let read = NewGraph::from_json(text, id).and_then(|graph| graph.prepare().map(|_| ()));
        read.err().map_or(Vec::new(), |invalid| invalid.problems.iter().map(ToString::to_string).collect())
    }

    fn holding(graph: &str) -> String {
        format!(r#"{{"name": "g", "nodes": [{{"name": "a", "graph": {graph}}}]}}"#)
    }

    #[test]
    fn what_is_wrong_with_a_graph_in_a_graph_is_said_with_the_node_that_holds_it() {
        let leaf = r#"{"name": "in", "nodes": [{"name": "x", "kind": "k"}]}"#;
        assert_eq!(problems(&holding(leaf)), Vec::<String>::new());
        let wrong = r#"{"name": "in", "nodes": [{"name": "x", "kind": "k", "after": "y"}, {"name": "z", "knd": "k"}]}"#;
        let said = problems(&holding(wrong));
        assert!(said.iter().all(|one| one.starts_with("node a: in its graph: ")), "{said:?}");
        assert!(said.iter().any(|one| one.contains("no node is named so")), "{said:?}");
        assert!(said.iter().any(|one| one.contains("unknown field `knd`")), "{said:?}");
        let named = format!(r#"{{"id": "{}", "name": "in", "nodes": []}}"#, GraphId::from_bytes([1; 16]));
        assert!(problems(&holding(&named))[0].contains("remove it"));
    }

    #[test]
    fn graphs_stand_inside_graphs_so_deep_and_no_deeper() {
        let at = |depth: usize| {
            (0..depth)
                .fold(r#"{"name": "g", "nodes": [{"name": "x", "kind": "k"}]}"#.to_owned(), |graph, _| holding(&graph))
        };
        assert_eq!(problems(&at(limits::GRAPH_DEPTH_MAX)), Vec::<String>::new());
        let said = problems(&at(limits::GRAPH_DEPTH_MAX + 1));
        assert!(said[0].contains("at most 8 are allowed"), "{said:?}");
        // A text that is deep for its own sake is refused as soon, and one with a fault on each level too.
        assert_eq!(problems(&at(4_000)).len(), 1);
        let faulty = (0..4_000).fold("1".to_owned(), |graph, _| {
            format!(r#"{{"name": "g", "x": 1, "nodes": [{{"name": "a", "graph": {graph}}}]}}"#)
        });
        assert!(problems(&faulty).len() < 50);
    }

    #[test]
    fn what_a_map_does_for_each_element_is_judged_too() {
        let map = |map: &str| format!(r#"{{"name": "g", "nodes": [{{"name": "a", "map": {map}}}]}}"#);
        assert_eq!(problems(&map(r#"{"over": "input", "each": {"kind": "k"}}"#)), Vec::<String>::new());
        for (text, said) in [
            (r#"{"over": "input", "each": {"kind": "k"}, "concurrency": 0}"#, "0 elements at once are out of range"),
            (r#"{"over": "input", "each": {"kind": "towpath.map"}}"#, "kept for the product"),
            (r#"{"over": "input", "each": {"kind": "k", "input": {"a": 1}}}"#, "`input` needs `into`"),
            (r#"{"over": "input", "each": {"graph": {"name": "in", "nodes": []}}}"#, "it has no node"),
            (r#"{"over": "input"}"#, "has no `each`"),
            (r#"{"each": {"kind": "k"}}"#, "has no `over`"),
        ] {
            let problems = problems(&map(text));
            assert!(problems.iter().any(|problem| problem.contains(said)), "{text}: {problems:?}");
        }
    }
}
