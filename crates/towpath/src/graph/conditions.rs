//! Whether the expressions of a graph can be read, and name only what is there: judged before anything is written.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use towpath_core::builtin::{self, Each, Scope};
use towpath_core::{
    GraphId, GraphLimits, GraphProblem, GraphText, InvalidGraph, NewAppend, NewEdge, NewGraph, NewNode, NodeName,
    PreparedAppend, PreparedGraph, limits,
};

use crate::builtin::{Path, Root};

/// Checks a graph with its expressions, and gives it the form that stores write.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn prepare(graph: NewGraph, limits: &GraphLimits) -> Result<PreparedGraph, InvalidGraph> {
    let mut wrong = check(&graph.nodes, &graph.edges);
    let name = graph.name.clone();
    match graph.prepare_within(limits) {
        Ok(prepared) if wrong.is_empty() => Ok(prepared),
        Ok(_) => Err(InvalidGraph { graph: name.to_string(), problems: wrong }),
        Err(InvalidGraph { graph, mut problems }) => {
            problems.append(&mut wrong);
            Err(InvalidGraph { graph, problems })
        }
    }
}

/// Checks a graph that is written as JSON with its expressions, and gives it the form that stores write; its edges as they
/// were written.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn prepare_text(
    text: &str,
    id: GraphId,
    limits: &GraphLimits,
) -> Result<(PreparedGraph, Vec<NewEdge>), InvalidGraph> {
    let text = GraphText::read(text, id)?;
    let (wrong, edges) = (of_text(&text), text.graph.edges.clone());
    Ok((text.prepare_within(limits, wrong)?, edges))
}

/// What is wrong with the expressions of a graph that was read as far as it goes.
pub(crate) fn of_text(text: &GraphText) -> Vec<GraphProblem> {
    check_at(&text.graph.nodes, &text.graph.edges, &text.partial, 0)
}

/// Checks nodes for a stored graph with their expressions, and gives them the form that stores write.
///
/// # Errors
/// Everything that is wrong with them.
pub(crate) fn prepare_append(append: NewAppend, limits: &GraphLimits) -> Result<PreparedAppend, InvalidGraph> {
    let mut wrong = check(&append.nodes, &append.edges);
    let graph = append.graph.to_string();
    match append.prepare_within(limits) {
        Ok(prepared) if wrong.is_empty() => Ok(prepared),
        Ok(_) => Err(InvalidGraph { graph, problems: wrong }),
        Err(InvalidGraph { graph, mut problems }) => {
            problems.append(&mut wrong);
            Err(InvalidGraph { graph, problems })
        }
    }
}

/// What is wrong with the expressions of these nodes, and of the graphs that they hold. A parent that is not among them may
/// be there already: what it is named is not judged.
pub(crate) fn check(nodes: &[NewNode], edges: &[NewEdge]) -> Vec<GraphProblem> {
    check_at(nodes, edges, &BTreeSet::new(), 0)
}

/// `partial` are nodes of which not all is known: whom they stand below, for one.
fn check_at(nodes: &[NewNode], edges: &[NewEdge], partial: &BTreeSet<NodeName>, depth: usize) -> Vec<GraphProblem> {
    let has_expressions = |node: &&NewNode| node.job.kind.is_reserved();
    let asking: Vec<&NewNode> = nodes.iter().filter(has_expressions).collect();
    if asking.is_empty() {
        return Vec::new();
    }
    let above = Above::new(nodes, edges, partial);
    asking.into_iter().flat_map(|node| check_node(node, &above, partial.contains(&node.name), depth)).collect()
}

fn check_node(node: &NewNode, above: &Above<'_>, is_partial: bool, depth: usize) -> Vec<GraphProblem> {
    let held = match Held::of(node) {
        Ok(held) => held,
        Err(problem) => return vec![GraphProblem::Job(node.name.clone(), problem)],
    };
    let mut problems = Vec::new();
    // What is empty or too long was said when the text was read.
    let is_said = |text: &&Text| is_partial && builtin::check_expression(&text.text).is_err();
    for Text { what, text, of_element } in held.texts.iter().filter(|text| !is_said(text)) {
        let mut problem = |problem: String| {
            problems.push(GraphProblem::Job(node.name.clone(), format!("{what}: {problem}")));
        };
        let Named { nodes, params, each } = match named(text, node.job.kind.as_str() == builtin::GATE) {
            Ok(named) => named,
            Err(e) => {
                problem(e);
                continue;
            }
        };
        if each && !of_element {
            problem(format!("`{text}` reads `each`, which only what is done for an element of a list may"));
        }
        for name in &nodes {
            if !above.has(node.name.as_str(), &format!("{}{name}", held.scope.prefix)) {
                problem(format!("`{text}` reads the node {name}, which is not above it: add an edge, or read another"));
            }
        }
        for name in params.iter().filter(|name| !is_partial && !held.scope.has_param(name)) {
            problem(format!("`{text}` reads the parameter {name}, which the graph does not have"));
        }
    }
    // What is no graph, or stands too deep, is said by who prepares it.
    let id = GraphId::from_bytes([0; 16]);
    if depth < limits::GRAPH_DEPTH_CEILING
        && let Some(graph) = held.graph
        && let Ok(GraphText { graph: inner, partial, .. }) = GraphText::inner(&graph, id)
    {
        let wrong = check_at(&inner.nodes, &inner.edges, &partial, depth + 1);
        problems.extend(wrong.into_iter().map(|p| GraphProblem::Job(node.name.clone(), format!("in its graph: {p}"))));
    }
    problems
}

