//! What a retry or a fork takes over from a journal: the lines up to a place, or all but the failures that ended the run.
//!
//! Only what the function was told decides. Lines behind a cut are left out, and so are failures of which nothing follows:
//! what is not told then is as if it had taken longer. Nothing else can be taken out of the middle of a history.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Ident, OpKind, Outcome, Pos, hex};
use super::seed_of;
use crate::id::JobId;
use crate::lifecycle::End;
use crate::store::{ChildEnd, Parent};
use crate::time::Timestamp;

/// What the first line of a journal says of the lines that follow it and were another's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// How many lines they are.
    pub lines: u32,
    /// Where random numbers come from at their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<Seed>,
    /// The chapter that stands in the keys of steps, if it is not this one: a retry is another attempt of the same steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed: Option<u32>,
    /// How many of them, the first ones, are of another run: the signals that it took are in no inbox of this one.
    #[serde(default, skip_serializing_if = "is_none")]
    pub foreign: u32,
    /// From when the longest time of the function counts. A store does not keep it: it is when the line was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// Up to which place random numbers come from a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// Below this place.
    pub below: Pos,
    /// The seed.
    #[serde(with = "hex")]
    pub seed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(lines: &u32) -> bool {
    *lines == 0
}

impl Carried {
    /// The seed of what is drawn before the operation at this place is built; `None` from the run's own.
    pub(super) fn seed_at(&self, next: Pos) -> Option<u64> {
        self.seeds.iter().find(|seed| next < seed.below).map(|seed| seed.seed)
    }

    /// Notes when the line was written. What begins at the beginning begins then.
    pub(super) fn written(&mut self, began: &mut Timestamp, at: Timestamp) {
        self.since.get_or_insert(at);
        if self.seeds.is_empty() {
            *began = at;
        }
    }
}

/// Lines of a journal, its first one left out: those with a lower number, without some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The first line that is not kept; at least 1.
    pub below: u32,
    /// Lines below that are not kept either, by number.
    pub without: Vec<u32>,
}

impl Kept {
    /// How many lines they are.
    pub fn lines(&self) -> u32 {
        self.below.saturating_sub(1).saturating_sub(u32::try_from(self.without.len()).unwrap_or(u32::MAX))
    }

    /// Whether it says what it seems to: numbers once each, in order, of lines that are below.
    pub fn is_sound(&self) -> bool {
        let is_in_order = self.without.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
        let is_below = self.without.iter().all(|seq| *seq > 0 && *seq < self.below);
        self.below > 0 && is_in_order && is_below
    }

    /// How many of those up to a number they are.
    fn lines_up_to(&self, last: u32) -> u32 {
        let without = self.without.iter().filter(|seq| **seq <= last).count();
        last.min(self.below.saturating_sub(1)).saturating_sub(u32::try_from(without).unwrap_or(u32::MAX))
    }

    /// Whether a line is kept.
    pub fn holds(&self, seq: u32) -> bool {
        seq > 0 && seq < self.below && !self.without.contains(&seq)
    }
}

/// How a journal begins that goes on from another one.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Its first line.
    pub first: Entry,
    /// What follows it, of the other one.
    pub kept: Kept,
}

/// From where a run is to go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewind {
    /// Where it failed: what has succeeded stays, what has failed is tried again. One whose undos have run begins anew.
    #[default]
    Failed,
    /// Where an operation of the function was to be built, which is then built again.
    At(Pos),
    /// From its beginning.
    Beginning,
}

/// The journal that is gone on from.
#[derive(Clone, Copy, Debug)]
pub struct CutFrom<'e> {
    /// Its lines.
    pub entries: &'e [Entry],
    /// Whose it is.
    pub job: JobId,
    /// Of which chapter it is.
    pub chapter: u32,
}

/// Why a run cannot go on from there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutRefusal {
    /// There is nothing to go on from.
    Unbegun,
    /// It has not come so far.
    Beyond {
        /// What was asked for.
        at: Pos,
        /// The last operation that the journal has.
        last: Pos,
    },
    /// An operation may not be begun twice, and was begun and not told there.
    Inside {
        /// Its place.
        pos: Pos,
        /// Who it is.
        op: Ident,
    },
    /// What has failed may not be begun twice.
    OnceOnly {
        /// Its place.
        pos: Pos,
        /// Who it is.
        op: Ident,
    },
    /// What it did was undone.
    Undone,
}

