//! The six fields of a cron expression: their ranges, their names, and sets of their values.

/// One field. Its values are `first()..=last()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
}

impl Field {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day of month",
            Self::Month => "month",
            Self::Weekday => "weekday",
        }
    }

    pub(super) fn first(self) -> u32 {
        match self {
            Self::Day | Self::Month => 1,
            _ => 0,
        }
    }

    /// The last value. A weekday may be written 7 as well, which is Sunday again.
    pub(super) fn last(self) -> u32 {
        match self {
            Self::Second | Self::Minute => 59,
            Self::Hour => 23,
            Self::Day => 31,
            Self::Month => 12,
            Self::Weekday => 6,
        }
    }

    /// The value that a name of three letters stands for, in any case.
    pub(super) fn named(self, word: &str) -> Option<u32> {
        let names: &[&str] = match self {
            Self::Month => &MONTHS,
            Self::Weekday => &WEEKDAYS,
            _ => return None,
        };
        let index = names.iter().position(|name| name.eq_ignore_ascii_case(word))?;
        u32::try_from(index).ok().map(|index| index + self.first())
    }

    /// What may stand in the field, for a refusal.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => "0 to 59",
            Self::Hour => "0 to 23",
            Self::Day => "1 to 31, L, L-3, 15W or LW",
            Self::Month => "1 to 12 or JAN to DEC",
            Self::Weekday => "0 (Sunday) to 7 (Sunday again) or SUN to SAT",
        }
    }
}

/// All values from `first` to `last` in steps, as bits.
pub(super) fn bits(first: u32, last: u32, step: u32) -> u64 {
    (first..=last).step_by(step.max(1) as usize).fold(0, |set, value| set | 1 << value)
}

/// The smallest value of a set from `from` on.
pub(super) fn at_least(set: u64, from: u32) -> Option<u32> {
    let rest = set & u64::MAX.checked_shl(from).unwrap_or(0);
    (rest != 0).then(|| rest.trailing_zeros())
}

/// The values of a set, in order.
pub(super) fn values(set: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |value| set >> value & 1 == 1)
}

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
