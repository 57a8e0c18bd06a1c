//! Unique keys: at most one live job, or graph, per key, and what becomes of the next one.
//!
//! A key belongs to a kind, or to the name of a graph. Who has it keeps it for as long as it says ([`Hold`]); whether it
//! still does is seen from where its job stands when the next one comes. So a key costs nothing when jobs are claimed
//! and end, and a job without one costs nothing at all.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

use crate::id::{GraphId, JobId};
use crate::job::{Due, NewJob};
use crate::name::UniqueKey;
use crate::rules::JobRules;
use crate::time::{Timestamp, micros};

/// A key that only one live job of its kind may have, or one live graph of its name.
///
/// ```
/// use towpath_core::{Conflict, Fields, Hold, Unique, UniqueKey};
/// let mut unique = Unique::new(UniqueKey::new("order-7")?);
/// assert_eq!((unique.hold, unique.conflict), (Hold::Ended, Conflict::ReturnExisting));
/// unique.hold = Hold::Started;
/// unique.conflict = Conflict::Replace(Fields::INPUT.with(Fields::DUE));
/// # Ok::<(), towpath_core::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unique {
    /// The key.
    pub key: UniqueKey,
    /// For how long it is held.
    pub hold: Hold,
    /// What becomes of this job if another one has the key.
    pub conflict: Conflict,
}

/// For how long a job holds its key. It is the holder's word that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hold {
    /// Until it is first claimed. A job that is handed back unrun holds it again, unless another one has taken it.
    Started,
    /// Until it has ended.
    #[default]
    Ended,
    /// For this long from its enqueue, whatever becomes of it.
    For(Duration),
}

/// A job's key as its stored rules keep it: a job that has ended and is put back has it again, or is not put back where
/// another one has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OwnKey {
    /// The key.
    pub key: UniqueKey,
    /// Whether it is held until the job has started only, not until it has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_started: bool,
}

impl OwnKey {
    /// The key as it was asked for, or `None` where the job would not hold it: it has started before.
    pub fn held_again(&self, attempt: u32) -> Option<Unique> {
        let hold = if self.until_started { Hold::Started } else { Hold::Ended };
        let is_held = !self.until_started || attempt == 0;
        is_held.then(|| Unique { key: self.key.clone(), hold, conflict: Conflict::Reject })
    }
}

/// What becomes of a job whose key another one has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// It is refused, and told who has the key.
    Reject,
    /// It is not written, and told who has the key.
    #[default]
    ReturnExisting,
    /// The one that has the key gets these fields of the new one, unless it has begun already. It then stands behind all
    /// of its priority.
    Replace(Fields),
    /// The one that has the key becomes the new one, its time included, unless it has begun already: with a delay, it runs
    /// once no new one has come for that long.
    Debounce {
        /// But not later than this after the first one.
        at_most: Option<Duration>,
    },
}

/// Fields of a job, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fields(u16);

impl Fields {
    /// The input, with its version.
    pub const INPUT: Self = Self(1);
    /// The queue.
    pub const QUEUE: Self = Self(2);
    /// The priority.
    pub const PRIORITY: Self = Self(4);
    /// From when it may be claimed.
    pub const DUE: Self = Self(8);
    /// By when it must have ended.
    pub const DEADLINE: Self = Self(16);
    /// Retry, timeout, crash limit, retention.
    pub const RULES: Self = Self(32);
    /// The tags.
    pub const TAGS: Self = Self(64);
    /// The headers.
    pub const HEADERS: Self = Self(128);
    /// Every field.
    pub const ALL: Self = Self(255);

    /// Both sets together.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are here.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The number that stands for the set.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set of a number; bits that this build does not know are left out.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::ALL.0)
    }
}

/// Who has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyHolder {
    /// A job.
    Job(JobId),
    /// A graph.
    Graph(GraphId),
}

impl fmt::Display for KeyHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(id) => write!(f, "job {id}"),
            Self::Graph(id) => write!(f, "graph {id}"),
        }
    }
}

/// What a store does with a job whose key is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// Nothing: it answers who has the key.
    Keep,
    /// Nothing: it refuses.
    Refuse,
    /// It puts [`Unique::replaced`] in the holder's place, if the holder has not begun; else nothing.
    Replace,
}

impl Hold {
    /// The code that stores keep.
    pub const fn code(self) -> i16 {
        match self {
            Self::Started => 0,
            Self::Ended => 1,
            Self::For(_) => 2,
        }
    }

    /// The end of a window that begins now.
    pub fn until(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::For(window) => Some(now + window),
            Self::Started | Self::Ended => None,
        }
    }

    /// How long the window is, in microseconds.
    pub fn window_us(self) -> Option<i64> {
        match self {
            Self::For(window) => Some(micros(window)),
            Self::Started | Self::Ended => None,
        }
    }

    /// Whether a key with this stored code is still held. `until` is the end of its window; `None` as `stage` is a job
    /// that is gone.
    pub fn is_held(code: i16, until: Option<Timestamp>, now: Timestamp, stage: Option<Stage>) -> bool {
        match (code, until, stage) {
            (2, Some(until), _) => now < until,
            (0, _, Some(stage)) => stage == Stage::Unstarted,
            (_, _, Some(stage)) => stage != Stage::Over,
            (_, _, None) => false,
        }
    }
}

