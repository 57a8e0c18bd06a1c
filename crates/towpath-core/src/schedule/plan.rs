//! What a scheduler does about a schedule at an instant.
//!
//! Every tick is decided once: it is minted, or passed over with a reason. The cursor says up to where that has been done;
//! it only moves on. One look is bounded however long nobody looked.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::{Spec, Zone};
use crate::time::{Timestamp, micros};
use crate::{defaults, limits};

/// A rule that mints jobs: when its ticks are, and what becomes of them when something is in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// When its ticks are.
    pub spec: Spec,
    /// The zone whose clock a cron expression reads. `@every` reads UTC.
    #[serde(default)]
    pub zone: Zone,
    /// What becomes of ticks that were missed or that find the last run going.
    #[serde(default)]
    pub policy: Policy,
}

/// What becomes of ticks that were missed or that find the last run going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// What becomes of late ticks.
    pub catch_up: CatchUp,
    /// Whether a tick is minted while the last run is going.
    pub overlap: Overlap,
    /// How long after its instant a tick is in time, in microseconds.
    pub grace_us: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            catch_up: CatchUp::Coalesce,
            overlap: Overlap::Allow,
            grace_us: defaults::SCHEDULE_GRACE.as_micros() as u64,
        }
    }
}

impl Policy {
    /// Sets how long after its instant a tick is in time.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace_us = micros(grace).unsigned_abs();
        self
    }
}

/// What becomes of late ticks: those that nobody looked at within the grace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// They are skipped.
    Skip,
    /// They become one: the tick that is due in time, or else the newest late one.
    Coalesce,
    /// The newest so many are minted, each by itself; more than [`limits::BACKFILL_MAX`] is that.
    Backfill(u8),
}

/// Whether a tick is minted while the last run of its schedule is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is.
    Allow,
    /// It is skipped; and of several ticks that are due at once only the newest is minted.
    Skip,
}

/// What a scheduler sees when it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The store's clock.
    pub now: Timestamp,
    /// The last tick that was decided; of a new schedule, when it was made.
    pub cursor: Timestamp,
    /// Whether it is paused.
    pub activity: Activity,
    /// Whether a job that it minted has not ended.
    pub last_run: LastRun,
}

/// Whether a schedule mints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It does.
    Active,
    /// Its ticks are skipped. Look once more at the moment it is resumed, or the pause counts as an outage.
    Paused,
}

/// Whether a job that a schedule minted has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastRun {
    /// All have, or there was none.
    Ended,
    /// One has not.
    Going,
}

/// What to do about a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The ticks to mint, in order.
    pub mint: Vec<Timestamp>,
    /// What is passed over, by reason.
    pub skipped: Vec<SkippedTicks>,
    /// The last tick that is decided now.
    pub cursor: Timestamp,
    /// When to look again: the next tick, or now when this look was full. `None` when no tick will come.
    pub next: Option<Timestamp>,
    /// How far the clock stands before the cursor. It was set back: nothing is done until it has passed the cursor again.
    pub behind: Option<Duration>,
}

/// Ticks of a schedule that mint nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedTicks {
    /// The oldest.
    pub first: Timestamp,
    /// The newest.
    pub last: Timestamp,
    /// How many; [`limits::TICKS_COUNTED_MAX`] stands for that many or more.
    pub count: u32,
    /// Why.
    pub reason: SkipReason,
}

/// Why a tick mints nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The last run was going, or a newer tick was due at once.
    Overlap,
    /// The schedule was paused.
    Paused,
    /// Nobody looked in time, and the policy catches up no or fewer ticks.
    TooLate,
    /// Nobody looked in time; the next minted tick stands for it.
    Coalesced,
}

/// Decides the ticks after the cursor up to now.
///
/// ```
/// use towpath_core::Timestamp;
/// use towpath_core::schedule::{Activity, LastRun, Look, Policy, Schedule, Spec, Zone, plan};
/// let schedule = Schedule { spec: Spec::parse("@hourly")?, zone: Zone::utc(), policy: Policy::default() };
/// let hour = |n: i64| Timestamp::from_micros(n * 3_600_000_000);
/// let look = Look { now: hour(5), cursor: hour(1), activity: Activity::Active, last_run: LastRun::Ended };
/// let plan = plan(&schedule, &look);
/// assert_eq!((plan.mint, plan.cursor, plan.next), (vec![hour(5)], hour(5), Some(hour(6))));
/// assert_eq!((plan.skipped[0].first, plan.skipped[0].last, plan.skipped[0].count), (hour(2), hour(4), 3));
/// # Ok::<(), towpath_core::schedule::InvalidSpec>(())
/// ```
pub fn plan(schedule: &Schedule, look: &Look) -> Plan {
    let mut plan = Plan { mint: vec![], skipped: vec![], cursor: look.cursor, next: None, behind: None };
    if look.cursor > look.now {
        plan.behind = Some(look.cursor.since(look.now));
        plan.next = schedule.next_after(look.cursor);
        return plan;
    }
    let due = Span { schedule, after: look.cursor, until: look.now };
    if look.activity == Activity::Paused {
        plan.skipped.extend(due.skip(SkipReason::Paused));
    } else if let Some(oldest) = due.first() {
        decide(schedule, look, oldest, &mut plan);
    }
    let decided = plan.mint.last().copied().max(plan.skipped.iter().map(|skipped| skipped.last).max());
    plan.cursor = decided.unwrap_or(look.cursor);
    // A full look leaves ticks behind it that are due already.
    plan.next = schedule.next_after(plan.cursor).map(|next| next.max(look.now));
    plan
}

