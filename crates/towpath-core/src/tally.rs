//! What was done when: attempts that succeeded and failed, how long jobs waited and handlers ran, by queue and kind.
//!
//! Workers count for themselves and hand what they have counted to the store every few seconds ([`Store::record`]); a store
//! adds it to what is there. So no verb of a job's way pays for it, and what a worker that dies had not handed over is lost:
//! these are figures for charts, not for bills.
//!
//! [`Store::record`]: crate::Store::record

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::name::{Kind, Queue};
use crate::outcome::Report;
use crate::store::{StoreError, StoreErrorKind};
use crate::time::Timestamp;

/// The width of what is kept: the finer, the shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// Minutes, for two hours.
    Minute,
    /// Quarters of an hour, for eight days.
    Quarter,
}

impl Width {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Minute, Self::Quarter];

    /// The stored number.
    pub const fn code(self) -> i16 {
        match self {
            Self::Minute => 1,
            Self::Quarter => 2,
        }
    }

    /// How long one is.
    pub const fn length(self) -> Duration {
        match self {
            Self::Minute => Duration::from_secs(60),
            Self::Quarter => Duration::from_secs(900),
        }
    }

    /// How long one is kept.
    pub const fn keep(self) -> Duration {
        match self {
            Self::Minute => Duration::from_secs(2 * 3_600),
            Self::Quarter => Duration::from_secs(8 * 86_400),
        }
    }

    /// The start of the one that an instant lies in.
    pub fn start(self, at: Timestamp) -> Timestamp {
        let length = self.length().as_micros() as i64;
        Timestamp::from_micros(at.as_micros().div_euclid(length) * length)
    }

    /// What starts before this is no longer kept.
    pub fn kept_from(self, now: Timestamp) -> Timestamp {
        self.start(Timestamp::from_micros(now.as_micros().saturating_sub(self.keep().as_micros() as i64)))
    }
}

/// How an attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// As a success.
    Succeeded,
    /// As a failure: an error, a panic, a timeout, a deadline.
    Failed,
}

impl Counted {
    /// How a report counts; `None` for what is neither, such as a snooze, a park or a cancel.
    pub fn of(report: &Report) -> Option<Self> {
        match report {
            Report::Succeeded { .. } => Some(Self::Succeeded),
            Report::Failed { .. } | Report::Panicked { .. } | Report::TimedOut { .. } | Report::Overdue => {
                Some(Self::Failed)
            }
            Report::Logged { report, .. } | Report::Appended { report, .. } => Self::of(report),
            _ => None,
        }
    }
}

/// How often which durations came, in steps of a half octave: a quantile is off by a third at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spread(BTreeMap<u8, u64>);

impl Spread {
    /// Counts one.
    pub fn add(&mut self, duration: Duration) {
        *self.0.entry(step(duration)).or_default() += 1;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        for (step, count) in &other.0 {
            let sum = self.0.entry(*step).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The duration that so large a part of them (0 to 1) does not exceed; `None` if there were none.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = part.clamp(0.0, 1.0) * self.count() as f64;
        let mut below = 0.0;
        for (step, count) in &self.0 {
            let count = *count as f64;
            if below + count >= wanted {
                let within = ((wanted - below) / count).clamp(0.0, 1.0);
                let (low, high) = (lower(*step), lower(step.saturating_add(1)));
                return Some(Duration::from_micros((low + (high - low) * within) as u64));
            }
            below += count;
        }
        None
    }
}

/// The step of a duration: 0 for none, then two to each power of two of microseconds.
fn step(duration: Duration) -> u8 {
    let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let Some(octave) = us.checked_ilog2() else { return 0 };
    let half = octave.checked_sub(1).map_or(0, |below| us >> below & 1);
    // At most 1 + 2 * 63 + 1.
    1 + 2 * octave as u8 + half as u8
}

/// Where a step begins, in microseconds.
fn lower(step: u8) -> f64 {
    let Some(step) = step.checked_sub(1) else { return 0.0 };
    let octave = 2_f64.powi(i32::from(step / 2));
    octave * if step % 2 == 1 { 1.5 } else { 1.0 }
}

/// What was counted of one kind in one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Attempts that succeeded.
    pub succeeded: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// From the enqueue to the start of the first attempt, of jobs that are no nodes of a graph. What was enqueued for later
    /// has waited for that, too.
    pub wait: Spread,
    /// How long handlers ran; of a run, from its enqueue to its end.
    pub run: Spread,
}

impl Tally {
    /// Counts an attempt that is over.
    pub fn ended(&mut self, counted: Counted, took: Duration) {
        match counted {
            Counted::Succeeded => self.succeeded += 1,
            Counted::Failed => self.failed += 1,
        }
        self.run.add(took);
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.succeeded = self.succeeded.saturating_add(other.succeeded);
        self.failed = self.failed.saturating_add(other.failed);
        self.wait.merge(&other.wait);
        self.run.merge(&other.run);
    }

