//! The next tick of a cron expression in a zone: what becomes of a local time when the clock is set.
//!
//! - A **fixed hour** has each of its local times once: one in a gap comes at the first instant after the gap, one that the
//!   clock shows twice comes the first time.
//! - A **wildcard hour** follows the clock: its ticks are the instants at which the clock shows an allowed time. A repeated
//!   hour counts twice, a missing one not at all.

use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::Spec;
use super::cron::{Cron, HourRule};
use super::zone::{Place, Zone};
use crate::time::Timestamp;

/// The ticks of a spec after an instant, in order.
#[derive(Clone, Debug)]
pub struct Ticks<'a> {
    spec: &'a Spec,
    zone: &'a Zone,
    after: Timestamp,
}

impl<'a> Ticks<'a> {
    pub(super) fn new(spec: &'a Spec, zone: &'a Zone, after: Timestamp) -> Self {
        Self { spec, zone, after }
    }
}

impl Iterator for Ticks<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.after = self.spec.next_after(self.zone, self.after)?;
        Some(self.after)
    }
}

/// The first tick after a second since the epoch.
pub(super) fn next_after(cron: &Cron, zone: &Zone, second: i64) -> Option<i64> {
    match cron.hour {
        HourRule::Fixed => next_fixed(cron, zone, second),
        HourRule::Wildcard => next_shown(cron, zone, second),
    }
}

/// Local times in their order: their instants rise with them, because a gap and a fold each stand at one instant.
fn next_fixed(cron: &Cron, zone: &Zone, second: i64) -> Option<i64> {
    // Not what the clock shows a second later: that may lie behind a gap, and what is in the gap would be lost.
    let mut from = later(zone.local(second)?)?;
    loop {
        let local = cron.not_before(from)?;
        let (tick, resume) = match zone.place(local)? {
            Place::Once(tick) => (tick, None),
            // Of a fold all is over in its second pass, and it may be thousands of times.
            Place::Gap(tick, end) | Place::Fold(tick, end) => (tick, Some(end)),
        };
        if tick > second {
            return Some(tick);
        }
        from = match resume {
            Some(end) => end,
            None => later(local)?,
        };
    }
}

/// Stretch by stretch between two changes of the clock, in each of which local and UTC time go side by side.
fn next_shown(cron: &Cron, zone: &Zone, second: i64) -> Option<i64> {
    let mut at = second.checked_add(1)?;
    let mut local = zone.local(at)?;
    let mut searched = local;
    let mut found = cron.not_before(local)?;
    loop {
        let change = zone.change_after(at);
        let tick = at + seconds(found)? - seconds(local)?;
        if change.is_none_or(|change| tick < change) {
            return Some(tick);
        }
        at = change?;
        local = zone.local(at)?;
        // What was found stays the first as long as the clock is between where the search began and there.
        if local < searched || local > found {
            searched = local;
            found = cron.not_before(local)?;
        }
    }
}

/// A second later on a clock that is never set.
fn later(local: DateTime) -> Option<DateTime> {
    let next = Offset::UTC.to_timestamp(local).ok()?.as_second().checked_add(1)?;
    Some(Offset::UTC.to_datetime(jiff::Timestamp::from_second(next).ok()?))
}

/// Seconds from 1970 on a clock that is never set.
fn seconds(local: DateTime) -> Option<i64> {
    Offset::UTC.to_timestamp(local).ok().map(jiff::Timestamp::as_second)
}
