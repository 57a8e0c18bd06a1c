//! What the nodes of a file mean to each other and to the machine: names, edges, cycles, programs.

mod make;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use towpath::core::builtin::Scope;
use towpath::core::limits;
use towpath::expression::Expression;
use towpath::{Condition, GraphLimits, NodeName};

use super::Flow;
use super::node::{DraftDoes, DraftEdge, DraftNode, undo_name};
use super::problem::Problem;
use super::program::find_program;
use super::read::Drafts;
use crate::exec::Text;

/// Checks the drafts as a whole.
///
/// # Errors
/// Everything that is wrong, with what was wrong before.
pub(super) fn check(drafts: Drafts, folder: &Path, limits: &GraphLimits) -> Result<Flow, Vec<Problem>> {
    let mut problems = Vec::new();
    let queues = drafts.queues.clone();
    match (Checker { folder, limits, queues: &queues, is_outer: true }).check(drafts, &mut problems) {
        Some(flow) if problems.is_empty() => Ok(flow),
        _ => Err(problems),
    }
}

/// Checks a flow, and those that its nodes run.
#[derive(Clone, Copy)]
struct Checker<'a> {
    folder: &'a Path,
    limits: &'a GraphLimits,
    /// Those of the outermost flow.
    queues: &'a BTreeMap<String, u16>,
    is_outer: bool,
}

impl Checker<'_> {
    fn check(self, drafts: Drafts, problems: &mut Vec<Problem>) -> Option<Flow> {
        problems.extend(drafts.problems);
        let mut nodes = drafts.nodes;
        self.check_nodes(&mut nodes, problems);
        let nodes = self.make(nodes, problems);
        let Drafts { fail_fast, retry, queues, .. } = drafts;
        Some(Flow { name: drafts.name?, fail_fast, retry, queues, nodes })
    }

    fn check_nodes(self, nodes: &mut [DraftNode], problems: &mut Vec<Problem>) {
        limits_of_the_whole(nodes, self.limits, problems);
        let names = names(nodes, problems);
        let edges = edges(nodes, &names, problems);
        cycles(nodes, &edges, problems);
        expressions(nodes, &names, &edges, problems);
        drop(edges);
        for node in &*nodes {
            folder_and_program(node, self, problems);
            in_queue(node, self.queues, problems);
            enough(node, problems);
        }
        for node in nodes {
            // What a node does not read it does not store.
            let uses =
                |name: &String| node.expressions.iter().any(|(expression, _)| expression.uses().params.contains(name));
            node.scope.params.retain(|name, _| uses(name));
            node.scope.given.retain(|name, _| uses(name));
            if node.expressions.is_empty() {
                node.scope = Scope::default();
            }
        }
    }
}

/// Nodes and parameters that expressions name are there, and the nodes above.
fn expressions(nodes: &[DraftNode], names: &HashMap<&str, usize>, edges: &[Edge<'_>], problems: &mut Vec<Problem>) {
    let mut parents: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for edge in edges {
        parents[edge.child].push(edge.parent);
    }
    // An undo sees what it undoes, and all that this sees.
    for (at, node) in nodes.iter().enumerate() {
        parents[at].extend(node.guards.as_ref().and_then(|guarded| names.get(guarded.as_str())));
    }
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| !node.expressions.is_empty()) {
        let above = above(at, &parents);
        let local = |name: &'_ str| name.strip_prefix(node.scope.prefix.as_str()).map(str::to_owned);
        let known: Vec<String> = above.iter().filter_map(|at| local(&nodes[*at].name)).collect();
        for (expression, span) in &node.expressions {
            if let Some(problem) = of_element(node, expression, span) {
                problems.push(problem);
                continue;
            }
            for name in expression.uses().nodes.iter().filter(|name| !known.contains(name)) {
                let problem =
                    Problem::new(format!("`{expression}` reads the node `{name}`, which is not above `{}`", node.name));
                let problem = problem.at(span.clone(), "it cannot be known here").in_source(node.source);
                let is_there = names.contains_key(format!("{}{name}", node.scope.prefix).as_str());
                problems.push(if is_there {
                    problem.help(format!("add `{name}` to `after`, here or in a node above"))
                } else {
                    let known = known.iter().map(String::as_str);
                    problem.did_you_mean(name, known, "name a node that is above this one")
                });
            }
            for name in expression.uses().params.iter().filter(|name| !node.scope.has_param(name)) {
                let problem =
                    Problem::new(format!("`{expression}` reads the parameter `{name}`, which is not declared"));
                let problem = problem.at(span.clone(), "no such parameter").in_source(node.source);
                let known = node.scope.params.keys().chain(node.scope.given.keys()).map(String::as_str);
                problems.push(problem.did_you_mean(name, known, "declare it in `[params]`"));
            }
        }
    }
}

