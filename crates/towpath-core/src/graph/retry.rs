//! Which nodes of a graph run again when it is retried in place.
//!
//! A pure function over the graph's shape. A retry re-arms from the bottom up, so that what is left of an interrupted one is
//! planned again from its mode alone; and it is planned again until nothing is left, so that a node which was skipped while
//! its parents were re-armed is found too.

mod behind;

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Condition, Role, VerdictTable};
use crate::id::JobId;
use crate::lifecycle::{Cause, End, StopReason};
use crate::name::NodeName;
use crate::time::Timestamp;

/// Which nodes a retry is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryMode {
    /// Those that are dead, quarantined or cancelled, or that were undone, and those below that were skipped because of them.
    #[default]
    Failed,
    /// This one and everything below it.
    From(NodeName),
    /// All of them.
    All,
}

impl RetryMode {
    /// The stored form.
    pub fn to_stored(&self) -> String {
        // A name always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The text is not JSON of that shape: the row is corrupt.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl fmt::Display for RetryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => f.write_str("what failed"),
            Self::From(node) => write!(f, "from {node}"),
            Self::All => f.write_str("all"),
        }
    }
}

/// A graph as the plan of its retry sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryView {
    /// Its generation.
    pub generation: u32,
    /// How many nodes its last retry has let wait anew so far.
    pub rearmed: u32,
    /// What holds it back.
    pub stop: Option<StopReason>,
    /// Whether its undos have been looked at since it ran last: they have begun, or were passed over.
    pub is_undoing: bool,
    /// The retry that is under way.
    pub retrying: Option<Retrying>,
    /// Its nodes, in the order of their enqueue, `end` left out.
    pub nodes: Vec<RetryNode>,
    /// Its edges, but those to `end`.
    pub edges: Vec<RetryEdge>,
}

/// An edge of a [`RetryView`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryEdge {
    /// The place of the parent.
    pub parent: usize,
    /// The place of the child.
    pub child: usize,
    /// What the ends of the parent mean to the child.
    pub verdicts: VerdictTable,
}

/// A retry under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrying {
    /// Which nodes it is for.
    pub mode: RetryMode,
    /// When it began.
    pub since: Timestamp,
}

/// A node of a [`RetryView`].
#[derive(Clone, Debug, PartialEq)]
pub struct RetryNode {
    /// Its job.
    pub job: JobId,
    /// Its name.
    pub name: NodeName,
    /// What it is to the graph.
    pub role: Role,
    /// Of an undo, the place of what it undoes.
    pub guards: Option<usize>,
    /// How it ended, if it has.
    pub ended: Option<RetryNodeEnd>,
}

/// How a node ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryNodeEnd {
    /// How.
    pub end: End,
    /// Why.
    pub cause: Option<Cause>,
    /// When.
    pub at: Timestamp,
}

/// Which nodes are to be re-armed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryPlan {
    /// From the bottom up: a node comes before its parents.
    pub nodes: Vec<JobId>,
    /// Those among them that the graph's `end` must wait for by an edge of its own, since nothing below them will.
    pub holding: HashSet<JobId>,
    /// Those among them that were undone: what they do from now on is another thing to undo.
    pub undone: HashSet<JobId>,
    /// What they wait for besides their parents.
    pub behind: Vec<Behind>,
    /// Whether a cancel or a failure holds nodes back that have not ended: to lift it is something to do, too.
    pub lifts: bool,
}

/// A node that runs again waits for another one that does, though between them lie nodes that stay as they are: an edge that the
/// graph has from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The node that waits; it is re-armed.
    pub child: JobId,
    /// The one that it waits for.
    pub parent: JobId,
    /// How that one must end.
    pub condition: Condition,
}

impl RetryPlan {
    /// Whether there is nothing to retry.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && !self.lifts
    }
}

