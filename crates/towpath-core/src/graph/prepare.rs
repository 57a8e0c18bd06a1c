//! Validation, and the form of a graph that stores write.

mod order;
mod within;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::limits::GraphLimits;
use super::problem::{GraphProblem, InvalidGraph};
use super::restart::Restart;
use super::{
    Condition, FailureMode, GraphRules, Need, NewAppend, NewEdge, NewGraph, NewNode, NodeCounters, Role, Verdict,
    VerdictTable,
};
use crate::builtin;
use crate::id::{GraphId, JobId};
use crate::job::NewJob;
use crate::lifecycle::End;
use crate::name::{GraphName, Kind, Label, NodeName, Queue};
use crate::payload::Payload;
use crate::store::Parent;
use crate::unique::{Clash, Hold, OwnKey, Unique};

/// A validated graph with its hidden `end` as the last node. Only [`NewGraph::prepare`] makes one.
#[derive(Clone, Debug)]
pub struct PreparedGraph {
    id: GraphId,
    name: GraphName,
    rules: GraphRules,
    input: Option<Payload>,
    unique: Option<Box<Unique>>,
    restart: Option<Box<Restart>>,
    nodes: Vec<PreparedNode>,
    edges: Vec<PreparedEdge>,
    limits: GraphLimits,
}

impl PreparedGraph {
    /// Notes the graph that this one is a restart of.
    pub(crate) fn with_restart(mut self, restart: Restart) -> Self {
        self.restart = Some(Box::new(restart));
        self
    }
    /// The graph that it is a restart of, and who wanted it, if it is one.
    pub fn restart(&self) -> Option<&Restart> {
        self.restart.as_deref()
    }
    /// Its id.
    pub fn id(&self) -> GraphId {
        self.id
    }
    /// Its name.
    pub fn name(&self) -> &GraphName {
        &self.name
    }
    /// What holds for the whole of it.
    pub fn rules(&self) -> &GraphRules {
        &self.rules
    }
    /// The stored form of its rules, with its unique key if it has that again when it is retried after its end. `None` when
    /// all is default.
    pub fn rules_to_store(&self) -> Option<String> {
        #[derive(Serialize)]
        struct Kept<'a> {
            #[serde(flatten)]
            rules: &'a GraphRules,
            own_key: OwnKey,
        }
        match self.unique.as_ref().and_then(|unique| unique.own()) {
            // Numbers and texts always have a JSON form.
            Some(own_key) => serde_json::to_string(&Kept { rules: &self.rules, own_key }).ok(),
            None => self.rules.to_stored(),
        }
    }
    /// What every node can read.
    pub fn input(&self) -> Option<&Payload> {
        self.input.as_ref()
    }
    /// The key that it alone of its name may have.
    pub fn unique(&self) -> Option<&Unique> {
        self.unique.as_deref()
    }
    /// Its nodes; the last one is `end`.
    pub fn nodes(&self) -> &[PreparedNode] {
        &self.nodes
    }
    /// Its edges, in the order of their place.
    pub fn edges(&self) -> &[PreparedEdge] {
        &self.edges
    }
    /// The same graph as what a run starts at a place: its ids follow from that place.
    pub fn as_child(mut self, of: JobId, chapter: u32, place: u32) -> Self {
        self.id = GraphId::child_of(of, chapter, place);
        for (part, node) in (0..).zip(&mut self.nodes) {
            let is_end = node.role.has(Role::END);
            node.job.id = if is_end { JobId::end_of(self.id) } else { JobId::child_of(of, chapter, place, part) };
            if builtin::is_run(&node.job.kind) {
                node.job.run = builtin::run_of(self.id, &node.name).ok();
            }
        }
        self
    }
    /// The same graph, with the run that has started it: a rule of its `end`.
    pub fn with_parent(mut self, parent: Parent) -> Self {
        if let Some(end) = self.nodes.last_mut() {
            end.job.rules.parent = Some(parent);
        }
        self
    }
    /// Gives these headers to every node that has none of them; `end` is not performed by anybody.
    pub(crate) fn carry(&mut self, headers: &BTreeMap<String, String>) {
        self.nodes.iter_mut().filter(|node| !node.role.has(Role::END)).for_each(|node| node.job.carry(headers));
    }
    /// The jobs of its nodes; `end` is not performed by anybody.
    pub(crate) fn jobs_mut(&mut self) -> impl Iterator<Item = &mut NewJob> {
        self.nodes.iter_mut().filter(|node| !node.role.has(Role::END)).map(|node| &mut node.job)
    }
    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        let input = self.input.as_ref().map_or(0, |p| p.bytes.len());
        let unique = self.unique.as_ref().map_or(0, |unique| unique.key.as_str().len());
        input + unique + self.nodes.iter().map(PreparedNode::bytes).sum::<usize>() + 16 * self.edges.len()
    }
}