impl fmt::Display for CutRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbegun => f.write_str("it has not begun, so there is nothing to go on from: start another"),
            Self::Beyond { at, last } if last.is_reserved() => {
                write!(f, "it has come to no operation, and {at} was asked for: go on from 1")
            }
            Self::Beyond { at, last } => write!(
                f,
                "it has come to operation {last}, and {at} was asked for: go on from {} at most",
                Pos(last.0.saturating_add(1))
            ),
            Self::Inside { pos, op } => write!(
                f,
                "operation {pos}, {op}, may be begun once only, and was begun there without an outcome: go on from {pos} if it may \
                 be begun again, or from behind its outcome"
            ),
            Self::OnceOnly { pos, op } => write!(
                f,
                "operation {pos}, {op}, has failed and may be begun once only: go on from {pos} if it may be begun again all the same"
            ),
            Self::Undone => f.write_str("what it did was undone, so it can only begin anew, from its beginning"),
        }
    }
}

impl std::error::Error for CutRefusal {}

impl CutFrom<'_> {
    /// How the next chapter of a run begins that has ended and is to go on.
    ///
    /// # Errors
    /// It cannot go on from there.
    pub fn retry(self, from: Rewind) -> Result<Cut, CutRefusal> {
        let end = self.end()?;
        match from {
            Rewind::Beginning | Rewind::At(Pos::FIRST) => self.anew(),
            Rewind::Failed if self.is_undone(end) => self.anew(),
            Rewind::At(_) if self.is_undone(end) => Err(CutRefusal::Undone),
            Rewind::Failed => self.without_failures(end),
            Rewind::At(at) => {
                self.up_to(at, end).and_then(|below| self.cut(below, &HashSet::new(), Pos::NOWHERE, false))
            }
        }
    }

    /// How the journal of another run begins that goes on from a place in this one.
    ///
    /// # Errors
    /// It cannot go on from there.
    pub fn fork(self, at: Pos) -> Result<Cut, CutRefusal> {
        let end = self.end()?;
        match at {
            Pos::FIRST => self.anew(),
            at => self.up_to(at, end).and_then(|below| self.cut(below, &HashSet::new(), at, true)),
        }
    }

    /// The number of the line with which the function was over; of one that goes on, how many lines there are.
    fn end(self) -> Result<usize, CutRefusal> {
        let is_end = |entry: &Entry| match entry {
            Entry::Left { .. } | Entry::Ended { .. } | Entry::Continued { .. } => true,
            Entry::Done { pos, .. } => pos.is_reserved(),
            _ => false,
        };
        match self.entries.first() {
            Some(Entry::Began { .. }) => Ok(self.entries.iter().position(is_end).unwrap_or(self.entries.len())),
            _ => Err(CutRefusal::Unbegun),
        }
    }

    /// Whether an undo was begun behind the function's end.
    fn is_undone(self, end: usize) -> bool {
        let awaits = |op: &Ident| op.kind == OpKind::Signal && op.name == Parent::PREFIX.trim_end_matches('.');
        self.entries[end..].iter().any(|entry| match entry {
            Entry::Opened { op, .. } => !awaits(op),
            Entry::Done { pos, op, .. } => !pos.is_reserved() && !awaits(op),
            Entry::Failed { .. } => true,
            _ => false,
        })
    }

    /// The number of the first line that tells of an operation at or behind a place.
    fn up_to(self, at: Pos, end: usize) -> Result<usize, CutRefusal> {
        let told = self.entries[..end].iter().filter_map(place_of);
        let last = told.max().unwrap_or(Pos::DEADLINE);
        if at.0 > last.0 + 1 {
            return Err(CutRefusal::Beyond { at, last });
        }
        let below = self.entries[..end].iter().position(|entry| place_of(entry).is_some_and(|pos| pos >= at));
        let below = below.unwrap_or(end);
        let done = self.done(below, &HashSet::new());
        for entry in &self.entries[..below] {
            match entry {
                Entry::Opened { pos, op, .. } if op.kind == OpKind::Step && !done.contains(pos) => {
                    return Err(CutRefusal::Inside { pos: *pos, op: op.clone() });
                }
                _ => {}
            }
        }
        Ok(below)
    }

    /// Everything up to the function's end but the failures of which nothing follows.
    fn without_failures(self, end: usize) -> Result<Cut, CutRefusal> {
        let mut failures = HashSet::new();
        // The operations that lines behind the one looked at tell of, and the last of them.
        let (mut told, mut last) = (HashSet::new(), Pos::CANCEL);
        let once: HashSet<Pos> = self.entries[..end].iter().filter_map(begun_once).collect();
        for (at, entry) in self.entries[..end].iter().enumerate().rev() {
            match entry {
                Entry::Done { pos, op, next: Some(next), unopened, .. }
                    if last < *next && !unopened.iter().any(|pos| told.contains(pos)) =>
                {
                    if once.contains(pos) {
                        return Err(CutRefusal::OnceOnly { pos: *pos, op: op.clone() });
                    }
                    failures.insert(at);
                }
                _ => {}
            }
            let place = place_of(entry).unwrap_or(Pos::CANCEL);
            told.insert(place);
            last = last.max(place);
        }
        self.cut(end, &failures, Pos::NOWHERE, false)
    }

    /// The operations whose outcomes are told by the lines that are kept.
    fn done(self, below: usize, without: &HashSet<usize>) -> HashSet<Pos> {
        let kept = self.entries[..below].iter().enumerate().filter(|(at, _)| !without.contains(at));
        kept.filter_map(|(_, entry)| if let Entry::Done { pos, .. } = entry { Some(*pos) } else { None }).collect()
    }

    /// What is kept of the lines below one. Attempts that have failed of what is tried again count no more, and children of
    /// which nobody was told are started anew.
    fn cut(self, below: usize, failures: &HashSet<usize>, seeded: Pos, is_fork: bool) -> Result<Cut, CutRefusal> {
        let done = self.done(below, failures);
        let is_out = |at: usize, entry: &Entry| match entry {
            Entry::Failed { pos, .. } | Entry::Started { pos } => !done.contains(pos),
            _ => failures.contains(&at),
        };
        let without = self.entries[..below].iter().enumerate().filter(|(at, entry)| is_out(*at, entry));
        let without = without.map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect();
        let kept = Kept { below: u32::try_from(below).unwrap_or(u32::MAX), without };
        let Some(Entry::Began { at, version, input, carried }) = self.entries.first().cloned() else {
            return Err(CutRefusal::Unbegun);
        };
        let before = carried.as_deref();
        let mut seeds: Vec<Seed> = before.map(|before| before.seeds.clone()).unwrap_or_default();
        seeds.push(Seed { below: Pos::NOWHERE, seed: seed_of(self.job, self.chapter) });
        // What is drawn from there on is the fork's own, or two runs would draw the same ids.
        let whole = seeds.iter().position(|seed| seed.below >= seeded).unwrap_or(seeds.len());
        seeds.truncate(whole + 1);
        if let Some(last) = seeds.last_mut() {
            last.below = last.below.min(seeded);
        }
        let keyed = (!is_fork).then(|| before.and_then(|before| before.keyed).unwrap_or(self.chapter));
        let foreign = if is_fork { kept.lines() } else { kept.lines_up_to(before.map_or(0, |before| before.foreign)) };
        let carried = Carried { lines: kept.lines(), seeds, keyed, foreign, since: None };
        Ok(Cut { first: Entry::Began { at, version, input, carried: Some(Box::new(carried)) }, kept })
    }

    /// Nothing is kept but what the function is given.
    fn anew(self) -> Result<Cut, CutRefusal> {
        let Some(Entry::Began { at, version, input, .. }) = self.entries.first().cloned() else {
            return Err(CutRefusal::Unbegun);
        };
        let carried = Carried { lines: 0, seeds: Vec::new(), keyed: None, foreign: 0, since: None };
        let kept = Kept { below: 1, without: Vec::new() };
        Ok(Cut { first: Entry::Began { at, version, input, carried: Some(Box::new(carried)) }, kept })
    }
}

