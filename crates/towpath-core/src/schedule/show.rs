//! The normal form of a cron expression: what is shown, stored and compared by people.
//!
//! Reading it again gives the same rule. Seconds are left out when they are 0.

use std::fmt;

use super::cron::{Cron, Days, HourRule, Weekdays, full};
use super::field::{Field, at_least, values};

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seconds != 1 {
            write!(f, "{} ", rhythm(self.seconds, Field::Second))?;
        }
        let hours = match self.hour {
            HourRule::Wildcard => rhythm(self.hours, Field::Hour),
            HourRule::Fixed => list(self.hours),
        };
        let months = rhythm(self.months, Field::Month);
        write!(
            f,
            "{} {hours} {} {months} {}",
            rhythm(self.minutes, Field::Minute),
            days(&self.days),
            week(&self.weekdays)
        )
    }
}

/// `*`, `*/n` or `a/n` where the set is one of these, else a list.
fn rhythm(set: u64, field: Field) -> String {
    if set == full(field) {
        return "*".into();
    }
    match steps(set) {
        Some((first, last, step)) if last + step > field.last() => match first == field.first() {
            true => format!("*/{step}"),
            false if field == Field::Hour => format!("{first}/{step}"),
            false => list(set),
        },
        _ => list(set),
    }
}

/// Single values and ranges; four or more at the same distance are a range in steps.
fn list(set: u64) -> String {
    if let Some((first, last, step)) = steps(set)
        && step > 1
        && set.count_ones() > 3
    {
        return format!("{first}-{last}/{step}");
    }
    let mut parts = Vec::new();
    let mut next = at_least(set, 0);
    while let Some(first) = next {
        let mut last = first;
        while set >> (last + 1) & 1 == 1 {
            last += 1;
        }
        match last - first {
            0 => parts.push(first.to_string()),
            1 => parts.extend([first.to_string(), last.to_string()]),
            _ => parts.push(format!("{first}-{last}")),
        }
        next = at_least(set, last + 1);
    }
    parts.join(",")
}

/// First, last and distance of a set of two or more values at one distance.
fn steps(set: u64) -> Option<(u32, u32, u32)> {
    let first = at_least(set, 0)?;
    let step = at_least(set, first + 1)? - first;
    let last = 63 - set.leading_zeros();
    (super::field::bits(first, last, step) == set).then_some((first, last, step))
}

fn days(days: &Days) -> String {
    let Some(on) = days.on else { return "*".into() };
    let mut parts = Vec::new();
    if on != 0 {
        parts.push(list(on));
    }
    parts.extend(values(days.near).map(|day| format!("{day}W")));
    parts.extend(values(days.before_last).map(|before| match before {
        0 => "L".to_string(),
        _ => format!("L-{before}"),
    }));
    if days.last_working {
        parts.push("LW".into());
    }
    parts.join(",")
}

fn week(weekdays: &Weekdays) -> String {
    let Some(on) = weekdays.on else { return "*".into() };
    let mut parts = Vec::new();
    if on != 0 {
        parts.push(list(on));
    }
    for (index, nth) in weekdays.nth.iter().enumerate() {
        parts.extend(values(*nth).map(|weekday| format!("{weekday}#{}", index + 1)));
    }
    parts.extend(values(weekdays.last).map(|weekday| format!("{weekday}L")));
    parts.join(",")
}