    /// The stored form.
    pub fn to_stored(&self) -> String {
        // Numbers by numbers: it always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The text is not of that shape: the row is corrupt, or of a newer release.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What is to stand in place of a stored text, if any is there, once this was added. One that cannot be read is replaced.
    pub fn onto(&self, stored: Option<&str>) -> String {
        let mut sum = stored.and_then(|text| Self::from_stored(text).ok()).unwrap_or_default();
        sum.merge(self);
        sum.to_stored()
    }
}

/// What a worker has counted within a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// An instant of that minute, on the store's clock.
    pub at: Timestamp,
    /// The queue.
    pub queue: Queue,
    /// The kind.
    pub kind: Kind,
    /// What was counted.
    pub tally: Tally,
}

/// Where a tally is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// How wide it is.
    pub width: Width,
    /// When it starts.
    pub at: Timestamp,
    /// The queue.
    pub queue: Queue,
    /// The kind.
    pub kind: Kind,
}

/// Refuses too much at once, before anything is written.
///
/// # Errors
/// [`StoreErrorKind::Invalid`]: more than [`RECORDS_MAX`](limits::RECORDS_MAX) records.
pub fn check(records: &[Record]) -> Result<(), StoreError> {
    let (have, most) = (records.len(), limits::RECORDS_MAX);
    if have > most {
        let message = format!("{have} records, at most {most} are taken at a time");
        return Err(StoreError::new(StoreErrorKind::Invalid, "record", message));
    }
    Ok(())
}

/// What is to be added where, in the order in which rows are locked. What is too old to be kept, or of a clock that runs
/// more than a minute ahead, is left out.
pub fn places(records: &[Record], now: Timestamp) -> BTreeMap<Place, Tally> {
    let mut places: BTreeMap<Place, Tally> = BTreeMap::new();
    for Record { at, queue, kind, tally } in records.iter().filter(|record| record.at <= now + Width::Minute.length()) {
        for width in Width::ALL.into_iter().filter(|width| *at >= width.kept_from(now)) {
            let place = Place { width, at: width.start(*at), queue: queue.clone(), kind: kind.clone() };
            places.entry(place).or_default().merge(tally);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(durations: &[u64]) -> Spread {
        let mut spread = Spread::default();
        durations.iter().for_each(|us| spread.add(Duration::from_micros(*us)));
        spread
    }

    #[test]
    fn a_quantile_is_off_by_a_third_at_most_whatever_the_size() {
        for us in [1, 2, 3, 7, 1_000, 1_499, 1_500, 86_400_000_000, u64::MAX / 2] {
            let many = spread(&[us; 9]);
            for part in [0.01, 0.5, 1.0] {
                let found = many.quantile(part).unwrap().as_micros() as f64 / us as f64;
                assert!((0.66..=1.5).contains(&found), "{us} is told as {found} times that");
            }
        }
        assert_eq!(spread(&[]).quantile(0.5), None);
        assert!(spread(&[0]).quantile(0.5).unwrap() < Duration::from_micros(2));
    }

    #[test]
    fn the_median_lies_between_the_halves_and_a_sum_is_as_if_counted_at_once() {
        let mut all = spread(&[10, 10, 10]);
        all.merge(&spread(&[10_000, 10_000]));
        assert_eq!(all, spread(&[10, 10, 10, 10_000, 10_000]));
        assert!(all.quantile(0.5).unwrap() < Duration::from_micros(20));
        assert!(all.quantile(0.95).unwrap() > Duration::from_micros(6_000));
    }

    #[test]
    fn a_tally_is_stored_small_and_added_onto_what_is_there() {
        let mut tally = Tally::default();
        tally.ended(Counted::Succeeded, Duration::from_millis(1));
        assert_eq!(tally.to_stored(), r#"{"succeeded":1,"failed":0,"wait":{},"run":{"20":1}}"#);
        let sum = Tally::from_stored(&tally.onto(Some(&tally.to_stored()))).unwrap();
        assert_eq!((sum.succeeded, sum.run.count()), (2, 2));
        assert_eq!(tally.onto(Some("of a newer release")), tally.to_stored());
        assert_eq!(Tally::from_stored("{}").unwrap(), Tally::default(), "fields are only added");
    }

    #[test]
    fn a_record_is_kept_by_the_minute_and_by_the_quarter_while_it_is_not_too_old() {
        let second = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let now = second(1_000_000);
        let of = |at: Timestamp| {
            let record = Record { at, queue: Queue::default(), kind: Kind::from_stored("k"), tally: Tally::default() };
            places(&[record.clone(), record], now).into_keys().map(|place| (place.width, place.at)).collect::<Vec<_>>()
        };
        assert_eq!(of(second(999_999)), [(Width::Minute, second(999_960)), (Width::Quarter, second(999_900))]);
        assert_eq!(of(second(999_999 - 2 * 3_600)).len(), 2);
        assert_eq!(of(second(999_000 - 2 * 3_600)), [(Width::Quarter, second(991_800))]);
        assert!(of(second(999_000 - 9 * 86_400)).is_empty() && of(second(1_000_061)).is_empty());
        let record = Record { at: now, queue: Queue::default(), kind: Kind::from_stored("k"), tally: Tally::default() };
        check(&vec![record.clone(); limits::RECORDS_MAX]).unwrap();
        assert!(check(&vec![record; limits::RECORDS_MAX + 1]).unwrap_err().to_string().contains("1001"));
    }
}