/// Decides when at least one tick is due.
fn decide(schedule: &Schedule, look: &Look, oldest: Timestamp, plan: &mut Plan) {
    let grace = Duration::from_micros(schedule.policy.grace_us);
    let in_time_from = look.now - grace;
    let late_until = Timestamp::from_micros(in_time_from.as_micros().saturating_sub(1)).max(look.cursor);
    let in_time = Span { schedule, after: late_until, until: look.now };
    let mut mint: Vec<Timestamp> = in_time.ticks().take(limits::TICKS_LOOK_MAX).collect();
    if oldest <= late_until {
        let late = Span { schedule, after: look.cursor, until: late_until };
        let (caught_up, skipped) = late.catch_up(schedule.policy.catch_up, &mint);
        mint.splice(0..0, caught_up);
        plan.skipped.extend(skipped);
    }
    match (schedule.policy.overlap, look.last_run) {
        (Overlap::Allow, _) => plan.mint = mint,
        (Overlap::Skip, LastRun::Ended) => {
            plan.mint.extend(mint.pop());
            plan.skipped.extend(listed(&mint));
        }
        (Overlap::Skip, LastRun::Going) => plan.skipped.extend(listed(&mint)),
    }
}

/// Ticks that a run in the way keeps from being minted.
fn listed(ticks: &[Timestamp]) -> Option<SkippedTicks> {
    let count = u32::try_from(ticks.len()).unwrap_or(u32::MAX).min(limits::TICKS_COUNTED_MAX);
    Some(SkippedTicks { first: *ticks.first()?, last: *ticks.last()?, count, reason: SkipReason::Overlap })
}

impl Schedule {
    fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        self.spec.next_after(&self.zone, instant)
    }
}

/// The ticks after one instant, up to and with another.
#[derive(Clone, Copy)]
struct Span<'a> {
    schedule: &'a Schedule,
    after: Timestamp,
    until: Timestamp,
}

impl<'a> Span<'a> {
    fn ticks(self) -> impl Iterator<Item = Timestamp> + use<'a> {
        let ticks = self.schedule.spec.ticks_after(&self.schedule.zone, self.after);
        ticks.take_while(move |tick| *tick <= self.until)
    }

    fn first(self) -> Option<Timestamp> {
        self.schedule.next_after(self.after).filter(|tick| *tick <= self.until)
    }

    /// The newest tick, without a walk over the others: they may be millions.
    fn last(self) -> Option<Timestamp> {
        self.first()?;
        let is_before_last = |instant| Self { after: instant, ..self }.first().is_some();
        let mut width = Duration::from_secs(1);
        let (mut before, mut behind) = (self.after, self.until);
        while self.until - width > self.after {
            if is_before_last(self.until - width) {
                before = self.until - width;
                break;
            }
            behind = self.until - width;
            width *= 2;
        }
        // A tick is a whole second: of a second there is at most one.
        while behind.since(before) > Duration::from_secs(1) {
            let middle = before + behind.since(before) / 2;
            if is_before_last(middle) {
                before = middle;
            } else {
                behind = middle;
            }
        }
        Self { after: before, ..self }.first()
    }

    /// The newest ticks, at most so many, in order.
    fn newest(self, count: usize) -> Vec<Timestamp> {
        // Few are found from the front, which is cheaper.
        let mut ticks: Vec<Timestamp> = self.ticks().take(count + 1).collect();
        if ticks.len() <= count {
            return ticks;
        }
        ticks.clear();
        let mut rest = self;
        while ticks.len() < count
            && let Some(tick) = rest.last()
        {
            ticks.push(tick);
            rest.until = tick - Duration::from_micros(1);
        }
        ticks.reverse();
        ticks
    }

    fn skip(self, reason: SkipReason) -> Option<SkippedTicks> {
        let mut skipped = SkippedTicks { first: self.first()?, last: self.first()?, count: 0, reason };
        for tick in self.ticks().take(limits::TICKS_COUNTED_MAX as usize) {
            skipped.last = tick;
            skipped.count += 1;
        }
        if skipped.count == limits::TICKS_COUNTED_MAX {
            skipped.last = self.last()?;
        }
        Some(skipped)
    }

    /// Of these late ticks, those to mint, and what is passed over.
    fn catch_up(self, policy: CatchUp, in_time: &[Timestamp]) -> (Vec<Timestamp>, Option<SkippedTicks>) {
        let (mint, reason) = match policy {
            CatchUp::Skip => (vec![], SkipReason::TooLate),
            CatchUp::Backfill(count) => (self.newest(count.min(limits::BACKFILL_MAX).into()), SkipReason::TooLate),
            CatchUp::Coalesce if in_time.is_empty() => (self.last().into_iter().collect(), SkipReason::Coalesced),
            CatchUp::Coalesce => (vec![], SkipReason::Coalesced),
        };
        let until = mint.first().map_or(self.until, |tick| *tick - Duration::from_micros(1));
        (mint, Self { until, ..self }.skip(reason))
    }
}
