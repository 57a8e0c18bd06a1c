//! Edge conditions, written out as data: what each end of a parent means to the edge.

use std::fmt;

use crate::lifecycle::{End, SkipKind};
use crate::name::Label;

/// How a parent must end for its child to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// It succeeded.
    #[default]
    Succeeded,
    /// It ended, however.
    Finished,
    /// It is dead or quarantined.
    Failed,
    /// It is a gate and chose this branch.
    Branch(Label),
    /// It is the last node of a branch that joins here: passed over when the branch was not taken.
    Joined,
}

impl Condition {
    /// The condition written out for every end of the parent.
    ///
    /// For `Branch` the entry of success holds when the label was chosen; when it was not, the edge
    /// is untaken.
    pub fn table(&self) -> VerdictTable {
        use Verdict::{Ok, Pass, Spoil, Untaken};
        // In the order of `End::ALL`: succeeded, dead, quarantined, cancelled, untaken, upstream.
        VerdictTable::new(match self {
            Self::Succeeded | Self::Branch(_) => [Ok, Spoil, Spoil, Spoil, Untaken, Spoil],
            Self::Finished => [Ok, Ok, Ok, Ok, Pass, Ok],
            Self::Failed => [Untaken, Ok, Ok, Untaken, Untaken, Spoil],
            Self::Joined => [Ok, Spoil, Spoil, Spoil, Pass, Spoil],
        })
    }

    /// The condition that an edge was written with, if this build knows it.
    pub fn of(verdicts: VerdictTable, label: Option<&Label>) -> Option<Self> {
        if let Some(label) = label {
            return Some(Self::Branch(label.clone()));
        }
        let known = [Self::Succeeded, Self::Finished, Self::Failed, Self::Joined];
        known.into_iter().find(|condition| condition.table() == verdicts)
    }

    /// Whether there is an end of the parent that is as all of these ask.
    ///
    /// ```
    /// # use towpath_core::Condition;
    /// assert!(Condition::hold_together(&[&Condition::Failed, &Condition::Finished]));
    /// assert!(!Condition::hold_together(&[&Condition::Failed, &Condition::Succeeded]));
    /// ```
    pub fn hold_together(conditions: &[&Self]) -> bool {
        // A gate may choose several branches.
        let chosen: Vec<Label> = conditions.iter().filter_map(|condition| condition.label().cloned()).collect();
        End::ALL.into_iter().any(|end| {
            let verdict = |condition: &&Self| condition.table().verdict(end, condition.label(), &chosen);
            conditions.iter().all(|condition| matches!(verdict(condition), Verdict::Ok | Verdict::Pass))
        })
    }

    /// The branch it asks for, if it asks for one.
    pub fn label(&self) -> Option<&Label> {
        match self {
            Self::Branch(label) => Some(label),
            _ => None,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded => f.write_str("succeeded"),
            Self::Finished => f.write_str("finished"),
            Self::Failed => f.write_str("failed"),
            Self::Branch(label) => write!(f, "branch {label}"),
            Self::Joined => f.write_str("joined"),
        }
    }
}

/// What an end of the parent means to an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// As the edge asks.
    Ok,
    /// Not as the edge asks, and something went wrong.
    Spoil,
    /// Not as the edge asks, and nothing went wrong.
    Untaken,
    /// It does not matter to this edge.
    Pass,
}

impl Verdict {
    const ALL: [Self; 4] = [Self::Ok, Self::Spoil, Self::Untaken, Self::Pass];

    /// The two bits that stand for it in a table, and in SQL.
    pub const fn code(self) -> i32 {
        self as i32
    }
}

/// An edge's verdicts: two bits for each end, in the order of [`End::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerdictTable(i32);

impl VerdictTable {
    fn new(verdicts: [Verdict; 6]) -> Self {
        let mut bits = 0;
        for (at, verdict) in verdicts.into_iter().enumerate() {
            bits |= verdict.code() << (2 * at);
        }
        Self(bits)
    }

    /// The table of a stored number.
    pub const fn from_bits(bits: i32) -> Self {
        Self(bits)
    }

    /// The number that stores keep: the verdict of an end is `(bits >> (2 * code)) & 3`.
    pub const fn bits(self) -> i32 {
        self.0
    }

    /// What this end of the parent means. `label` is the branch that the edge asks for and `chosen`
    /// those that the parent named.
    pub fn verdict(self, end: End, label: Option<&Label>, chosen: &[Label]) -> Verdict {
        let verdict = Verdict::ALL[((self.0 >> (2 * end.code())) & 3) as usize];
        match label {
            Some(label) if end == End::Succeeded && !chosen.contains(label) => Verdict::Untaken,
            _ => verdict,
        }
    }
}

impl fmt::Debug for VerdictTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(End::ALL.map(|end| self.verdict(end, None, &[]))).finish()
    }
}

/// Untaken ends count as such even where a branch was not taken further up.
const _: () = assert!(End::Skipped(SkipKind::Untaken).code() == 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_guarantees_page() {
        let row = |condition: Condition| {
            let table = condition.table();
            End::ALL.map(|end| match table.verdict(end, None, &[]) {
                Verdict::Ok => "ok",
                Verdict::Spoil => "spoil",
                Verdict::Untaken => "untaken",
                Verdict::Pass => "pass",
            })
        };
        assert_eq!(row(Condition::Succeeded), ["ok", "spoil", "spoil", "spoil", "untaken", "spoil"]);
        assert_eq!(row(Condition::Finished), ["ok", "ok", "ok", "ok", "pass", "ok"]);
        assert_eq!(row(Condition::Failed), ["untaken", "ok", "ok", "untaken", "untaken", "spoil"]);
        assert_eq!(row(Condition::Joined), ["ok", "spoil", "spoil", "spoil", "pass", "spoil"]);
    }

    #[test]
    fn two_conditions_hold_together_if_one_end_is_as_both_ask() {
        use Condition::{Branch, Failed, Finished, Joined, Succeeded};
        let branch = |label| Branch(Label::from_stored(label));
        for (a, b, together) in [
            (Succeeded, Failed, false),
            (Failed, Joined, false),
            (branch("yes"), Failed, false),
            (Finished, Failed, true),
            (Finished, Succeeded, true),
            (Succeeded, Joined, true),
            (Succeeded, branch("yes"), true),
            (branch("no"), branch("yes"), true),
        ] {
            assert_eq!(Condition::hold_together(&[&a, &b]), together, "{a} {b}");
        }
    }

    #[test]
    fn a_branch_is_ok_only_when_chosen() {
        let yes = Label::from_stored("yes");
        let no = Label::from_stored("no");
        let table = Condition::Branch(yes.clone()).table();
        assert_eq!(table.verdict(End::Succeeded, Some(&yes), std::slice::from_ref(&yes)), Verdict::Ok);
        assert_eq!(table.verdict(End::Succeeded, Some(&yes), &[no]), Verdict::Untaken);
        assert_eq!(table.verdict(End::Dead, Some(&yes), &[]), Verdict::Spoil);
    }
}