/// What a built-in node holds that is to be judged here.
#[derive(Default)]
struct Held {
    texts: Vec<Text>,
    scope: Scope,
    graph: Option<Box<RawValue>>,
}

/// An expression of a node.
struct Text {
    /// What it is called.
    what: String,
    text: String,
    /// Whether it sees the element of a list.
    of_element: bool,
}

/// What an expression names.
#[derive(Default)]
struct Named {
    nodes: Vec<String>,
    params: Vec<String>,
    each: bool,
}

impl Held {
    fn of(node: &NewNode) -> Result<Self, String> {
        let input = &node.job.input;
        Ok(match node.job.kind.as_str() {
            builtin::GATE => {
                let builtin::Gate { branches, scope } = input.decode().map_err(|e| e.problem)?;
                let branches = branches.into_iter().map(|(label, text)| Text::new(format!("branch {label}"), text));
                Self { texts: branches.collect(), scope, graph: None }
            }
            builtin::GRAPH => {
                let builtin::Nested { graph, input_from, given, scope } = input.decode().map_err(|e| e.problem)?;
                let mut texts: Vec<Text> = input_from.map(|text| Text::new("`input_from`", text)).into_iter().collect();
                texts.extend(given.into_iter().map(|(name, given)| Text::new(format!("`given.{name}`"), given.from)));
                Self { texts, scope, graph: Some(graph) }
            }
            builtin::MAP => {
                let builtin::Map { over, each, given, scope, .. } = input.decode().map_err(|e| e.problem)?;
                let graph = match each {
                    Each::Graph(graph) => Some(graph),
                    Each::Job(_) => None,
                };
                let of_element = |(name, given): (String, builtin::Given)| {
                    let text = Text::new(format!("`given.{name}`"), given.from);
                    Text { of_element: true, ..text }
                };
                let texts = std::iter::once(Text::new("`over`", over)).chain(given.into_iter().map(of_element));
                Self { texts: texts.collect(), scope, graph }
            }
            _ => Self::default(),
        })
    }
}

impl Text {
    fn new(what: impl Into<String>, text: String) -> Self {
        Self { what: what.into(), text, of_element: false }
    }
}

/// What a text names. `must_be_cel`: a plain path would be one too, but is not read so there.
fn named(text: &str, must_be_cel: bool) -> Result<Named, String> {
    let Some(path) = Path::read(text).filter(|_| !must_be_cel) else { return named_in_cel(text) };
    let none = Named::default();
    Ok(match path.root {
        Root::Output(node) => Named { nodes: vec![node], ..none },
        Root::Param(name) => Named { params: vec![name], ..none },
        Root::Each => Named { each: true, ..none },
        Root::Input => none,
    })
}

#[cfg(feature = "cel")]
fn named_in_cel(text: &str) -> Result<Named, String> {
    let expression = crate::expression::Expression::parse(text).map_err(|e| e.to_string())?;
    let uses = expression.uses();
    let (nodes, params) = (uses.nodes.iter().cloned().collect(), uses.params.iter().cloned().collect());
    Ok(Named { nodes, params, each: uses.each })
}

/// Without the feature no worker of this build can evaluate one.
#[cfg(not(feature = "cel"))]
fn named_in_cel(_: &str) -> Result<Named, String> {
    Err("an expression needs the feature `cel` of the crate towpath: enable it".to_owned())
}

/// Who stands above whom.
struct Above<'a> {
    nodes: std::collections::HashSet<&'a str>,
    parents: std::collections::HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Above<'a> {
    fn new(nodes: &'a [NewNode], edges: &'a [NewEdge], partial: &BTreeSet<NodeName>) -> Self {
        let mut parents: std::collections::HashMap<&str, Vec<&str>> = std::collections::HashMap::new();
        for edge in edges {
            parents.entry(edge.child.as_str()).or_default().push(edge.parent.as_str());
        }
        let whole = nodes.iter().filter(|node| !partial.contains(&node.name));
        Self { nodes: whole.map(|node| node.name.as_str()).collect(), parents }
    }

    /// Whether a node stands above another, or may: what is not among the nodes, or not whole, is not known.
    fn has(&self, below: &'a str, above: &str) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut next = vec![below];
        let mut leads_out = false;
        while let Some(at) = next.pop() {
            leads_out |= !self.nodes.contains(at);
            for parent in self.parents.get(at).into_iter().flatten() {
                if *parent == above {
                    return true;
                }
                if seen.insert(*parent) {
                    next.push(parent);
                }
            }
        }
        leads_out
    }
}