/// What is done for an element sees the element, and nothing else does.
fn of_element(node: &DraftNode, expression: &Expression, span: &Range<usize>) -> Option<Problem> {
    let uses = expression.uses();
    let problem = match (node.is_of_element(span), uses.nodes.first()) {
        (false, _) if uses.each => {
            let problem = Problem::new(format!("`{expression}` reads `each`, and there is no element here"));
            let help = "`each` is for what a node with `each = …` does: its `exec`, `env`, `http` or `flow`";
            problem.at(span.clone(), "no element").help(help)
        }
        (true, Some(name)) if !matches!(node.does, Some(DraftDoes::Flow(_))) => {
            let problem = Problem::new(format!("`{expression}` reads the node `{name}`, and is of an element"));
            let help = "what is done for an element sees `each` and `params`: let the list hold all that it needs";
            problem.at(span.clone(), "it cannot be known here").help(help)
        }
        _ => return None,
    };
    Some(problem.in_source(node.source))
}

/// The places of all nodes above one.
fn above(at: usize, parents: &[Vec<usize>]) -> HashSet<usize> {
    let (mut above, mut next) = (HashSet::new(), vec![at]);
    while let Some(at) = next.pop() {
        next.extend(parents[at].iter().filter(|parent| above.insert(**parent)));
    }
    above
}

fn in_queue(node: &DraftNode, queues: &BTreeMap<String, u16>, problems: &mut Vec<Problem>) {
    let Some((queue, span)) = node.queue.as_ref().filter(|(queue, _)| !queues.contains_key(queue)) else { return };
    let problem = Problem::new(format!("{} stands in the queue `{queue}`, which is not declared", node.shown()));
    let problem = problem.at(span.clone(), "no such queue").in_source(node.source);
    let known = queues.keys().map(String::as_str);
    problems.push(problem.did_you_mean(queue, known, &format!("declare it: queues = {{ \"{queue}\" = 1 }}")));
}

/// A node has as many parents as it waits for. Those of an include count one by one.
fn enough(node: &DraftNode, problems: &mut Vec<Problem>) {
    let Some((need, span)) = &node.at_least else { return };
    let parents = node.after.len();
    if usize::try_from(*need).is_ok_and(|need| (1..=parents).contains(&need)) {
        return;
    }
    let problem = Problem::new(format!("node `{}` waits for at least {need} of {parents}", node.name));
    let help = match parents {
        0 => "name what it waits for: after = [\"a\", \"b\"]".to_owned(),
        1 => "leave `at_least` out: it waits for one node".to_owned(),
        _ => format!("write a number from 1 to {parents}"),
    };
    problems.push(problem.at(span.clone(), "here").help(help).in_source(node.source));
}

