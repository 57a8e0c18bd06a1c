//! What a store is asked of schedules, and what it answers.

use std::fmt;

use crate::schedule::StoredSchedule;
use crate::time::Timestamp;

/// The schedules that are due, with the revision of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSchedules {
    /// The store's clock.
    pub now: Timestamp,
    /// Those with `next` up to now, by that.
    pub rows: Vec<(i64, StoredSchedule)>,
    /// When the first of the others is due.
    pub next: Option<Timestamp>,
}

/// A page of schedules, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedules {
    /// The store's clock.
    pub now: Timestamp,
    /// With the revision of each.
    pub rows: Vec<(i64, StoredSchedule)>,
}

/// What became of a change of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleWritten {
    /// It was written, with the jobs that it mints.
    Done,
    /// Nothing was: another has changed the schedule since it was read.
    Stale,
}

impl fmt::Display for ScheduleWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Stale => "stale",
        })
    }
}
