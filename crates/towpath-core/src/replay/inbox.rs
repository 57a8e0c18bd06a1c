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
    /// All of them, in the order in which they came.
    order: BTreeMap<(Timestamp, i64), Label>,
    /// Signals, by number, and the waits to which they mean nothing.
    unfit: HashSet<(i64, Pos)>,
}

/// A signal that a wait of its name has not taken, because it means nothing to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Its number.
    pub seq: i64,
    /// Its name.
    pub name: Label,
    /// What is wrong with it.
    pub problem: String,
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
        Self { seen: taken, ..Self::default() }
    }

    pub(super) fn add(&mut self, line: InboxLine) {
        if self.seen.insert(line.seq) {
            self.order.insert((line.at, line.seq), line.name.clone());
            self.by_label.entry(line.name.clone()).or_default().insert((line.at, line.seq), line);
        }
    }

    /// The numbers of those that were taken.
    pub(super) fn taken(&self) -> Vec<i64> {
        let left: HashSet<i64> = self.order.keys().map(|(_, seq)| *seq).collect();
        let mut taken: Vec<i64> = self.seen.difference(&left).copied().collect();
        taken.sort_unstable();
        taken
    }

    /// How many have been seen, taken or not.
    pub(super) fn known(&self) -> usize {
        self.seen.len()
    }

    /// Whether there is one of this name that no wait has taken.
    pub(super) fn has(&self, label: &Label) -> bool {
        self.by_label.get(label).is_some_and(|lines| !lines.is_empty())
    }

    /// The earliest signal that somebody waits for and that fits; the earliest wait for it gets it. Of two that came at once, the earlier
    /// wait is told first.
    pub(super) fn first(&self, waits: &HashMap<Label, BTreeSet<Pos>>) -> Option<Found> {
        let mut first: Option<Found> = None;
        // With few waits it is quicker to look for each of them than to go through all that came.
        if waits.len() < self.order.len() {
            let found = waits.iter().filter_map(|(label, waits)| {
                let lines = self.by_label.get(label)?.keys();
                let found = lines.filter_map(|(at, seq)| Some((*at, *seq, self.wait_for(*seq, waits)?))).next();
                found.map(|(at, seq, pos)| Found { at, seq, pos, label: label.clone() })
            });
            return found.min_by_key(|found| (found.at, found.pos));
        }
        for ((at, seq), label) in &self.order {
            if first.as_ref().is_some_and(|first| first.at < *at) {
                break;
            }
            let Some(pos) = waits.get(label).and_then(|waits| self.wait_for(*seq, waits)) else { continue };
            if first.as_ref().is_none_or(|first| pos < first.pos) {
                first = Some(Found { at: *at, seq: *seq, pos, label: label.clone() });
            }
        }
        first
    }

    /// The earliest of the waits to which a signal is not known to mean nothing.
    fn wait_for(&self, seq: i64, waits: &BTreeSet<Pos>) -> Option<Pos> {
        if self.unfit.is_empty() {
            return waits.first().copied();
        }
        waits.iter().find(|pos| !self.unfit.contains(&(seq, **pos))).copied()
    }

    /// What a signal carries, as a function is told it.
    pub(super) fn outcome(&self, found: &Found) -> Result<Outcome, String> {
        let line = self.by_label.get(&found.label).and_then(|lines| lines.get(&(found.at, found.seq)));
        line.map_or(Ok(Outcome::null()), InboxLine::outcome)
    }

    /// Leaves a signal where it is: it means nothing to this wait.
    pub(super) fn pass_over(&mut self, found: &Found) {
        self.unfit.insert((found.seq, found.pos));
    }

    pub(super) fn take(&mut self, found: &Found) {
        if let Some(lines) = self.by_label.get_mut(&found.label) {
            lines.remove(&(found.at, found.seq));
            if lines.is_empty() {
                self.by_label.remove(&found.label);
            }
        }
        self.order.remove(&(found.at, found.seq));
    }
}

impl InboxLine {
    /// What it carries, as a function is told it.
    fn outcome(&self) -> Result<Outcome, String> {
        match self.payload.codec {
            _ if self.payload.bytes.is_empty() => Ok(Outcome::null()),
            Codec::Json => Outcome::from_json(&self.payload.bytes).map_err(|e| e.problem),
            Codec::Raw | Codec::Blob => Err("the signal carries raw bytes, and a durable function takes JSON".into()),
        }
    }
}
