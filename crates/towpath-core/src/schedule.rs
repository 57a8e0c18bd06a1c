//! When a schedule's ticks are: its spec, its zone, and what a scheduler does about them at an instant.
//!
//! Pure like the rest of the core: an instant is a parameter, and the zones are part of the program, so that every worker of
//! a fleet finds the same ticks. A tick is known by its instant in UTC, whole seconds.
//!
//! [`plan`] says which ticks to mint and which are passed over; [`StoredSchedule`] makes that a change to write, and [`look`]
//! asks a store for what is due and has it written.

mod cron;
mod drive;
mod every;
mod field;
mod next;
mod parse;
mod plan;
mod show;
mod stored;
#[cfg(test)]
mod tests;
mod zone;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

pub use drive::{Looked, look};
pub use next::Ticks;
pub use plan::{Activity, CatchUp, LastRun, Look, Overlap, Plan, Policy, Schedule, SkipReason, SkippedTicks, plan};
pub use stored::{Keeper, Minted, ScheduleAudit, ScheduleWrite, StoredSchedule, TickJob};
pub use zone::{UnknownZone, Zone};

use crate::time::Timestamp;
use cron::Cron;
use every::Every;

/// The rule of a schedule: a cron expression, or `@every` and a period.
///
/// A cron expression has five fields (minute, hour, day, month, weekday), or six with seconds first. It is shown in a normal
/// form, which reads as the same rule.
///
/// ```
/// use towpath_core::schedule::Spec;
/// let spec: Spec = "0 9-9 * * mon-fri".parse()?;
/// assert_eq!(spec.to_string(), "0 9 * * 1-5");
/// assert_eq!(Spec::parse("@daily")?.to_string(), "0 0 * * *");
/// assert_eq!(Spec::parse("@every 90m")?.to_string(), "@every 1h30m");
/// # Ok::<(), towpath_core::schedule::InvalidSpec>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Spec(Rule);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Rule {
    Cron(Cron),
    Every(Every),
}

impl Spec {
    /// Reads a spec.
    ///
    /// # Errors
    /// Names the field, what stands there, its place, and what to write instead. A date that never comes is an error too.
    pub fn parse(text: &str) -> Result<Self, InvalidSpec> {
        parse::spec(text).map(Self)
    }

    /// The first tick after an instant, or `None` when there is none that a clock can show.
    ///
    /// ```
    /// use towpath_core::Timestamp;
    /// use towpath_core::schedule::{Spec, Zone};
    /// let spec = Spec::parse("30 0 * * *")?;
    /// let tick = spec.next_after(&Zone::utc(), Timestamp::ZERO);
    /// assert_eq!(tick, Some(Timestamp::from_micros(1_800_000_000)));
    /// # Ok::<(), towpath_core::schedule::InvalidSpec>(())
    /// ```
    pub fn next_after(&self, zone: &Zone, instant: Timestamp) -> Option<Timestamp> {
        let second = instant.as_micros().div_euclid(MICROS_PER_SECOND);
        let next = match &self.0 {
            Rule::Every(every) => every.next_after(second),
            Rule::Cron(cron) => next::next_after(cron, zone, second),
        };
        next?.checked_mul(MICROS_PER_SECOND).map(Timestamp::from_micros)
    }

    /// The ticks after an instant, in order.
    pub fn ticks_after<'a>(&'a self, zone: &'a Zone, instant: Timestamp) -> Ticks<'a> {
        Ticks::new(self, zone, instant)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Cron(cron) => cron.fmt(f),
            Rule::Every(every) => every.fmt(f),
        }
    }
}

impl FromStr for Spec {
    type Err = InvalidSpec;

    fn from_str(text: &str) -> Result<Self, InvalidSpec> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Spec {
    type Error = InvalidSpec;

    fn try_from(text: String) -> Result<Self, InvalidSpec> {
        Self::parse(&text)
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> Self {
        spec.to_string()
    }
}

/// A spec that was refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schedule {spec:?}: {field} {found:?} at character {at}: {problem}")]
pub struct InvalidSpec {
    /// The whole text, cut at 200 characters.
    pub spec: String,
    /// The field that is wrong, such as `hour`.
    pub field: &'static str,
    /// What stands there, cut at 60 characters.
    pub found: String,
    /// Where it stands in the text as it was given: the number of its first character, from 1.
    pub at: usize,
    /// What is wrong with it, and what to write instead.
    pub problem: String,
}

const MICROS_PER_SECOND: i64 = 1_000_000;