/// Why a graph cannot be retried as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryRefusal {
    /// There is no node of this name.
    #[error("it has no node {0}")]
    UnknownNode(NodeName),
    /// Its undos run.
    #[error("its undos run: wait until it has ended, and ask again")]
    Undoing,
    /// An undo of it has not succeeded, and nobody has said that this does not matter.
    #[error(
        "its undo {0} is not done, so what it was to reverse may still stand: put that right, and say so, or restart it"
    )]
    LeftUndone(NodeName),
    /// The graph had succeeded with this node, which is to run again though its undo has been passed over for good.
    #[error(
        "its node {0} can not be undone any more, since the graph had succeeded with it: restart it as a new graph"
    )]
    Committed(NodeName),
    /// Too many edges would have to be added.
    #[error(
        "too many of its nodes would run again behind others that do, over nodes between them that stay: it takes more than \
         {max} edges. Retry all of it, or restart it"
    )]
    Tangled {
        /// How many edges a retry may add.
        max: usize,
    },
    /// This node was undone, and is not meant.
    #[error("its node {0} was undone too, and does not run again so: retry what failed, or all")]
    UndoneBeside(NodeName),
}

/// Plans a retry of this mode. `since` is when it began, if it has: what has ended later is left alone, unless it was skipped
/// or cancelled for a reason that the retry takes away.
///
/// # Errors
/// It cannot be retried so; nothing is to be written then.
pub fn plan_retry(shape: &RetryView, mode: &RetryMode, since: Option<Timestamp>) -> Result<RetryPlan, RetryRefusal> {
    let waits = |node: &RetryNode| node.guards.is_some() && node.ended.is_none();
    if shape.is_undoing && shape.nodes.iter().any(waits) {
        return Err(RetryRefusal::Undoing);
    }
    let chosen = choose(shape, mode, since)?;
    let undone = shape.undone();
    let order = top_down(shape);
    let is_open = shape.nodes.iter().any(|node| node.ended.is_none() && !node.role.has(Role::UNDO));
    let lifts = is_open && matches!(shape.stop, Some(StopReason::Cancel | StopReason::Fail));
    let mut plan = RetryPlan { lifts, ..RetryPlan::default() };
    let (mut has_child, mut is_awaited) = (vec![false; shape.nodes.len()], vec![false; shape.nodes.len()]);
    plan.behind = behind::behind(shape, &chosen)?;
    for &RetryEdge { parent, child, .. } in &shape.edges {
        has_child[parent] = true;
        // A child that needs all its parents ends after this one, and holds the end by itself or by its own children.
        is_awaited[parent] |= chosen[child] && !shape.nodes[child].role.has(Role::AT_LEAST);
    }
    // Undos come last: what is left of an interrupted retry still says what was undone.
    let (undos, nodes): (Vec<usize>, Vec<usize>) =
        order.into_iter().rev().filter(|at| chosen[*at]).partition(|at| shape.nodes[*at].guards.is_some());
    for at in nodes.into_iter().chain(undos) {
        let job = shape.nodes[at].job;
        plan.nodes.push(job);
        if undone[at] {
            plan.undone.insert(job);
        }
        if has_child[at] && !is_awaited[at] {
            plan.holding.insert(job);
        }
    }
    Ok(plan)
}

/// Whether everything that was to be undone is; else a retry is for those who know what is left.
///
/// # Errors
/// The first undo that was started and has not succeeded.
pub fn check_undone(shape: &RetryView) -> Result<(), RetryRefusal> {
    let is_left = |end: &RetryNodeEnd| end.end.is_failure() || end.end == End::Cancelled;
    let left = shape.nodes.iter().find(|node| node.guards.is_some() && node.ended.as_ref().is_some_and(is_left));
    left.map_or(Ok(()), |undo| Err(RetryRefusal::LeftUndone(undo.name.clone())))
}

impl RetryView {
    /// Whether each node was undone: its undo has run, whatever came of that.
    fn undone(&self) -> Vec<bool> {
        let mut undone = vec![false; self.nodes.len()];
        for undo in &self.nodes {
            if let (Some(guarded), Some(end)) = (undo.guards, &undo.ended) {
                undone[guarded] |= !was_passed_over(end);
            }
        }
        undone
    }
}