/// A node as stores write it.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedNode {
    /// Its name.
    pub name: NodeName,
    /// The job.
    pub job: NewJob,
    /// What it is to the graph.
    pub role: Role,
    /// Its counters before any parent has ended. An undo has one parent left, for no edge: it waits for `end` to start it.
    pub counters: NodeCounters,
    /// The longest path to it from a node of this write without parents in it. An undo's is that of what it guards.
    pub depth: u32,
    /// Of an undo, the place of the node that it guards.
    pub guards: Option<usize>,
}

impl PreparedNode {
    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        self.name.as_str().len() + self.job.bytes() + 32
    }
}

/// An edge as stores write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedEdge {
    /// Where the parent is.
    pub parent: ParentRef,
    /// The child's place among the new nodes; for an append, the place after the last is `end`.
    pub child: usize,
    /// The edge's place in its graph, counted from the first that this write adds.
    pub ord: u32,
    /// What each end of the parent means.
    pub verdicts: VerdictTable,
    /// The branch that the edge asks for.
    pub label: Option<Label>,
}

/// A parent: among the new nodes, or in the store already.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParentRef {
    /// The place among the new nodes.
    New(usize),
    /// The name of a node that the graph has already.
    Existing(NodeName),
}

/// A validated append. The store still has to find the existing parents by name.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedAppend {
    graph: GraphId,
    nodes: Vec<PreparedNode>,
    edges: Vec<PreparedEdge>,
    limits: GraphLimits,
}

impl PreparedAppend {
    /// The graph that grows.
    pub fn graph(&self) -> GraphId {
        self.graph
    }
    /// Gives these headers to every node that has none of them.
    pub fn carry(&mut self, headers: &BTreeMap<String, String>) {
        self.nodes.iter_mut().for_each(|node| node.job.carry(headers));
    }
    /// The jobs of the new nodes.
    pub(crate) fn jobs_mut(&mut self) -> impl Iterator<Item = &mut NewJob> {
        self.nodes.iter_mut().map(|node| &mut node.job)
    }
    /// The new nodes, without `end`.
    pub fn nodes(&self) -> &[PreparedNode] {
        &self.nodes
    }
    /// The new edges. A child with the place `nodes().len()` is the graph's `end`.
    pub fn edges(&self) -> &[PreparedEdge] {
        &self.edges
    }
    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        self.nodes.iter().map(PreparedNode::bytes).sum::<usize>() + 16 * self.edges.len()
    }
}

impl NewGraph {
    /// Validates the graph and adds its hidden `end`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes; more of anything than the default
    /// [limits](GraphLimits) allow is wrong too.
    pub fn prepare(self) -> Result<PreparedGraph, InvalidGraph> {
        self.prepare_within(&GraphLimits::default())
    }

    /// The same within other limits.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes.
    pub fn prepare_within(self, limits: &GraphLimits) -> Result<PreparedGraph, InvalidGraph> {
        self.prepare_at(0, limits)
    }

