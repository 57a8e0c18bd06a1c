//! Undos of a graph that has failed or was cancelled: which start, which are passed over, and what came of them.
//!
//! A graph's `end` is decided once for each rank: it starts the undos of the highest rank that is left, waits for them by
//! edges, and is decided again. So a barrier is stored as edges, and a decision whose answer is lost is taken again.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::{Count, GraphEnd, Role};
use crate::lifecycle::{Cause, End};
use crate::limits;
use crate::name::NodeName;

/// How the undos of a graph stand when its `end` is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undoing {
    /// How the graph had ended when its undos were first looked at; `None` if they never were.
    pub verdict: Option<GraphEnd>,
    /// The rank that was started last.
    pub rank: Option<u32>,
    /// Undos that were started and that `end` still waits for.
    pub running: u32,
    /// Undos that nobody has decided about, the highest rank first, at most [`limits::UNDOS_MAX`].
    pub waiting: Vec<Guard>,
}

/// An undo that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The store's number of its job.
    pub key: i64,
    /// The longest path from a root to what it guards.
    pub rank: u32,
    /// What it guards.
    pub node: NodeName,
    /// How that stands.
    pub guarded: Guarded,
}

/// How a node stands to its undo, when all nodes of its graph have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guarded {
    /// It was with a handler at least once.
    Started,
    /// It never was.
    NeverStarted,
    /// Its graph had succeeded, and grew afterwards.
    Committed,
}

/// What becomes of a graph's undos by one decision of its `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoStep {
    /// How the graph ends when they are over.
    pub verdict: GraphEnd,
    /// The rank of those that start; `None` if none does.
    pub rank: Option<u32>,
    /// The undos that start, by the store's number. `end` waits for them.
    pub start: Vec<i64>,
    /// The undos that end without having run.
    pub pass: Vec<Passed>,
    /// Whether `end` is decided again before they have ended: there may be more of the rank.
    pub more: bool,
}

/// An undo that is not needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The store's number of its job.
    pub key: i64,
    /// Why.
    pub cause: Cause,
}

impl Undoing {
    /// Whether the decision goes by how the nodes of the graph have ended, which takes a look at all of them: the first
    /// one and the last one.
    pub fn wants_counts(&self) -> bool {
        self.verdict.is_none() || self.is_over()
    }

    /// Whether there is nothing left to start, to pass over or to wait for.
    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running == 0
    }

    /// What to do about the undos of a graph that ends so; `None` if nothing is left of them, and the graph is over.
    ///
    /// A graph that succeeded needs none. Else those run whose node was started, one rank after the other.
    pub fn step(&self, end: GraphEnd) -> Option<UndoStep> {
        if self.is_over() {
            return None;
        }
        let verdict = self.verdict.unwrap_or(end);
        let runs = |guard: &Guard| verdict != GraphEnd::Succeeded && guard.guarded == Guarded::Started;
        // Whatever still runs is of the rank that was started last: nothing below it starts beside it.
        let barrier = if self.running > 0 { self.rank } else { None };
        let highest = || self.waiting.iter().find(|guard| runs(guard)).map(|guard| guard.rank);
        let rank = barrier.or_else(highest);
        let mut step = UndoStep { verdict, rank: None, start: Vec::new(), pass: Vec::new(), more: false };
        for guard in &self.waiting {
            if !runs(guard) {
                let cause = match guard.guarded {
                    Guarded::NeverStarted if verdict != GraphEnd::Succeeded => {
                        Cause::NeverStarted { node: guard.node.clone() }
                    }
                    _ => Cause::Committed,
                };
                step.pass.push(Passed { key: guard.key, cause });
            } else if Some(guard.rank) == rank {
                step.start.push(guard.key);
                step.rank = rank;
            }
        }
        let is_full = self.waiting.len() >= limits::UNDOS_MAX as usize;
        step.more = is_full && rank.is_none_or(|rank| self.waiting.last().is_some_and(|last| last.rank >= rank));
        Some(step)
    }
}

/// What came of the undos of a graph that failed or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compensation {
    /// Undos run, or are about to.
    Running,
    /// All that was to be undone is.
    Complete,
    /// An undo is dead, quarantined or cancelled: what it guards is not undone.
    Incomplete,
}

impl Compensation {
    /// What came of them: `None` if no undo of the graph was ever started, `counts` those of a graph that is over.
    pub fn of(rank: Option<u32>, counts: Option<&[Count]>) -> Option<Self> {
        rank?;
        let Some(counts) = counts else { return Some(Self::Running) };
        let is_left = |c: &Count| {
            let is_not_undone = c.end.is_failure() || c.end == End::Cancelled;
            c.nodes > 0 && c.role.has(Role::UNDO) && is_not_undone
        };
        Some(if counts.iter().any(is_left) { Self::Incomplete } else { Self::Complete })
    }

