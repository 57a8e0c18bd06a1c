//! What the journal says, by place.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::carried::Carried;
use super::entry::{Entry, Ident, Outcome, Pos};
use super::interrupt::{Disagreement, Mismatch};
use crate::time::Timestamp;

/// What was recorded of a run so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) began: Option<(Timestamp, u16)>,
    pub(super) deliveries: VecDeque<Recorded>,
    pub(super) patched: HashSet<String>,
    /// The inbox numbers of signals that were taken.
    pub(super) taken: HashSet<i64>,
    /// How often steps have failed, and when they are tried again.
    failed: HashMap<Pos, (u32, Timestamp)>,
    /// Operations whose children are stored.
    started: HashSet<Pos>,
    idents: HashMap<Pos, Ident>,
    /// Recorded as opened, and not yet reached by the code.
    unreached: BTreeSet<Pos>,
    done: HashSet<Pos>,
    last: Option<Pos>,
    has_ended: bool,
    /// Whether the journal has a line that says that the function is over.
    pub(super) has_left: bool,
    /// How many lines are behind the first one.
    lines: u32,
    /// What was carried over from another journal.
    pub(super) carried: Option<Box<Carried>>,
}

/// A recorded delivery.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) pos: Pos,
    pub(super) at: Timestamp,
    pub(super) outcome: Outcome,
    pub(super) alone: bool,
}

impl Record {
    pub(super) fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut record = Self::default();
        for entry in entries {
            record.add(entry);
        }
        record
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Began { at, version, carried, .. } => {
                self.began = Some((at, version));
                self.carried = carried;
                return;
            }
            Entry::Opened { pos, op, .. } => self.note(pos, op),
            Entry::Started { pos } => {
                self.started.insert(pos);
            }
            Entry::Failed { pos, failures, due, .. } => {
                self.failed.insert(pos, (failures, due));
            }
            Entry::Patched { id } => {
                self.patched.insert(id);
            }
            Entry::Done { pos, op, at, outcome, arrival, alone, .. } => {
                self.note(pos, op);
                self.done.insert(pos);
                // What another run has taken was never in this one's inbox.
                let is_foreign = self.carried.as_ref().is_some_and(|carried| self.lines < carried.foreign);
                self.taken.extend(arrival.filter(|_| !is_foreign));
                self.deliveries.push_back(Recorded { pos, at, outcome, alone });
            }
            Entry::Left { .. } => self.has_left = true,
            Entry::Ended { .. } | Entry::Continued { .. } => self.has_ended = true,
        }
        self.lines += 1;
    }

    fn note(&mut self, pos: Pos, op: Ident) {
        self.unreached.insert(pos);
        self.idents.insert(pos, op);
        self.last = self.last.max(Some(pos));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.began.is_none()
    }

    /// Whether there is something to replay: of a chapter that has just begun there is only its first line.
    pub(super) fn has_lines(&self) -> bool {
        self.lines > 0
    }

    /// Whether all that is left to tell is the end of what was carried over, and nothing was written since: what that end
    /// causes may be in no line.
    pub(super) fn is_at_end_of_carried(&self) -> bool {
        self.deliveries.is_empty() && self.carried.as_ref().is_some_and(|carried| carried.lines == self.lines)
    }

    /// Whether the code runs behind the journal: something is recorded that it has not come to.
    pub(super) fn is_ahead_of(&self, next: Pos) -> bool {
        !self.deliveries.is_empty() || self.has_ended || self.last.is_some_and(|last| last >= next)
    }

    /// The code has come to an operation: whether the journal knows it.
    pub(super) fn reach(&mut self, pos: Pos, code: &Ident) -> Result<bool, Box<Mismatch>> {
        let Some(journal) = self.idents.get(&pos) else { return Ok(false) };
        self.unreached.remove(&pos);
        match Disagreement::between(journal, code) {
            None => Ok(true),
            Some(how) => Err(Box::new(Mismatch {
                pos,
                how,
                journal: Some(journal.clone()),
                code: Some(code.clone()),
                place: None,
            })),
        }
    }

    /// Whether its outcome is recorded.
    pub(super) fn is_done(&self, pos: Pos) -> bool {
        self.done.contains(&pos)
    }

    /// Whether its child is stored.
    pub(super) fn is_started(&self, pos: Pos) -> bool {
        self.started.contains(&pos)
    }

    pub(super) fn failures_of(&self, pos: Pos) -> Option<(u32, Timestamp)> {
        self.failed.get(&pos).copied()
    }

    /// An operation that the journal has and the code has not come to.
    pub(super) fn missed(&self, pos: Pos, how: Disagreement) -> Box<Mismatch> {
        let journal = self.idents.get(&pos).cloned();
        Box::new(Mismatch { pos, how, journal, code: None, place: None })
    }

    /// Whether the delivery that was taken last is the last, and nothing follows it.
    pub(super) fn is_at_its_end(&self) -> bool {
        self.deliveries.is_empty() && self.unreached.is_empty() && !self.has_ended
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn first_unreached(&self) -> Option<Pos> {
        self.unreached.first().copied()
    }
}