    /// The same of a graph that stands inside so many others.
    pub(super) fn prepare_at(mut self, depth: u32, limits: &GraphLimits) -> Result<PreparedGraph, InvalidGraph> {
        let mut check = Check::new(&self.nodes, self.edges.len(), depth, limits);
        if self.nodes.is_empty() {
            check.problems.push(GraphProblem::Empty);
        }
        if let Some(input) = &self.input {
            check.problems.extend(limits.input(input));
            check.input(input);
        }
        if let Some(unique) = &self.unique {
            check.unique(unique);
        }
        check.problems.extend(self.rules.retry.and_then(|retry| retry.problem()).map(GraphProblem::Retry));
        let edges = check.edges(&self.nodes, &self.edges, |_| None);
        let order = check.cycle(self.nodes.len(), &edges);
        check.needs(&self.nodes, &edges);
        check.branches(&self.nodes, &edges);
        let guards = check.undos(&self.nodes, &edges);
        if !check.problems.is_empty() {
            return Err(InvalidGraph { graph: self.name.to_string(), problems: check.problems });
        }
        let (mut nodes, edges) = assemble(std::mem::take(&mut self.nodes), edges, &order, &guards);
        if self.rules.fail_fast {
            order::fail_fast(&mut nodes, &edges);
        }
        let to_end = edges.iter().filter(|e| e.child == nodes.len()).count() as u32;
        nodes.push(end_node(self.id, to_end));
        let NewGraph { id, name, rules, input, unique, .. } = self;
        Ok(PreparedGraph { id, name, rules, input, unique, restart: None, nodes, edges, limits: *limits })
    }
}

impl NewAppend {
    /// Validates what can be known without the store. A parent that is not among the new nodes is
    /// looked for in the store, by name.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes; more of anything than the default
    /// [limits](GraphLimits) allow is wrong too.
    pub fn prepare(self) -> Result<PreparedAppend, InvalidGraph> {
        self.prepare_within(&GraphLimits::default())
    }

    /// The same within other limits, by which the store judges too what the graph would come to.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes.
    pub fn prepare_within(self, limits: &GraphLimits) -> Result<PreparedAppend, InvalidGraph> {
        let mut check = Check::new(&self.nodes, self.edges.len(), 0, limits);
        if self.nodes.is_empty() {
            check.problems.push(GraphProblem::Empty);
        }
        let edges = check.edges(&self.nodes, &self.edges, |name| Some(ParentRef::Existing(name.clone())));
        let order = check.cycle(self.nodes.len(), &edges);
        check.needs(&self.nodes, &edges);
        check.branches(&self.nodes, &edges);
        let guards = check.undos(&self.nodes, &edges);
        if !check.problems.is_empty() {
            return Err(InvalidGraph { graph: self.graph.to_string(), problems: check.problems });
        }
        let (nodes, edges) = assemble(self.nodes, edges, &order, &guards);
        Ok(PreparedAppend { graph: self.graph, nodes, edges, limits: *limits })
    }
}

/// The hidden last node. It needs more than it can have, so that it is always decided by the core.
fn end_node(graph: GraphId, left: u32) -> PreparedNode {
    let job = NewJob::new(JobId::end_of(graph), Kind::from_stored(Kind::END)).queue(Queue::from_stored(Kind::END));
    PreparedNode {
        name: NodeName::from_stored(NodeName::END),
        job,
        role: Role::END,
        counters: NodeCounters::fresh(left, u32::MAX >> 1, false),
        depth: 0,
        guards: None,
    }
}

/// Gives nodes their counters, roles and depths, and adds the edges to `end`: from leaves, and from parents
/// of nodes that may start without them.
fn assemble(
    nodes: Vec<NewNode>,
    mut edges: Vec<PreparedEdge>,
    order: &[usize],
    guards: &[Option<usize>],
) -> (Vec<PreparedNode>, Vec<PreparedEdge>) {
    let depths = order::depths(&edges, order, guards);
    let mut parents = vec![0_u32; nodes.len()];
    let mut children = vec![0_u32; nodes.len()];
    let mut spared = vec![0_u32; nodes.len()];
    let mut to_end: Vec<ParentRef> = Vec::new();
    let mut leads: HashSet<ParentRef> = HashSet::new();
    let mut gates: Vec<bool> = nodes.iter().map(|node| !node.job.rules.labels.is_empty()).collect();
    for edge in &edges {
        parents[edge.child] += 1;
        if let (ParentRef::New(parent), Some(_)) = (&edge.parent, &edge.label) {
            gates[*parent] = true;
        }
    }
    for edge in &edges {
        let optional = match nodes[edge.child].need {
            Need::All => false,
            // What asks for a failure makes use of it: it is none that could be done without.
            Need::AtLeast(need) => {
                need < parents[edge.child] && edge.verdicts.verdict(End::Dead, None, &[]) != Verdict::Ok
            }
        };
        let eager = matches!(nodes[edge.child].need, Need::AtLeast(_));
        if let ParentRef::New(parent) = edge.parent {
            children[parent] += 1;
            spared[parent] += u32::from(optional);
        }
        if eager && leads.insert(edge.parent.clone()) {
            to_end.push(edge.parent.clone());
        }
    }
    let leaves = (0..nodes.len()).filter(|at| children[*at] == 0 && guards[*at].is_none()).map(ParentRef::New);
    to_end.extend(leaves);
    let finished = Condition::Finished.table();
    for parent in to_end {
        edges.push(PreparedEdge {
            parent,
            child: nodes.len(),
            ord: edges.len() as u32,
            verdicts: finished,
            label: None,
        });
    }
    let prepared = nodes.into_iter().enumerate().map(|(at, node)| {
        let mut role = Role::PLAIN;
        if node.failure == FailureMode::MayFail {
            role = role.with(Role::MAY_FAIL);
        }
        if gates[at] {
            role = role.with(Role::GATE);
        }
        if children[at] > 0 && spared[at] == children[at] {
            role = role.with(Role::SPARE);
        }
        let (need, eager) = match node.need {
            Need::All => (parents[at].min(1), false),
            Need::AtLeast(need) => {
                role = role.with(Role::AT_LEAST);
                (need, true)
            }
        };
        let counters = match guards[at] {
            None => NodeCounters::fresh(parents[at], need, eager),
            Some(_) => {
                role = role.with(Role::UNDO);
                NodeCounters::fresh(1, 1, false)
            }
        };
        PreparedNode { name: node.name, job: node.job, role, counters, depth: depths[at], guards: guards[at] }
    });
    (prepared.collect(), edges)
}