fn limits_of_the_whole(nodes: &[DraftNode], limits: &GraphLimits, problems: &mut Vec<Problem>) {
    let edges: usize = nodes.iter().map(|n| n.after.len()).sum();
    for (count, max, what) in [(nodes.len(), limits.nodes, "nodes"), (edges, limits.edges, "edges")] {
        if count > max as usize {
            let problem = Problem::new(format!("the flow has {count} {what}, at most {max} are allowed"));
            problems.push(problem.help(format!("split it, or allow more: --graph-limits {what}={count}")));
        }
    }
}

/// The place of each name but those of undos, which nobody waits for. A name that cannot be one is a problem; duplicates
/// are found by the TOML reader.
fn names<'a>(nodes: &'a [DraftNode], problems: &mut Vec<Problem>) -> HashMap<&'a str, usize> {
    let mut names = HashMap::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.guards.is_none()) {
        if node.name == NodeName::END {
            let problem =
                Problem::new("no node can be named `end`").at(node.span.clone(), "kept for the flow's own end");
            problems.push(problem.help("choose another name, such as `finish`").in_source(node.source));
        } else if let Err(e) = NodeName::new(&node.name) {
            let problem = Problem::new("a node cannot be named so").at(node.span.clone(), format!("it {}", e.problem));
            problems.push(problem.in_source(node.source));
        }
        names.insert(node.name.as_str(), at);
    }
    for node in nodes.iter().filter(|node| node.guard.is_some()) {
        let gate = format!("{}?", node.name);
        if names.contains_key(gate.as_str()) {
            let problem = Problem::new(format!("`if` of node `{}` needs the name `{gate}`", node.name));
            let problem = problem.at(node.span.clone(), "for the gate before it").in_source(node.source);
            problems.push(problem.help("rename the node that has it"));
        }
    }
    for node in nodes.iter().filter(|node| node.guards.is_some()) {
        let problem = Problem::new(format!("{} needs the name `{}`", node.shown(), node.name));
        let problem = problem.at(node.span.clone(), "it is a node of its own").in_source(node.source);
        if names.contains_key(node.name.as_str()) {
            problems.push(problem.help("rename the node that has it"));
        } else if node.name.len() > limits::NODE_NAME_BYTES_MAX {
            let help = format!(
                "shorten the name of its node: it may have {} bytes",
                limits::NODE_NAME_BYTES_MAX - undo_name("").len()
            );
            problems.push(problem.help(help));
        }
    }
    names
}

/// An edge between nodes that are there: parent, child, and how it was written.
struct Edge<'a> {
    parent: usize,
    child: usize,
    draft: &'a DraftEdge,
}

fn edges<'a>(nodes: &'a [DraftNode], names: &HashMap<&str, usize>, problems: &mut Vec<Problem>) -> Vec<Edge<'a>> {
    let mut edges = Vec::new();
    for (child, node) in nodes.iter().enumerate() {
        let mut seen: HashMap<(&str, &Condition), &DraftEdge> = HashMap::new();
        for draft in &node.after {
            let Some(&parent) = names.get(draft.parent.as_str()) else {
                let others =
                    nodes.iter().filter(|n| n.name != node.name && n.guards.is_none()).map(|n| n.name.as_str());
                let problem =
                    Problem::new(format!("node `{}` waits for `{}`, which is not there", node.name, draft.parent))
                        .at(draft.span.clone(), "no node is named so");
                let problem = problem.in_source(draft.source);
                problems.push(problem.did_you_mean(&draft.parent, others, "add that node, or remove the edge"));
                continue;
            };
            if parent == child {
                let problem = Problem::new(format!("node `{}` waits for itself", node.name));
                let problem = problem.at(draft.span.clone(), "it would never start").in_source(draft.source);
                problems.push(problem.help("remove it from `after`"));
                continue;
            }
            if let Some(first) = seen.insert((&draft.parent, &draft.condition), draft) {
                let problem = Problem::new(format!("node `{}` waits for `{}` twice", node.name, draft.parent));
                let problem = problem.at(draft.span.clone(), "again").at(first.span.clone(), "first");
                problems.push(problem.help("remove one").in_source(draft.source));
                continue;
            }
            if let Some(problem) = branch(&nodes[parent], draft) {
                problems.push(problem);
                continue;
            }
            edges.push(Edge { parent, child, draft });
        }
        if node.at_least.is_none() {
            never_both(node, problems);
        }
    }
    edges
}