/// The operation of the function that a line tells of.
fn place_of(entry: &Entry) -> Option<Pos> {
    match entry {
        Entry::Opened { pos, .. } | Entry::Started { pos } | Entry::Failed { pos, .. } | Entry::Done { pos, .. } => {
            Some(*pos).filter(|pos| !pos.is_reserved())
        }
        _ => None,
    }
}

/// The place of a step whose beginning was recorded: it may be begun once only.
fn begun_once(entry: &Entry) -> Option<Pos> {
    match entry {
        Entry::Opened { pos, op, .. } if op.kind == OpKind::Step => Some(*pos),
        _ => None,
    }
}

/// Whether an outcome is one that another attempt may better: of a step, or of a child.
pub(super) fn is_failure(kind: OpKind, outcome: &Outcome) -> bool {
    match kind {
        OpKind::Step | OpKind::Transact => outcome.json().starts_with("{\"err\":"),
        OpKind::Detached => outcome.json().starts_with("{\"refused\":"),
        OpKind::Child => match outcome.decode() {
            Ok(ChildEnd::Job { end, .. }) => end != End::Succeeded,
            Ok(ChildEnd::Graph { end }) => end != crate::graph::GraphEnd::Succeeded,
            Ok(ChildEnd::Refused { .. }) => true,
            Err(_) => false,
        },
        _ => false,
    }
}
