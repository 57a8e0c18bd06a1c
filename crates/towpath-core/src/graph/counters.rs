//! What a node knows of its parents: four counters and the edge to blame.

use super::condition::Verdict;

/// A node's counters, and what they must say for it to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeCounters {
    /// Parents that have not ended.
    pub left: u32,
    /// Parents that ended as their edges ask.
    pub ok: u32,
    /// Parents whose edges are untaken.
    pub untaken: u32,
    /// Parents whose edges are spoiled.
    pub spoiled: u32,
    /// How many `ok` it takes.
    pub need: u32,
    /// Whether enough `ok` start it while parents are left.
    pub eager: bool,
    /// The edge to blame, if one is.
    pub cause: Option<CauseRank>,
}

/// Which edge is to blame: spoiled ones before untaken ones, then the lowest.
///
/// One number orders them, so that a store keeps the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CauseRank(i64);

impl CauseRank {
    const UNTAKEN: i64 = 1 << 32;

    /// The rank of an edge with this place in its graph; `None` for a verdict that blames nobody.
    pub fn new(verdict: Verdict, ord: u32) -> Option<Self> {
        match verdict {
            Verdict::Spoil => Some(Self(i64::from(ord))),
            Verdict::Untaken => Some(Self(Self::UNTAKEN | i64::from(ord))),
            Verdict::Ok | Verdict::Pass => None,
        }
    }

    /// The rank of a stored number.
    pub const fn from_stored(rank: i64) -> Self {
        Self(rank)
    }

    /// The number that stores keep.
    pub const fn stored(self) -> i64 {
        self.0
    }
}

/// What a node's counters say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It waits for more parents.
    Waits,
    /// It starts.
    Ready,
    /// All parents have ended and it may not simply start: the core decides.
    Undecided,
}

impl NodeCounters {
    /// A node whose parents have all yet to end. A root needs none.
    pub fn fresh(left: u32, need: u32, eager: bool) -> Self {
        Self { left, ok: 0, untaken: 0, spoiled: 0, need, eager, cause: None }
    }

    /// Counts one ended parent.
    pub fn add(&mut self, verdict: Verdict, ord: u32) {
        self.left = self.left.saturating_sub(1);
        match verdict {
            Verdict::Ok => self.ok += 1,
            Verdict::Spoil => self.spoiled += 1,
            Verdict::Untaken => self.untaken += 1,
            Verdict::Pass => {}
        }
        if let Some(rank) = CauseRank::new(verdict, ord) {
            self.cause = Some(self.cause.map_or(rank, |held| held.min(rank)));
        }
    }

    /// Takes back one parent that had been counted and is to end again. The edge to blame stays until a recount.
    pub fn remove(&mut self, verdict: Verdict) {
        self.left += 1;
        let counted = match verdict {
            Verdict::Ok => &mut self.ok,
            Verdict::Spoil => &mut self.spoiled,
            Verdict::Untaken => &mut self.untaken,
            Verdict::Pass => return,
        };
        *counted = counted.saturating_sub(1);
    }

    /// What they say.
    pub fn standing(&self) -> Standing {
        if self.eager && self.ok >= self.need {
            return Standing::Ready;
        }
        if self.left > 0 {
            return Standing::Waits;
        }
        if self.spoiled == 0 && self.untaken == 0 && self.ok >= self.need {
            return Standing::Ready;
        }
        Standing::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spoiled_edge_is_blamed_before_an_untaken_one_then_the_lowest() {
        let mut node = NodeCounters::fresh(4, 1, false);
        node.add(Verdict::Untaken, 1);
        assert_eq!(node.cause, CauseRank::new(Verdict::Untaken, 1));
        node.add(Verdict::Spoil, 7);
        node.add(Verdict::Spoil, 5);
        assert_eq!(node.cause, CauseRank::new(Verdict::Spoil, 5));
        assert_eq!(node.standing(), Standing::Waits);
        node.add(Verdict::Ok, 9);
        assert_eq!(node.standing(), Standing::Undecided);
    }

    #[test]
    fn at_least_starts_with_enough_and_a_join_does_not() {
        let mut eager = NodeCounters::fresh(3, 1, true);
        let mut join = NodeCounters::fresh(3, 1, false);
        for node in [&mut eager, &mut join] {
            node.add(Verdict::Ok, 0);
        }
        assert_eq!((eager.standing(), join.standing()), (Standing::Ready, Standing::Waits));
        join.add(Verdict::Pass, 1);
        join.add(Verdict::Ok, 2);
        assert_eq!(join.standing(), Standing::Ready);
    }

    #[test]
    fn only_passes_leave_it_undecided() {
        let mut node = NodeCounters::fresh(1, 1, false);
        node.add(Verdict::Pass, 0);
        assert_eq!((node.standing(), node.cause), (Standing::Undecided, None));
    }
}
