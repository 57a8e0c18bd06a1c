//! What runs again waits for what runs again above it, even where a node lies between them that stays as it is.
//!
//! `charge -> label -> ship`: `ship` has failed, `charge` was undone, and `label` has nothing to undo and stands. Its edge would
//! let `ship` start at once, before there is a charge again.

use std::collections::BTreeMap;

use super::{Behind, Condition, RetryEdge, RetryRefusal, RetryView, Role, top_down};
use crate::graph::Verdict;
use crate::lifecycle::{End, SkipKind};
use crate::limits;

/// What a failure of a node that runs again would have made of one below it, had that been decided anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// It would run all the same.
    Runs,
    Untaken,
    Upstream,
}

impl Reach {
    fn end(self) -> End {
        match self {
            Self::Runs => End::Succeeded,
            Self::Untaken => End::Skipped(SkipKind::Untaken),
            Self::Upstream => End::Skipped(SkipKind::Upstream),
        }
    }
}

/// The edges that nodes which run again need besides their own.
pub(super) fn behind(shape: &RetryView, chosen: &[bool]) -> Result<Vec<Behind>, RetryRefusal> {
    let is_plain = |at: usize| !shape.nodes[at].role.has(Role::UNDO);
    let runs_again = |at: usize| is_plain(at) && (chosen[at] || shape.nodes[at].ended.is_none());
    let stays = |at: usize| is_plain(at) && !runs_again(at);
    if !shape.edges.iter().any(|edge| stays(edge.parent) && chosen[edge.child]) {
        return Ok(Vec::new());
    }
    let mut children: Vec<Vec<RetryEdge>> = vec![Vec::new(); shape.nodes.len()];
    shape.edges.iter().for_each(|edge| children[edge.parent].push(*edge));
    let order = top_down(shape);
    let mut places = vec![0_usize; shape.nodes.len()];
    order.iter().enumerate().for_each(|(place, at)| places[*at] = place);
    let mut behind = Vec::new();
    for &above in order.iter().filter(|at| runs_again(**at)) {
        if !children[above].iter().any(|edge| stays(edge.child)) {
            continue;
        }
        for (below, reach) in reached(shape, &children, &places, above, &stays) {
            if !chosen[below] || children[above].iter().any(|edge| edge.child == below) {
                continue;
            }
            let condition = if reach == Reach::Runs { Condition::Finished } else { Condition::Joined };
            behind.push(Behind { child: shape.nodes[below].job, parent: shape.nodes[above].job, condition });
            if behind.len() > limits::BEHIND_MAX {
                return Err(RetryRefusal::Tangled { max: limits::BEHIND_MAX });
            }
        }
    }
    Ok(behind)
}

/// The nodes below one over others that stay, that do not stay themselves, and what a failure of it means to each. One that needs
/// a number of its parents only neither waits for it nor hands on that it failed.
fn reached(
    shape: &RetryView,
    children: &[Vec<RetryEdge>],
    places: &[usize],
    above: usize,
    stays: &impl Fn(usize) -> bool,
) -> Vec<(usize, Reach)> {
    // Top down, so that a node is looked at when all ways to it are known.
    let mut ahead = BTreeMap::from([(places[above], (above, Reach::Runs))]);
    let mut found: BTreeMap<usize, Reach> = BTreeMap::new();
    while let Some((_, (at, reach))) = ahead.pop_first() {
        let end = if at == above { End::Dead } else { reach.end() };
        for edge in &children[at] {
            if shape.nodes[edge.child].role.has(Role::AT_LEAST) {
                continue;
            }
            // What stays would have started where its edge is met, and ends as it did.
            let reach = match edge.verdicts.verdict(end, None, &[]) {
                Verdict::Ok | Verdict::Pass => Reach::Runs,
                Verdict::Untaken => Reach::Untaken,
                Verdict::Spoil => Reach::Upstream,
            };
            if stays(edge.child) {
                let held = ahead.entry(places[edge.child]).or_insert((edge.child, reach));
                held.1 = held.1.max(reach);
            } else if at != above {
                let held = found.entry(edge.child).or_insert(reach);
                *held = (*held).max(reach);
            }
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dead, id, joins, ok, shape};
    use super::super::{RetryMode, plan_retry};
    use super::*;

    /// The edges of the plan of a retry of what failed, by places.
    fn planned(shape: &RetryView) -> Vec<(usize, usize, Condition)> {
        let place = |job| shape.nodes.iter().position(|node| node.job == job).unwrap();
        let plan = plan_retry(shape, &RetryMode::Failed, None).unwrap();
        plan.behind.into_iter().map(|b| (place(b.parent), place(b.child), b.condition)).collect()
    }

    /// `0 -> 1 -> 2`, of which 1 stays; 0 was undone by 3.
    fn charged() -> RetryView {
        let mut shape = shape(&[ok(), ok(), dead(), ok()], &[(0, 1), (1, 2)]);
        (shape.nodes[3].role, shape.nodes[3].guards) = (Role::UNDO, Some(0));
        shape
    }

    #[test]
    fn a_node_waits_for_one_that_was_undone_over_one_that_stays() {
        assert_eq!(planned(&charged()), [(0, 2, Condition::Joined)]);
        let mut shape = charged();
        shape.edges.push(joins((0, 2), Condition::Finished));
        assert_eq!(planned(&shape), [], "it waits for it already");
    }

    #[test]
    fn what_survives_a_failure_waits_for_any_end() {
        let mut shape = charged();
        shape.edges[0] = joins((0, 1), Condition::Finished);
        assert_eq!(planned(&shape), [(0, 2, Condition::Finished)]);
        // By another path it does not survive it.
        shape.nodes.push(shape.nodes[1].clone());
        shape.nodes[4].job = id(4);
        shape.edges.extend([joins((0, 4), Condition::Succeeded), joins((4, 2), Condition::Succeeded)]);
        assert_eq!(planned(&shape), [(0, 2, Condition::Joined)]);
        // A cleanup behind it would run whatever became of it.
        shape.edges[3] = joins((4, 2), Condition::Finished);
        assert_eq!(planned(&shape), [(0, 2, Condition::Finished)]);
    }

    #[test]
    fn one_that_needs_a_number_of_its_parents_does_not_wait() {
        let mut shape = charged();
        shape.nodes[2].role = Role::AT_LEAST;
        assert_eq!(planned(&shape), []);
    }

    #[test]
    fn what_lies_further_up_is_waited_for_by_what_runs_again_first() {
        // 0 -> 1 -> 2 -> 3 -> 4: 0, 2 and 4 run again, 1 and 3 stay.
        let shape = shape(&[dead(), ok(), dead(), ok(), dead()], &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(planned(&shape), [(0, 2, Condition::Joined), (2, 4, Condition::Joined)]);
    }
}