    /// The same by what stores keep: the counts as a JSON list of [end, role, nodes].
    ///
    /// # Errors
    /// The text is no such list: the row is corrupt.
    pub fn of_stored(rank: Option<u32>, counts: Option<&str>) -> Result<Option<Self>, serde_json::Error> {
        let (Some(_), Some(counts)) = (rank, counts) else { return Ok(Self::of(rank, None)) };
        let counts: Vec<(i16, i16, u32)> = serde_json::from_str(counts)?;
        let count = |(end, role, nodes)| Some(Count { end: End::from_code(end)?, role: Role::from_bits(role), nodes });
        let counts: Vec<Count> = counts.into_iter().filter_map(count).collect();
        Ok(Self::of(rank, Some(&counts)))
    }

    /// Whether a graph whose undos stand so may be tried again in place, unless somebody accepts what is not undone.
    pub fn lets_retry(this: Option<Self>) -> bool {
        matches!(this, None | Some(Self::Complete))
    }

    /// The word that people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
        }
    }
}

impl fmt::Display for Compensation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(key: i64, rank: u32, guarded: Guarded) -> Guard {
        Guard { key, rank, node: NodeName::from_stored(&format!("n{key}")), guarded }
    }

    fn waiting(guards: Vec<Guard>) -> Undoing {
        Undoing { waiting: guards, ..Undoing::default() }
    }

    #[test]
    fn the_highest_rank_starts_and_what_never_started_is_passed_over_at_once() {
        use Guarded::{NeverStarted, Started};
        let guards = vec![guard(4, 3, NeverStarted), guard(2, 2, Started), guard(3, 2, Started), guard(1, 0, Started)];
        let step = waiting(guards).step(GraphEnd::Failed).unwrap();
        assert_eq!((step.start, step.rank, step.more), (vec![2, 3], Some(2), false));
        assert_eq!(step.pass[0].cause.to_string(), "n4 was never started");
        assert_eq!(step.pass.len(), 1);
    }

    #[test]
    fn nothing_of_a_graph_that_succeeded_is_undone() {
        let step = waiting(vec![guard(1, 0, Guarded::Started)]).step(GraphEnd::Succeeded).unwrap();
        assert_eq!((step.start, step.rank), (Vec::new(), None));
        assert_eq!(step.pass[0].cause, Cause::Committed);
    }

    #[test]
    fn what_was_committed_stays_when_a_later_part_fails() {
        let guards = vec![guard(2, 1, Guarded::Started), guard(1, 0, Guarded::Committed)];
        let step = waiting(guards).step(GraphEnd::Failed).unwrap();
        assert_eq!((step.start, step.pass[0].key), (vec![2], 1));
    }

    #[test]
    fn a_rank_that_is_more_than_one_decision_takes_holds_back_the_next_one() {
        let of_rank = |rank| move |key| guard(key, rank, Guarded::Started);
        let max = i64::from(limits::UNDOS_MAX);
        let first = waiting((1..=max).map(of_rank(5)).collect()).step(GraphEnd::Failed).unwrap();
        assert!(first.more, "there may be more of it");
        let beside = Undoing { verdict: Some(GraphEnd::Failed), rank: Some(5), running: 3, waiting: Vec::new() };
        let next = Undoing { waiting: vec![guard(900, 4, Guarded::Started)], ..beside.clone() };
        let step = next.step(GraphEnd::Failed).unwrap();
        assert_eq!((step.start.len(), step.more), (0, false), "the lower rank waits");
        let rest = Undoing { waiting: vec![guard(900, 5, Guarded::Started)], ..beside.clone() };
        assert_eq!(rest.step(GraphEnd::Failed).unwrap().start, [900]);
        assert!(beside.step(GraphEnd::Failed).is_some(), "it is not over while they run");
        assert!(Undoing { running: 0, ..beside }.step(GraphEnd::Failed).is_none());
    }

    #[test]
    fn the_verdict_stays_what_it_was_when_the_undos_began() {
        let undoing = Undoing { verdict: Some(GraphEnd::Cancelled), ..waiting(vec![guard(1, 0, Guarded::Started)]) };
        assert_eq!(undoing.step(GraphEnd::Succeeded).unwrap().verdict, GraphEnd::Cancelled);
    }

    #[test]
    fn a_dead_undo_leaves_the_compensation_incomplete() {
        let count = |end, role| Count { end, role, nodes: 1 };
        let dead_node = count(End::Dead, Role::PLAIN);
        assert_eq!(Compensation::of(None, Some(&[dead_node])), None);
        assert_eq!(Compensation::of(Some(0), None), Some(Compensation::Running));
        let undone = [dead_node, count(End::Succeeded, Role::UNDO)];
        assert_eq!(Compensation::of(Some(0), Some(&undone)), Some(Compensation::Complete));
        let left = [count(End::Succeeded, Role::UNDO), count(End::Dead, Role::UNDO)];
        let left = Compensation::of(Some(0), Some(&left));
        assert_eq!((left, Compensation::lets_retry(left)), (Some(Compensation::Incomplete), false));
    }
}
