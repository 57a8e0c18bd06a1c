//! Signals that have come and that no wait has taken.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::entry::{Outcome, Pos};
use crate::name::Label;
use crate::payload::Codec;
use crate::store::InboxLine;
use crate::time::Timestamp;

#[derive(Debug, Default)]
pub(super) struct Inbox {
    by_label: HashMap<Label, BTreeMap<(Timestamp, i64), InboxLine>>,
    /// Numbers that were seen, so that none is taken in twice.
    seen: HashSet<i64>,
    len: usize,
}

/// A signal and the wait that it is for.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) at: Timestamp,
    pub(super) seq: i64,
    pub(super) pos: Pos,
    pub(super) label: Label,
}

impl Inbox {
    /// An inbox from which these were taken.
    pub(super) fn new(taken: HashSet<i64>) -> Self {
        Self { by_label: HashMap::new(), seen: taken, len: 0 }
    }

    pub(super) fn add(&mut self, line: InboxLine) {
        if self.seen.insert(line.seq) {
            self.len += 1;
            self.by_label.entry(line.name.clone()).or_default().insert((line.at, line.seq), line);
        }
    }

    /// How many have been seen, taken or not.
    pub(super) fn known(&self) -> usize {
        self.seen.len()
    }

    /// The earliest signal that somebody waits for; the earliest wait for it gets it.
    pub(super) fn first(&self, waits: &HashMap<Label, BTreeSet<Pos>>) -> Option<Found> {
        if self.len == 0 {
            return None;
        }
        let found = waits.iter().filter_map(|(label, waits)| {
            let ((at, seq), _) = self.by_label.get(label)?.first_key_value()?;
            Some(Found { at: *at, seq: *seq, pos: *waits.first()?, label: label.clone() })
        });
        found.min_by_key(|found| (found.at, found.pos))
    }

    pub(super) fn take(&mut self, found: &Found) -> Option<InboxLine> {
        let line = self.by_label.get_mut(&found.label)?.remove(&(found.at, found.seq))?;
        self.len -= 1;
        Some(line)
    }
}

impl InboxLine {
    /// What it carries, as a function is told it.
    pub(super) fn outcome(&self) -> Result<Outcome, String> {
        match self.payload.codec {
            _ if self.payload.bytes.is_empty() => Ok(Outcome::null()),
            Codec::Json => Outcome::from_json(&self.payload.bytes).map_err(|e| e.problem),
            Codec::Raw => Err("the signal carries raw bytes, and a durable function takes JSON".into()),
        }
    }
}
