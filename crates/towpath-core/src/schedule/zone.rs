//! A time zone by its name in the IANA database, of which a copy is part of the program.
//!
//! The machine's own database is not read: two workers with different ones would find different ticks. What changes with a
//! new release of the database, changes with a new release of the program.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::time::Timestamp;

/// A zone such as `Europe/Berlin` or `UTC`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(TimeZone);

/// A name that is no zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("zone {name:?} is not in the IANA database: use {remedy}")]
pub struct UnknownZone {
    /// The name, cut at 60 characters.
    pub name: String,
    /// Names to use instead.
    pub remedy: String,
}

/// Where a local time lies on the UTC clock.
pub(super) enum Place {
    /// At one second.
    Once(i64),
    /// Nowhere; the clock jumped over it at this second, to this local time.
    Gap(i64, DateTime),
    /// At two seconds, of which this is the first; the second pass ends at this local time.
    Fold(i64, DateTime),
}

impl Zone {
    /// Looks a zone up by its name, in any case.
    ///
    /// ```
    /// use towpath_core::schedule::Zone;
    /// assert_eq!(Zone::named("europe/berlin")?.name(), "Europe/Berlin");
    /// let refused = Zone::named("Berlin").unwrap_err();
    /// assert_eq!(refused.to_string(), "zone \"Berlin\" is not in the IANA database: use Europe/Berlin");
    /// # Ok::<(), towpath_core::schedule::UnknownZone>(())
    /// ```
    ///
    /// # Errors
    /// There is no such zone; the error names what could be meant.
    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        let database = TimeZoneDatabase::bundled();
        if let Some(zone) = database.get(name).ok().filter(|zone| zone.iana_name().is_some() && !zone.is_unknown()) {
            return Ok(Self(zone));
        }
        let city = name.rsplit('/').next().unwrap_or(name).replace(' ', "_");
        let meant = database
            .available()
            .map(|known| known.as_str().to_string())
            .find(|known| known.rsplit_once('/').is_some_and(|(_, known_city)| known_city.eq_ignore_ascii_case(&city)));
        let remedy = meant.unwrap_or_else(|| "a name such as Europe/Berlin or UTC".into());
        Err(UnknownZone { name: name.chars().take(60).collect(), remedy })
    }

    /// UTC, the zone of a schedule that names none.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        // `named` lets no zone in that has no name.
        self.0.iana_name().unwrap_or("UTC")
    }

    /// What the local clock shows at an instant, with its distance from UTC: `Sun 2026-11-29 02:30:00 +01`. `None` where no
    /// clock reaches.
    ///
    /// ```
    /// use towpath_core::Timestamp;
    /// use towpath_core::schedule::Zone;
    /// let midsummer = Timestamp::from_micros(1_781_956_800_000_000);
    /// assert_eq!(Zone::named("Europe/Berlin")?.shows(midsummer).as_deref(), Some("Sat 2026-06-20 14:00:00 +02"));
    /// # Ok::<(), towpath_core::schedule::UnknownZone>(())
    /// ```
    pub fn shows(&self, instant: Timestamp) -> Option<String> {
        let at = jiff::Timestamp::from_microsecond(instant.as_micros()).ok()?;
        let (offset, local) = (self.0.to_offset(at), self.0.to_datetime(at));
        Some(format!("{} {offset}", local.strftime("%a %F %T")))
    }

    /// What the local clock shows at a second since the epoch; `None` where no clock reaches.
    pub(super) fn local(&self, second: i64) -> Option<DateTime> {
        Some(self.0.to_datetime(jiff::Timestamp::from_second(second).ok()?))
    }

    /// The next second at which the local clock is set or its rule changes.
    pub(super) fn change_after(&self, second: i64) -> Option<i64> {
        self.0.following(jiff::Timestamp::from_second(second).ok()?).next().map(|change| change.timestamp().as_second())
    }

    /// When the local clock shows this time.
    pub(super) fn place(&self, local: DateTime) -> Option<Place> {
        let second = |offset: Offset| offset.to_timestamp(local).ok().map(jiff::Timestamp::as_second);
        Some(match self.0.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => Place::Once(second(offset)?),
            AmbiguousOffset::Gap { after, .. } => {
                let change = self.change_after(second(after)?)?;
                Place::Gap(change, self.local(change)?)
            }
            AmbiguousOffset::Fold { before, .. } => {
                let first = second(before)?;
                let change = jiff::Timestamp::from_second(self.change_after(first)?).ok()?;
                Place::Fold(first, before.to_datetime(change))
            }
        })
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl Default for Zone {
    fn default() -> Self {
        Self::utc()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

impl TryFrom<String> for Zone {
    type Error = UnknownZone;

    fn try_from(name: String) -> Result<Self, UnknownZone> {
        Self::named(&name)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name().into()
    }
}
