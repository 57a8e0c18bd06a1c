//! Where in the head this process claims from: below it lie mostly rows that are gone.
//!
//! A mark is a hint and may be wrong: rows of another process's slow commit can lie below it. So marks are dropped when
//! a batch falls short, and every second.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A part of a lane to look through: from (turnout, seq), up to a turnout that is not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) lane: i32,
    pub(crate) from_turnout: i32,
    pub(crate) from_seq: i64,
    pub(crate) to_turnout: i32,
}

/// The marks of one process.
pub(crate) struct LowWater {
    /// By lane and turnout: the seq from which to claim.
    marks: HashMap<(i32, i32), i64>,
    /// By lane: the least seq that was inserted while a claim was under way.
    inserted: HashMap<i32, i64>,
    dropped_at: Instant,
}

/// How long a row below a mark may be overlooked.
const RESCAN: Duration = Duration::from_secs(1);
const LEAST: i32 = -100_000;
const MOST: i32 = 100_000;

impl LowWater {
    pub(crate) fn new(now: Instant) -> Self {
        Self { marks: HashMap::new(), inserted: HashMap::new(), dropped_at: now }
    }

    /// Where to look in the lanes that have marks, as a claim begins.
    pub(crate) fn reaches(&mut self, now: Instant) -> Vec<Reach> {
        self.inserted.clear();
        if now.duration_since(self.dropped_at) >= RESCAN {
            self.forget();
            self.dropped_at = now;
        }
        let mut marks: Vec<_> = self.marks.iter().map(|((lane, turnout), seq)| (*lane, *turnout, *seq)).collect();
        marks.sort_unstable();
        let mut reaches = Vec::with_capacity(2 * marks.len() + 2);
        for (at, &(lane, turnout, seq)) in marks.iter().enumerate() {
            let from_turnout = match at.checked_sub(1).map(|before| marks[before]) {
                Some((same, before, _)) if same == lane => before + 1,
                _ => LEAST,
            };
            reaches.push(Reach { lane, from_turnout, from_seq: 0, to_turnout: turnout });
            reaches.push(Reach { lane, from_turnout: turnout, from_seq: seq, to_turnout: turnout + 1 });
            if marks.get(at + 1).is_none_or(|next| next.0 != lane) {
                reaches.push(Reach { lane, from_turnout: turnout + 1, from_seq: 0, to_turnout: MOST });
            }
        }
        reaches.retain(|reach| reach.from_turnout < reach.to_turnout);
        reaches
    }

    /// A claim took the row with this seq.
    pub(crate) fn claimed(&mut self, lane: i32, turnout: i32, seq: i64) {
        let next = self.inserted.get(&lane).copied().unwrap_or(i64::MAX).min(seq + 1);
        let mark = self.marks.entry((lane, turnout)).or_insert(next);
        *mark = next.max(*mark);
    }

    /// This process has inserted rows from this seq on.
    pub(crate) fn inserted(&mut self, lane: i32, first: i64) {
        let least = self.inserted.entry(lane).or_insert(first);
        *least = first.min(*least);
        for ((_, _), mark) in self.marks.iter_mut().filter(|((of, _), _)| *of == lane) {
            *mark = first.min(*mark);
        }
    }

    /// Looks through everything the next time.
    pub(crate) fn forget(&mut self) {
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(from_turnout: i32, from_seq: i64, to_turnout: i32) -> Reach {
        Reach { lane: 1, from_turnout, from_seq, to_turnout }
    }

    #[test]
    fn a_mark_hides_only_what_lies_below_it_in_its_turnout() {
        let now = Instant::now();
        let mut marks = LowWater::new(now);
        marks.claimed(1, 0, 41);
        marks.claimed(1, 0, 40);
        marks.claimed(1, -5, 7);
        let reaches = marks.reaches(now);
        assert_eq!(
            reaches,
            [reach(LEAST, 0, -5), reach(-5, 8, -4), reach(-4, 0, 0), reach(0, 42, 1), reach(1, 0, MOST)]
        );
    }

    #[test]
    fn an_insert_below_a_mark_lowers_it_even_while_a_claim_is_under_way() {
        let now = Instant::now();
        let mut marks = LowWater::new(now);
        marks.claimed(1, 0, 41);
        marks.reaches(now);
        marks.inserted(1, 30);
        marks.claimed(1, 0, 50);
        assert!(marks.reaches(now).contains(&reach(0, 30, 1)), "the claim did not see the insert");
        marks.claimed(1, 0, 50);
        assert!(marks.reaches(now).contains(&reach(0, 51, 1)), "the next claim did");
    }

    #[test]
    fn marks_are_dropped_every_second() {
        let now = Instant::now();
        let mut marks = LowWater::new(now);
        marks.claimed(1, 0, 41);
        assert_eq!(marks.reaches(now + RESCAN).len(), 0);
    }
}