/// A node that waits for all its parents can wait for one of them in several ways only if an end of it is as all of them ask.
fn never_both(node: &DraftNode, problems: &mut Vec<Problem>) {
    let mut of_parent: BTreeMap<&str, Vec<&DraftEdge>> = BTreeMap::new();
    for draft in &node.after {
        of_parent.entry(&draft.parent).or_default().push(draft);
    }
    for (parent, drafts) in of_parent.into_iter().filter(|(_, drafts)| drafts.len() > 1) {
        let conditions: Vec<&Condition> = drafts.iter().map(|draft| &draft.condition).collect();
        if Condition::hold_together(&conditions) {
            continue;
        }
        let mut problem =
            Problem::new(format!("node `{}` would never run: no end of `{parent}` is all of this", node.name));
        for draft in &drafts {
            problem = problem.at(draft.span.clone(), format!("{}", draft.condition));
        }
        let help = format!("keep one, wait with {{ node = \"{parent}\", on = \"finished\" }}, or add at_least = 1");
        problems.push(problem.help(help).in_source(drafts[0].source));
    }
}

/// A branch is one of a gate's.
fn branch(parent: &DraftNode, draft: &DraftEdge) -> Option<Problem> {
    let label = draft.condition.label()?;
    let labels: Vec<&str> = match &parent.does {
        Some(DraftDoes::Branches(branches)) => branches.iter().map(|(label, _)| label.as_str()).collect(),
        // What is wrong with it was said.
        None => return None,
        Some(_) => Vec::new(),
    };
    if labels.contains(&label.as_str()) {
        return None;
    }
    let problem = Problem::new(format!("node `{}` has no branch `{label}`", parent.name));
    let problem = problem.at(draft.span.clone(), "waited for here").in_source(draft.source);
    let all = if labels.is_empty() {
        "it is no gate: give it `branches`".into()
    } else {
        format!("it has {}", labels.join(", "))
    };
    Some(problem.did_you_mean(label.as_str(), labels.into_iter(), &all))
}

