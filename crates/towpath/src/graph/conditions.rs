//! Whether the expressions of a graph can be read, and name only what is there: judged before anything is written.

use towpath_core::{GraphProblem, InvalidGraph, NewEdge, NewGraph, NewNode, PreparedGraph, builtin};

/// Checks a graph with its expressions, and gives it the form that stores write.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn prepare(graph: NewGraph) -> Result<PreparedGraph, InvalidGraph> {
    let mut wrong = check(&graph.nodes, &graph.edges);
    let name = graph.name.clone();
    match graph.prepare() {
        Ok(prepared) if wrong.is_empty() => Ok(prepared),
        Ok(_) => Err(InvalidGraph { graph: name.to_string(), problems: wrong }),
        Err(InvalidGraph { graph, mut problems }) => {
            problems.append(&mut wrong);
            Err(InvalidGraph { graph, problems })
        }
    }
}

/// What is wrong with the expressions of these nodes. A parent that is not among them may be there already: what it is
/// named is not judged.
#[cfg(feature = "cel")]
pub(crate) fn check(nodes: &[NewNode], edges: &[NewEdge]) -> Vec<GraphProblem> {
    let gates: Vec<&NewNode> = nodes.iter().filter(|node| node.job.kind.as_str() == builtin::GATE).collect();
    if gates.is_empty() {
        return Vec::new();
    }
    let above = Above::new(nodes, edges);
    gates.into_iter().flat_map(|gate| check_gate(gate, &above)).collect()
}

/// Without the feature no worker of this build can evaluate one.
#[cfg(not(feature = "cel"))]
pub(crate) fn check(nodes: &[NewNode], _: &[NewEdge]) -> Vec<GraphProblem> {
    let gates = nodes.iter().filter(|node| node.job.kind.as_str() == builtin::GATE);
    let problem = "its expressions need the feature `cel` of the crate towpath: enable it";
    gates.map(|gate| GraphProblem::Job(gate.name.clone(), problem.to_owned())).collect()
}

#[cfg(feature = "cel")]
fn check_gate(gate: &NewNode, above: &Above<'_>) -> Vec<GraphProblem> {
    use crate::expression::Expression;
    let input: builtin::Gate = match gate.job.input.decode() {
        Ok(input) => input,
        Err(e) => return vec![GraphProblem::Job(gate.name.clone(), e.problem)],
    };
    let mut problems = Vec::new();
    for (label, text) in &input.branches {
        let mut problem = |problem: String| {
            problems.push(GraphProblem::Job(gate.name.clone(), format!("branch {label}: {problem}")));
        };
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(e) => {
                problem(e.to_string());
                continue;
            }
        };
        for name in &expression.uses().nodes {
            if !above.has(gate.name.as_str(), &format!("{}{name}", input.scope.prefix)) {
                problem(format!("`{text}` reads the node {name}, which is not above it: add an edge, or read another"));
            }
        }
        for name in expression.uses().params.iter().filter(|name| !input.scope.params.contains_key(*name)) {
            problem(format!("`{text}` reads the parameter {name}, which the graph does not have"));
        }
    }
    problems
}

/// Who stands above whom.
#[cfg(feature = "cel")]
struct Above<'a> {
    nodes: std::collections::HashSet<&'a str>,
    parents: std::collections::HashMap<&'a str, Vec<&'a str>>,
}

#[cfg(feature = "cel")]
impl<'a> Above<'a> {
    fn new(nodes: &'a [NewNode], edges: &'a [NewEdge]) -> Self {
        let mut parents: std::collections::HashMap<&str, Vec<&str>> = std::collections::HashMap::new();
        for edge in edges {
            parents.entry(edge.child.as_str()).or_default().push(edge.parent.as_str());
        }
        Self { nodes: nodes.iter().map(|node| node.name.as_str()).collect(), parents }
    }

    /// Whether a node stands above another, or may: what is not among the nodes is not known.
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