/// How far a holder of a key has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It was never with a handler.
    Unstarted,
    /// It was, and has not ended.
    Begun,
    /// It has ended.
    Over,
}

impl Unique {
    /// A key that is held until its job has ended, and answers who has it.
    pub fn new(key: UniqueKey) -> Self {
        Self { key, hold: Hold::default(), conflict: Conflict::default() }
    }

    /// What the job's stored rules keep of it: nothing of one that is held for a time, whatever becomes of its job.
    pub fn own(&self) -> Option<OwnKey> {
        let until_started = match self.hold {
            Hold::Started => true,
            Hold::Ended => false,
            Hold::For(_) => return None,
        };
        Some(OwnKey { key: self.key.clone(), until_started })
    }

    /// What a store does if the key is held.
    pub fn clash(&self) -> Clash {
        match self.conflict {
            Conflict::Reject => Clash::Refuse,
            Conflict::ReturnExisting => Clash::Keep,
            Conflict::Replace(_) | Conflict::Debounce { .. } => Clash::Replace,
        }
    }

    /// The fields of the holder that the new job replaces.
    pub fn fields(&self) -> Fields {
        match self.conflict {
            Conflict::Reject | Conflict::ReturnExisting => Fields::default(),
            Conflict::Replace(fields) => fields,
            Conflict::Debounce { .. } => Fields::ALL,
        }
    }

    /// How long after the first one a debounced job is due at the latest.
    pub fn at_most(&self) -> Option<Duration> {
        match self.conflict {
            Conflict::Debounce { at_most } => at_most,
            _ => None,
        }
    }

    /// The job that takes the place of the holder `old`, under the holder's id. `old.due` is an instant, or `Now`;
    /// `taken_at` is when the key was taken.
    pub fn replaced(&self, old: NewJob, new: &NewJob, taken_at: Timestamp, now: Timestamp) -> NewJob {
        let fields = self.fields();
        let mut job = old;
        if fields.has(Fields::INPUT) {
            (job.input, job.version) = (new.input.clone(), new.version);
        }
        if fields.has(Fields::QUEUE) {
            job.queue = new.queue.clone();
        }
        if fields.has(Fields::PRIORITY) {
            job.priority = new.priority;
        }
        if fields.has(Fields::DUE) {
            let due = new.due.instant(now);
            job.due = Due::At(self.at_most().map_or(due, |wait| due.min(taken_at + wait)));
        }
        if fields.has(Fields::DEADLINE) {
            job.deadline = new.deadline;
        }
        if fields.has(Fields::RULES) {
            let own_key = job.rules.own_key.take();
            job.rules = JobRules { own_key, ..new.rules.clone() };
        }
        if fields.has(Fields::TAGS) {
            job.tags = new.tags.clone();
        }
        if fields.has(Fields::HEADERS) {
            job.headers = new.headers.clone();
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Kind;
    use crate::payload::Payload;

    fn at(us: i64) -> Timestamp {
        Timestamp::from_micros(us)
    }

    #[test]
    fn a_key_is_held_as_long_as_its_holder_says() {
        let stages = [Some(Stage::Unstarted), Some(Stage::Begun), Some(Stage::Over), None];
        let held = |hold: Hold| stages.map(|stage| Hold::is_held(hold.code(), hold.until(at(0)), at(5), stage));
        assert_eq!(held(Hold::Started), [true, false, false, false]);
        assert_eq!(held(Hold::Ended), [true, true, false, false]);
        assert_eq!(held(Hold::For(Duration::from_micros(6))), [true; 4]);
        assert_eq!(held(Hold::For(Duration::from_micros(5))), [false; 4], "a window is over at its end");
    }

    #[test]
    fn a_replaced_job_keeps_its_id_and_what_was_not_named() {
        let job = |id: u8, input: &str| {
            let new = NewJob::new(JobId::from_bytes([id; 16]), Kind::from_stored("mail"));
            new.input(Payload::json(input).unwrap())
        };
        let mut unique = Unique::new(UniqueKey::from_stored("k"));
        unique.conflict = Conflict::Replace(Fields::INPUT);
        let old = job(1, "old").priority(3);
        let merged = unique.replaced(old.clone(), &job(2, "new").priority(9), at(0), at(5));
        assert_eq!((merged.id, merged.priority, merged.input), (old.id, 3, job(2, "new").input));
        unique.conflict = Conflict::Debounce { at_most: Some(Duration::from_micros(8)) };
        let late = job(2, "new").due(Due::After(Duration::from_micros(100)));
        assert_eq!(unique.replaced(old, &late, at(0), at(5)).due, Due::At(at(8)));
    }
}