/// Finds cycles that share no node: takes away nodes that wait for nothing until none is left (Kahn, CACM 1962),
/// walks parents within the rest, and begins again without the cycle found.
fn cycles(nodes: &[DraftNode], edges: &[Edge<'_>], problems: &mut Vec<Problem>) {
    let mut gone: HashSet<usize> = HashSet::new();
    for _ in 0..CYCLES_MAX {
        let rest = circular(nodes.len(), edges, &gone);
        let Some(cycle) = walk(edges, &rest) else { return };
        gone.extend(cycle.iter().map(|edge| edge.child));
        problems.push(cycle_problem(nodes, &cycle));
    }
}

/// Nodes that are on a cycle or lead from one to another.
fn circular(count: usize, edges: &[Edge<'_>], gone: &HashSet<usize>) -> HashSet<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut left = vec![0_usize; count];
    for edge in edges.iter().filter(|e| !gone.contains(&e.parent) && !gone.contains(&e.child)) {
        children[edge.parent].push(edge.child);
        left[edge.child] += 1;
    }
    let mut free: Vec<usize> = (0..count).filter(|at| left[*at] == 0).collect();
    let mut rest: HashSet<usize> = (0..count).filter(|at| !gone.contains(at)).collect();
    while let Some(at) = free.pop() {
        rest.remove(&at);
        for &child in &children[at] {
            left[child] -= 1;
            if left[child] == 0 {
                free.push(child);
            }
        }
    }
    rest
}

/// The edges of one cycle, each leading to the next, from its first node in the order of the file.
fn walk<'e, 'a>(edges: &'e [Edge<'a>], rest: &HashSet<usize>) -> Option<Vec<&'e Edge<'a>>> {
    let mut into: HashMap<usize, &Edge<'_>> = HashMap::new();
    for edge in edges.iter().filter(|e| rest.contains(&e.parent) && rest.contains(&e.child)) {
        into.entry(edge.child).or_insert(edge);
    }
    let mut at = *rest.iter().min()?;
    let mut walked: Vec<&Edge<'_>> = Vec::new();
    let mut seen: HashMap<usize, usize> = HashMap::new();
    while !seen.contains_key(&at) {
        seen.insert(at, walked.len());
        // A node that is left has a parent that is left.
        let edge = *into.get(&at)?;
        walked.push(edge);
        at = edge.parent;
    }
    let mut cycle: Vec<&Edge<'_>> = walked.split_off(*seen.get(&at)?);
    cycle.reverse();
    let first = cycle.iter().enumerate().min_by_key(|(_, edge)| edge.parent).map_or(0, |(at, _)| at);
    cycle.rotate_left(first);
    Some(cycle)
}

fn cycle_problem(nodes: &[DraftNode], cycle: &[&Edge<'_>]) -> Problem {
    let name = |at: usize| nodes[at].name.as_str();
    let mut path: Vec<&str> = cycle.iter().map(|edge| name(edge.parent)).collect();
    path.extend(cycle.last().map(|edge| name(edge.child)));
    let path = if path.len() > PATH_SHOWN {
        format!(
            "{} -> … -> {} ({} nodes)",
            path[..PATH_SHOWN / 2].join(" -> "),
            path[path.len() - 2..].join(" -> "),
            cycle.len()
        )
    } else {
        path.join(" -> ")
    };
    let mut problem = Problem::new(format!("these nodes wait for each other: {path}"));
    // Places in several files cannot be shown together.
    let source = cycle.first().map_or(0, |edge| edge.draft.source);
    for edge in cycle.iter().take(PATH_SHOWN).filter(|edge| edge.draft.source == source) {
        problem =
            problem.at(edge.draft.span.clone(), format!("`{}` waits for `{}`", name(edge.child), name(edge.parent)));
    }
    problem.help("remove one of these edges").in_source(source)
}

/// The folder and program of a node without parents must be there now. What runs later may use what earlier nodes
/// make; only a program that is searched in `PATH` is looked for at once.
fn folder_and_program(node: &DraftNode, checker: Checker<'_>, problems: &mut Vec<Problem>) {
    let is_first = checker.is_outer && node.after.is_empty() && node.guards.is_none();
    if !node.dir.is_dir() {
        if is_first {
            let span = node.dir_span.clone().unwrap_or(node.span.clone());
            let problem = Problem::new(format!("the folder of node `{}` is not there", node.name));
            let relative = format!("`dir` counts from the folder of the flow file, {}", checker.folder.display());
            let problem = problem.at(span, format!("no folder {}", node.dir.display())).help(relative);
            problems.push(problem.in_source(node.source));
        }
        return;
    }
    let Some(DraftDoes::Command(command)) = &node.does else { return };
    let Some(program) = command.argv.first().and_then(Text::literal) else { return };
    if program.contains('/') && !is_first {
        return;
    }
    if let Err(why) = find_program(program, &node.dir, node.env.get("PATH").and_then(Text::literal)) {
        let problem = Problem::new(format!("{} starts {program:?}, which cannot be run", node.shown()));
        let help = if program.contains(' ') {
            "a command with arguments is a list: exec = [\"program\", \"argument\"]"
        } else {
            "install it, correct the name, or name it by its path"
        };
        let problem = problem.at(command.program_span.clone(), why).help(help);
        problems.push(problem.in_source(node.source));
    }
}

/// Cycles named at once, and nodes of a cycle shown.
const CYCLES_MAX: usize = 10;
const PATH_SHOWN: usize = 12;