/// Collects problems.
struct Check {
    places: HashMap<NodeName, usize>,
    names: Vec<NodeName>,
    problems: Vec<GraphProblem>,
}

impl Check {
    fn new(nodes: &[NewNode], edges: usize, depth: u32, limits: &GraphLimits) -> Self {
        let problems = limits.size(nodes.len(), edges);
        let mut check = Self { places: HashMap::with_capacity(nodes.len()), names: Vec::new(), problems };
        let mut ids = HashMap::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            check.names.push(node.name.clone());
            if node.name.as_str() == NodeName::END {
                check.problems.push(GraphProblem::ReservedName(node.name.clone()));
            }
            if check.places.insert(node.name.clone(), at).is_some() {
                check.problems.push(GraphProblem::DuplicateName(node.name.clone()));
            }
            // Of one name the ids follow in a text, and only the name is to be changed.
            if let Some(other) = ids.insert(node.job.id, &node.name).filter(|other| **other != node.name) {
                check.problems.push(GraphProblem::DuplicateJob(node.job.id, other.clone(), node.name.clone()));
            }
            if node.job.kind.is_reserved() && !builtin::is_kind(&node.job.kind) {
                let problem = format!("the kind {} is kept for the product: choose another", node.job.kind);
                check.problems.push(GraphProblem::Job(node.name.clone(), problem));
            }
            limits.node(&node.name, &node.job, depth, |problem| {
                check.problems.push(GraphProblem::Job(node.name.clone(), problem));
            });
            if let Some(unique) = &node.job.unique {
                let problem = format!("has the unique key {:?}: give it to the graph", unique.key);
                check.problems.push(GraphProblem::Job(node.name.clone(), problem));
            }
            for refusal in node.job.problems() {
                check.problems.push(GraphProblem::Job(node.name.clone(), refusal.to_string()));
            }
        }
        check
    }

    fn input(&mut self, input: &Payload) {
        if let Err(e) = input.check_text() {
            self.problems.push(GraphProblem::Input(e.problem));
        }
    }

    fn unique(&mut self, unique: &Unique) {
        if unique.hold == Hold::Started {
            let problem = "a graph cannot hold its key until it is started: until it has ended, or for a window";
            self.problems.push(GraphProblem::Unique(unique.key.clone(), problem));
        }
        if unique.clash() == Clash::Replace {
            let problem = "nothing of a stored graph is replaced: reject, or return the existing one";
            self.problems.push(GraphProblem::Unique(unique.key.clone(), problem));
        }
    }

    /// Resolves names; what cannot be resolved is a problem and left out.
    fn edges(
        &mut self,
        nodes: &[NewNode],
        edges: &[NewEdge],
        existing: impl Fn(&NodeName) -> Option<ParentRef>,
    ) -> Vec<PreparedEdge> {
        let mut seen: HashMap<(&NodeName, &NodeName), usize> = HashMap::with_capacity(edges.len());
        // Of each two nodes with several edges, these, by the place of the first.
        let mut several: BTreeMap<usize, Vec<&NewEdge>> = BTreeMap::new();
        let mut resolved = Vec::with_capacity(edges.len());
        for (place, edge) in edges.iter().enumerate() {
            if edge.parent == edge.child {
                // Of an append the parent may have been meant as the stored one.
                let problem =
                    existing(&edge.parent).map_or(GraphProblem::SelfEdge as fn(_) -> _, |_| GraphProblem::Namesake);
                self.problems.push(problem(edge.parent.clone()));
                continue;
            }
            let parent = self.places.get(&edge.parent).map(|at| ParentRef::New(*at)).or_else(|| existing(&edge.parent));
            let Some(&child) = self.places.get(&edge.child) else {
                let problem = if existing(&edge.child).is_some() {
                    GraphProblem::ExistingChild(edge.child.clone())
                } else {
                    self.unknown(&edge.child, &edge.parent)
                };
                self.problems.push(problem);
                continue;
            };
            let Some(parent) = parent else {
                let problem = self.unknown(&edge.parent, &edge.child);
                self.problems.push(problem);
                continue;
            };
            let first = *seen.entry((&edge.parent, &edge.child)).or_insert(place);
            if first != place {
                let of_these = several.entry(first).or_insert_with(|| vec![&edges[first]]);
                if of_these.iter().any(|other| other.condition == edge.condition) {
                    self.problems.push(GraphProblem::DuplicateEdge(edge.parent.clone(), edge.child.clone()));
                    continue;
                }
                of_these.push(edge);
            }
            resolved.push(PreparedEdge {
                parent,
                child,
                ord: resolved.len() as u32,
                verdicts: edge.condition.table(),
                label: edge.condition.label().cloned(),
            });
        }
        self.never_both(nodes, several.into_values());
        resolved
    }

    /// A node that waits for all its parents can have several edges from one only if an end of it is as all of them ask.
    fn never_both<'e>(&mut self, nodes: &[NewNode], several: impl Iterator<Item = Vec<&'e NewEdge>>) {
        for edges in several {
            let Some(NewEdge { parent, child, .. }) = edges.first() else { continue };
            let waits_for_all = self.places.get(child).is_some_and(|at| nodes[*at].need == Need::All);
            let conditions: Vec<&Condition> = edges.iter().map(|edge| &edge.condition).collect();
            if waits_for_all && !Condition::hold_together(&conditions) {
                let conditions = conditions.into_iter().cloned().collect();
                self.problems.push(GraphProblem::NeverBoth {
                    child: child.clone(),
                    parent: parent.clone(),
                    conditions,
                });
            }
        }
    }

    fn unknown(&self, missing: &NodeName, edge_with: &NodeName) -> GraphProblem {
        let similar = similar(missing.as_str(), self.names.iter().take(1_000).filter(|n| *n != edge_with));
        GraphProblem::UnknownNode { missing: missing.clone(), edge_with: edge_with.clone(), similar: similar.cloned() }
    }

    fn needs(&mut self, nodes: &[NewNode], edges: &[PreparedEdge]) {
        let mut parents = vec![0_u32; nodes.len()];
        for edge in edges {
            parents[edge.child] += 1;
        }
        for (node, parents) in nodes.iter().zip(parents) {
            if let Need::AtLeast(need) = node.need
                && (need == 0 || need > parents)
            {
                self.problems.push(GraphProblem::NeedTooLarge { node: node.name.clone(), need, parents });
            }
        }
    }

    /// A gate declares its branches, and has no others. One that was stored before is not looked at: its own
    /// attempt fails if it chooses what it has not declared.
    fn branches(&mut self, nodes: &[NewNode], edges: &[PreparedEdge]) {
        for edge in edges {
            let (ParentRef::New(gate), Some(label)) = (&edge.parent, &edge.label) else { continue };
            let (gate, child) = (&nodes[*gate], nodes[edge.child].name.clone());
            let labels = &gate.job.rules.labels;
            if labels.is_empty() {
                self.problems.push(GraphProblem::NotAGate { node: gate.name.clone(), child });
            } else if !labels.contains(label) {
                let (gate, label, labels) = (gate.name.clone(), label.clone(), labels.clone());
                self.problems.push(GraphProblem::UnknownBranch { gate, child, label, labels });
            }
        }
    }

    /// The place that each undo guards; what is wrong with undos is a problem.
    fn undos(&mut self, nodes: &[NewNode], edges: &[PreparedEdge]) -> Vec<Option<usize>> {
        let mut undo_of: HashMap<usize, usize> = HashMap::new();
        let mut guards = vec![None; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let Some(guarded) = &node.guards else { continue };
            let undo = node.name.clone();
            let Some(place) = self.places.get(guarded).copied() else {
                let similar = similar(guarded.as_str(), self.names.iter().take(1_000).filter(|n| **n != undo)).cloned();
                self.problems.push(GraphProblem::UndoOfNothing { undo, missing: guarded.clone(), similar });
                continue;
            };
            if nodes[place].guards.is_some() {
                self.problems.push(GraphProblem::UndoOfUndo(undo, guarded.clone()));
            } else if let Some(first) = undo_of.insert(place, at) {
                let undos = [nodes[first].name.clone(), undo];
                self.problems.push(GraphProblem::TwoUndos { node: guarded.clone(), undos });
            }
            guards[at] = Some(place);
        }
        for edge in edges {
            let child = nodes[edge.child].name.clone();
            let parent = match &edge.parent {
                ParentRef::New(at) => nodes[*at].name.clone(),
                ParentRef::Existing(name) => name.clone(),
            };
            if guards[edge.child].is_some() {
                self.problems.push(GraphProblem::UndoWithEdge { undo: child, edge_with: parent });
            } else if matches!(edge.parent, ParentRef::New(at) if guards[at].is_some()) {
                self.problems.push(GraphProblem::UndoWithEdge { undo: parent, edge_with: child });
            }
        }
        guards
    }

    /// Finds one cycle, if there is any, by taking away nodes without parents until none is left
    /// (Kahn, CACM 1962), then walking parents within the rest. Answers the nodes in the order in which they were taken
    /// away, each after its parents.
    fn cycle(&mut self, count: usize, edges: &[PreparedEdge]) -> Vec<usize> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut parents: Vec<Vec<usize>> = vec![Vec::new(); count];
        for edge in edges {
            if let ParentRef::New(parent) = edge.parent {
                children[parent].push(edge.child);
                parents[edge.child].push(parent);
            }
        }
        let mut left: Vec<usize> = parents.iter().map(Vec::len).collect();
        let mut free: Vec<usize> = (0..count).filter(|at| left[*at] == 0).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(at) = free.pop() {
            order.push(at);
            for &child in &children[at] {
                left[child] -= 1;
                if left[child] == 0 {
                    free.push(child);
                }
            }
        }
        let Some(start) = (0..count).find(|at| left[*at] > 0) else { return order };
        let mut walked: Vec<usize> = Vec::new();
        let mut at = start;
        while !walked.contains(&at) {
            walked.push(at);
            // A node that is left has a parent that is left.
            let Some(&parent) = parents[at].iter().find(|p| left[**p] > 0) else { return order };
            at = parent;
        }
        let from = walked.iter().position(|w| *w == at).unwrap_or(0);
        let mut path: Vec<NodeName> = walked[from..].iter().rev().map(|w| self.names[*w].clone()).collect();
        // The same cycle always reads the same: it starts at its first node in the author's order.
        let lowest = path.iter().enumerate().min_by_key(|(_, name)| self.places.get(*name)).map_or(0, |(at, _)| at);
        path.rotate_left(lowest);
        if let Some(first) = path.first().cloned() {
            path.push(first);
        }
        self.problems.push(GraphProblem::Cycle(path));
        order
    }
}

/// The name nearest to `missing`, if one is near: at most a third of its letters differ.
pub(super) fn similar<'a, N>(missing: &str, names: impl Iterator<Item = &'a N>) -> Option<&'a N>
where
    N: AsRef<str> + ?Sized + 'a,
{
    let near = missing.chars().count().div_ceil(3);
    names
        .map(|name| (distance(missing, name.as_ref()), name))
        .filter(|(d, _)| *d <= near)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Levenshtein's distance, on characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(ca != *cb)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