/// Whether each node is to be re-armed. Undos that have ended are, with what they undo or would have: they wait for the next
/// end of the graph. Those stay that were passed over because it had succeeded.
fn choose(shape: &RetryView, mode: &RetryMode, since: Option<Timestamp>) -> Result<Vec<bool>, RetryRefusal> {
    let within = match mode {
        RetryMode::Failed | RetryMode::All => vec![true; shape.nodes.len()],
        RetryMode::From(name) => {
            let from = shape.nodes.iter().position(|node| node.name == *name);
            below(shape, from.ok_or_else(|| RetryRefusal::UnknownNode(name.clone()))?)
        }
    };
    let undone = shape.undone();
    let is_meant = |at: usize, end: &RetryNodeEnd| {
        let counts = *mode != RetryMode::Failed || end.end.is_failure() || end.end == End::Cancelled || undone[at];
        counts && (since.is_none_or(|since| end.at <= since) || was_stopped(end))
    };
    let mut chosen: Vec<bool> = Vec::with_capacity(shape.nodes.len());
    for (at, node) in shape.nodes.iter().enumerate() {
        let ended = node.ended.as_ref();
        chosen.push(match node.guards {
            Some(_) => ended.is_some_and(|end| end.cause != Some(Cause::Committed)),
            None => within[at] && ended.is_some_and(|end| is_meant(at, end)),
        });
    }
    // What was skipped because of a parent is decided anew with it.
    let parents = neighbours(shape, |edge| (edge.child, edge.parent));
    for at in top_down(shape) {
        if shape.nodes[at].ended.as_ref().is_some_and(was_skipped) {
            chosen[at] |= parents[at].iter().any(|parent| chosen[*parent] || shape.nodes[*parent].ended.is_none());
        }
    }
    for undo in &shape.nodes {
        let (Some(guarded), Some(end)) = (undo.guards, &undo.ended) else { continue };
        let name = || shape.nodes[guarded].name.clone();
        if chosen[guarded] && end.cause == Some(Cause::Committed) {
            return Err(RetryRefusal::Committed(name()));
        }
        if !chosen[guarded] && undone[guarded] && shape.nodes[guarded].ended.is_some() {
            return Err(RetryRefusal::UndoneBeside(name()));
        }
    }
    Ok(chosen)
}

/// Whether it is an undo that was not needed.
fn was_passed_over(end: &RetryNodeEnd) -> bool {
    matches!(end.cause, Some(Cause::NeverStarted { .. } | Cause::Committed))
}

/// Whether a stop that the retry lifts has ended it, perhaps by a decision that was under way as the retry began.
fn was_stopped(end: &RetryNodeEnd) -> bool {
    end.end == End::Cancelled && matches!(end.cause, Some(Cause::GraphStopped { .. }))
}

/// Whether its parents had it skipped.
fn was_skipped(end: &RetryNodeEnd) -> bool {
    matches!(end.end, End::Skipped(_)) && !matches!(end.cause, Some(Cause::Itself { .. })) && !was_passed_over(end)
}

/// Whether each node is this one or below it.
fn below(shape: &RetryView, from: usize) -> Vec<bool> {
    let children = neighbours(shape, |edge| (edge.parent, edge.child));
    let mut is_below = vec![false; shape.nodes.len()];
    let mut ahead = vec![from];
    while let Some(at) = ahead.pop() {
        if !std::mem::replace(&mut is_below[at], true) {
            ahead.extend(&children[at]);
        }
    }
    is_below
}

/// The places of all nodes, each behind its parents. A graph has no cycles; of one that has, some nodes would be left out.
fn top_down(shape: &RetryView) -> Vec<usize> {
    let children = neighbours(shape, |edge| (edge.parent, edge.child));
    let mut left = vec![0_usize; shape.nodes.len()];
    shape.edges.iter().for_each(|edge| left[edge.child] += 1);
    let mut order: Vec<usize> = (0..shape.nodes.len()).filter(|at| left[*at] == 0).collect();
    let mut looked = 0;
    while let Some(&at) = order.get(looked) {
        looked += 1;
        for &child in &children[at] {
            left[child] -= 1;
            if left[child] == 0 {
                order.push(child);
            }
        }
    }
    order
}

