//! A cron expression as sets of values, and the first local time that it allows.
//!
//! Knows the calendar and no zone. It goes by months, then days, then the time of day, each by a set of bits: a rule that
//! comes every eighth year costs as much as a hundred months, not four million minutes.

use jiff::civil::{Date, DateTime, Time};

use super::field::{Field, at_least, bits};
use crate::limits;

/// A checked cron expression: each set has at least one value, and some date is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cron {
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u64,
    /// How the clock's jumps are met.
    pub(super) hour: HourRule,
    pub(super) days: Days,
    pub(super) months: u64,
    pub(super) weekdays: Weekdays,
}

/// Whether the hours are named or a rhythm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HourRule {
    /// Follows the clock: a repeated hour counts twice, a missing one not at all.
    Wildcard,
    /// Each time of day once a day, whatever the clock does.
    Fixed,
}

/// The days of the month that are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Days {
    /// Bit n for day n; `None` when the field is `*` or `?`.
    pub(super) on: Option<u64>,
    /// Bit n for the day that is n before the last of the month.
    pub(super) before_last: u64,
    /// Bit n for the working day nearest to day n.
    pub(super) near: u64,
    /// The last working day.
    pub(super) last_working: bool,
}

/// The weekdays that are allowed, 0 is Sunday.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Weekdays {
    /// Bit n for weekday n; `None` when the field is `*` or `?`.
    pub(super) on: Option<u64>,
    /// For the first to the fifth of the month, the weekdays.
    pub(super) nth: [u64; 5],
    /// The weekdays whose last one in the month is meant.
    pub(super) last: u64,
}

impl Cron {
    /// The first allowed local time that is not before `from`, within the years that are looked at.
    pub(super) fn not_before(&self, from: DateTime) -> Option<DateTime> {
        let today = from.date();
        if self.days_of(today.year(), today.month()) >> today.day() & 1 == 1
            && let Some(time) = self.time_from(from.time())
        {
            return Some(today.to_datetime(time));
        }
        let first = time(at_least(self.hours, 0)?, at_least(self.minutes, 0)?, at_least(self.seconds, 0)?)?;
        Some(self.day_after(today)?.to_datetime(first))
    }

    /// The first allowed time of day that is not before `from`.
    fn time_from(&self, from: Time) -> Option<Time> {
        let (hour, minute, second) = (unsigned(from.hour()), unsigned(from.minute()), unsigned(from.second()));
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = at_least(self.seconds, second)
            {
                return time(hour, minute, second);
            }
            if let Some(minute) = at_least(self.minutes, minute + 1) {
                return time(hour, minute, at_least(self.seconds, 0)?);
            }
        }
        let hour = at_least(self.hours, hour + 1)?;
        time(hour, at_least(self.minutes, 0)?, at_least(self.seconds, 0)?)
    }

    fn day_after(&self, date: Date) -> Option<Date> {
        let (mut year, mut month, mut from) = (date.year(), date.month(), unsigned(date.day()) + 1);
        while year <= date.year().saturating_add(limits::TICK_YEARS_MAX) {
            if let Some(day) = at_least(self.days_of(year, month), from) {
                return Date::new(year, month, signed(day)).ok();
            }
            from = 1;
            match at_least(self.months, unsigned(month) + 1) {
                Some(next) => month = signed(next),
                None => (year, month) = (year.checked_add(1)?, signed(at_least(self.months, 1)?)),
            }
        }
        None
    }

    /// The allowed days of one month, bit n for day n; none when the month is not allowed.
    fn days_of(&self, year: i16, month: i8) -> u64 {
        if self.months >> month & 1 == 0 {
            return 0;
        }
        let Ok(first) = Date::new(year, month, 1) else { return 0 };
        let shape = MonthShape { length: unsigned(first.days_in_month()), first_weekday: weekday(first) };
        match (self.days.on, self.weekdays.on) {
            (None, None) => shape.all(),
            (Some(on), None) => self.days.of(on, shape),
            (None, Some(on)) => self.weekdays.of(on, shape),
            // The classic rule: when both are given, either will do.
            (Some(days), Some(weekdays)) => self.days.of(days, shape) | self.weekdays.of(weekdays, shape),
        }
    }
}

/// What decides which days of a month are allowed.
#[derive(Clone, Copy)]
struct MonthShape {
    length: u32,
    first_weekday: u32,
}

impl MonthShape {
    fn all(self) -> u64 {
        bits(1, self.length, 1)
    }

    fn weekday(self, day: u32) -> u32 {
        (self.first_weekday + day - 1) % 7
    }

    /// All days of a weekday, in bits.
    fn days_on(self, weekday: u32) -> u64 {
        bits(1 + (weekday + 7 - self.first_weekday) % 7, self.length, 7)
    }

    /// The day from Monday to Friday that is nearest to a day, in the same month.
    fn working_day_near(self, day: u32) -> u32 {
        match self.weekday(day) {
            6 if day == 1 => 3,
            6 => day - 1,
            0 if day == self.length => day - 2,
            0 => day + 1,
            _ => day,
        }
    }
}

impl Days {
    fn of(&self, on: u64, shape: MonthShape) -> u64 {
        let mut set = on & shape.all();
        for before in super::field::values(self.before_last).filter(|before| *before < shape.length) {
            set |= 1 << (shape.length - before);
        }
        for day in super::field::values(self.near & shape.all()) {
            set |= 1 << shape.working_day_near(day);
        }
        if self.last_working {
            set |= 1 << shape.working_day_near(shape.length);
        }
        set
    }

    /// Whether some month of so many days has a day that is allowed.
    pub(super) fn fit(&self, length: u32) -> bool {
        // Which weekday the month begins with moves a working day, and never out of the month.
        self.on.is_none_or(|on| self.of(on, MonthShape { length, first_weekday: 0 }) != 0)
    }
}

impl Weekdays {
    fn of(&self, on: u64, shape: MonthShape) -> u64 {
        let days_on = |weekdays: u64| {
            super::field::values(weekdays).map(move |weekday| shape.days_on(weekday)).fold(0, |set, days| set | days)
        };
        let mut set = days_on(on);
        for (index, weekdays) in self.nth.iter().enumerate() {
            let week = bits(1 + 7 * index as u32, (7 + 7 * index as u32).min(shape.length), 1);
            set |= days_on(*weekdays) & week;
        }
        set | days_on(self.last) & bits(shape.length - 6, shape.length, 1)
    }
}

/// The longest that a month ever is.
pub(super) fn month_days_max(month: u32) -> u32 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Every value of a field.
pub(super) fn full(field: Field) -> u64 {
    bits(field.first(), field.last(), 1)
}

fn weekday(date: Date) -> u32 {
    unsigned(date.weekday().to_sunday_zero_offset())
}

fn time(hour: u32, minute: u32, second: u32) -> Option<Time> {
    Time::new(signed(hour), signed(minute), signed(second), 0).ok()
}

/// Parts of a date and values of a field are 0 to 59.
fn unsigned(part: i8) -> u32 {
    part.unsigned_abs().into()
}

fn signed(value: u32) -> i8 {
    value as i8
}