/// For each node the others at its edges, by a function from an edge to a node and another.
fn neighbours(shape: &RetryView, of: impl Fn(RetryEdge) -> (usize, usize)) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new(); shape.nodes.len()];
    for edge in &shape.edges {
        let (node, other) = of(*edge);
        lists[node].push(other);
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::SkipKind;

    const SINCE: Timestamp = Timestamp::from_micros(100);

    pub(super) fn id(at: usize) -> JobId {
        JobId::from_bytes([at as u8; 16])
    }

    fn name(at: usize) -> NodeName {
        NodeName::from_stored(&format!("n{at}"))
    }

    pub(super) fn joins((parent, child): (usize, usize), condition: Condition) -> RetryEdge {
        RetryEdge { parent, child, verdicts: condition.table() }
    }

    /// Nodes by their ends and causes, and the edges between their places.
    pub(super) fn shape(ends: &[Option<(End, Option<Cause>)>], edges: &[(usize, usize)]) -> RetryView {
        let node = |(at, end): (usize, &Option<(End, Option<Cause>)>)| RetryNode {
            job: id(at),
            name: name(at),
            role: Role::PLAIN,
            guards: None,
            ended: end.clone().map(|(end, cause)| RetryNodeEnd { end, cause, at: SINCE }),
        };
        let nodes = ends.iter().enumerate().map(node).collect();
        let edge = |edge: &(usize, usize)| joins(*edge, Condition::Succeeded);
        RetryView {
            generation: 1,
            rearmed: 0,
            stop: None,
            is_undoing: false,
            retrying: None,
            nodes,
            edges: edges.iter().map(edge).collect(),
        }
    }

    fn planned(shape: &RetryView, mode: &RetryMode) -> Vec<JobId> {
        plan_retry(shape, mode, Some(SINCE)).unwrap().nodes
    }

    pub(super) fn ok() -> Option<(End, Option<Cause>)> {
        Some((End::Succeeded, None))
    }

    pub(super) fn dead() -> Option<(End, Option<Cause>)> {
        Some((End::Dead, Some(Cause::Exhausted)))
    }

    fn skipped(kind: SkipKind, parent: usize) -> Option<(End, Option<Cause>)> {
        Some((End::Skipped(kind), Some(Cause::Parent { node: name(parent), end: End::Dead })))
    }

    /// `a` has failed behind `b`, and undos of both, as they ended.
    fn undone(undo_a: Option<(End, Option<Cause>)>, undo_b: Option<(End, Option<Cause>)>) -> RetryView {
        let mut shape = shape(&[dead(), ok(), undo_a, undo_b], &[(1, 0)]);
        shape.is_undoing = true;
        for (undo, guarded) in [(2, 0), (3, 1)] {
            (shape.nodes[undo].role, shape.nodes[undo].guards) = (Role::UNDO, Some(guarded));
        }
        shape
    }

    #[test]
    fn what_was_undone_runs_again_with_what_failed_and_its_undos_wait_again() {
        let mut shape = undone(ok(), ok());
        let plan = plan_retry(&shape, &RetryMode::Failed, None).unwrap();
        assert_eq!(plan.nodes, [id(0), id(1), id(3), id(2)]);
        assert_eq!(plan.undone, HashSet::from([id(0), id(1)]));
        let beside = plan_retry(&shape, &RetryMode::From(name(0)), None);
        assert_eq!(beside, Err(RetryRefusal::UndoneBeside(name(1))));
        shape.nodes[2].ended = None;
        assert_eq!(plan_retry(&shape, &RetryMode::All, None), Err(RetryRefusal::Undoing));
        shape.is_undoing = false;
        assert!(plan_retry(&shape, &RetryMode::All, None).is_ok(), "an undo that waits is no part of it");
    }

    #[test]
    fn what_an_undo_has_left_is_for_somebody_to_look_at_first() {
        assert_eq!(check_undone(&undone(ok(), ok())), Ok(()));
        let left = undone(ok(), dead());
        assert_eq!(check_undone(&left), Err(RetryRefusal::LeftUndone(name(3))));
        assert_eq!(plan_retry(&left, &RetryMode::Failed, None).unwrap().undone.len(), 2);
    }

    #[test]
    fn what_was_never_started_is_no_hindrance_and_what_had_succeeded_is_for_good() {
        let passed = |cause| Some((End::Skipped(SkipKind::Untaken), Some(cause)));
        let never = undone(passed(Cause::NeverStarted { node: name(0) }), ok());
        let plan = plan_retry(&never, &RetryMode::Failed, None).unwrap();
        assert_eq!((plan.nodes.len(), plan.undone), (4, HashSet::from([id(1)])));
        let committed = undone(ok(), passed(Cause::Committed));
        let plan = plan_retry(&committed, &RetryMode::Failed, None).unwrap();
        assert_eq!((plan.nodes.len(), plan.undone), (2, HashSet::from([id(0)])));
        assert_eq!(plan_retry(&committed, &RetryMode::All, None), Err(RetryRefusal::Committed(name(1))));
    }

    #[test]
    fn what_failed_runs_again_with_what_was_skipped_below_it_from_the_bottom_up() {
        let shape = shape(
            &[ok(), dead(), skipped(SkipKind::Upstream, 1), skipped(SkipKind::Upstream, 2), ok()],
            &[(0, 1), (1, 2), (2, 3), (0, 4)],
        );
        assert_eq!(planned(&shape, &RetryMode::Failed), [id(3), id(2), id(1)]);
        assert_eq!(planned(&shape, &RetryMode::From(name(2))), [id(3), id(2)]);
        assert_eq!(planned(&shape, &RetryMode::All).len(), 5);
        assert!(plan_retry(&shape, &RetryMode::Failed, None).unwrap().holding.is_empty());
    }

    #[test]
    fn a_skip_by_its_own_handler_or_of_a_branch_that_stays_untaken_is_kept() {
        let itself = Some((End::Skipped(SkipKind::Untaken), Some(Cause::Itself { reason: "no".into() })));
        let shape = shape(
            &[dead(), itself, ok(), skipped(SkipKind::Untaken, 2), skipped(SkipKind::Untaken, 0)],
            &[(0, 1), (2, 3), (0, 4)],
        );
        assert_eq!(planned(&shape, &RetryMode::Failed), [id(4), id(0)]);
    }

    #[test]
    fn the_end_waits_for_a_node_whose_children_will_not() {
        // The handler of the failure has succeeded and stays, so nobody below would hold the end.
        let mut shape = shape(&[dead(), ok(), skipped(SkipKind::Upstream, 0), dead()], &[(0, 1), (2, 3)]);
        assert_eq!(plan_retry(&shape, &RetryMode::Failed, None).unwrap().holding, HashSet::from([id(0)]));
        shape.nodes[3].role = Role::AT_LEAST;
        shape.edges.push(joins((0, 3), Condition::Succeeded));
        assert!(plan_retry(&shape, &RetryMode::Failed, None).unwrap().holding.contains(&id(0)), "it may start without");
    }

    #[test]
    fn what_ends_while_it_is_retried_is_left_alone_but_what_the_stop_or_the_retry_itself_did() {
        let later = Timestamp::from_micros(101);
        let mut shape = shape(&[dead(), dead(), skipped(SkipKind::Upstream, 3), None, dead()], &[(3, 2)]);
        for node in &mut shape.nodes {
            node.ended.iter_mut().for_each(|end| end.at = later);
        }
        assert_eq!(planned(&shape, &RetryMode::Failed), [id(2)], "its parent waits again");
        let cause = Some(Cause::GraphStopped { stop: StopReason::Cancel });
        shape.nodes[1].ended = Some(RetryNodeEnd { end: End::Cancelled, cause, at: later });
        assert_eq!(planned(&shape, &RetryMode::Failed), [id(2), id(1)]);
        assert_eq!(plan_retry(&shape, &RetryMode::Failed, Some(later)).unwrap().nodes.len(), 4);
    }

    #[test]
    fn to_lift_a_cancel_is_something_to_do_while_a_node_has_not_ended() {
        let mut shape = shape(&[ok(), None], &[]);
        assert!(plan_retry(&shape, &RetryMode::Failed, None).unwrap().is_empty());
        shape.stop = Some(StopReason::Cancel);
        assert!(!plan_retry(&shape, &RetryMode::Failed, None).unwrap().is_empty());
        shape.nodes[1].ended = shape.nodes[0].ended.clone();
        assert!(plan_retry(&shape, &RetryMode::Failed, None).unwrap().is_empty());
    }

    #[test]
    fn an_unknown_node_is_refused_by_name() {
        let shape = shape(&[dead(), ok()], &[]);
        let unknown = plan_retry(&shape, &RetryMode::From(name(7)), None);
        assert_eq!(unknown, Err(RetryRefusal::UnknownNode(name(7))));
    }

    #[test]
    fn a_mode_is_stored_as_json_and_read_back() {
        for (mode, text) in [
            (RetryMode::Failed, r#""failed""#),
            (RetryMode::From(name(1)), r#"{"from":"n1"}"#),
            (RetryMode::All, r#""all""#),
        ] {
            assert_eq!(mode.to_stored(), text);
            assert_eq!(RetryMode::from_stored(text).unwrap(), mode);
        }
        assert!(RetryMode::from_stored("some").is_err());
    }
}
