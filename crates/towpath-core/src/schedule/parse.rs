//! Reads a spec: bounded, and a refusal says which field, what stands there, where, and what to write instead.

use super::cron::{Cron, Days, HourRule, Weekdays, full, month_days_max};
use super::every::Every;
use super::field::{Field, bits, values};
use super::{InvalidSpec, Rule};
use crate::limits;

/// Reads a spec of either sort.
pub(super) fn spec(text: &str) -> Result<Rule, InvalidSpec> {
    let max = limits::SPEC_BYTES_MAX;
    if text.len() > max {
        return Err(refuse(text, "length", text, format!("{} bytes, at most {max} are allowed", text.len())));
    }
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words.as_slice() {
        [word, rest @ ..] if word.starts_with('@') => shorthand(text, word, rest),
        [word, ..] if word.contains('=') => {
            Err(refuse(text, "zone", word, "a spec has no zone: name it beside the spec".into()))
        }
        words => cron(text, words).map(Rule::Cron),
    }
}

fn shorthand<'a>(text: &'a str, word: &'a str, rest: &[&'a str]) -> Result<Rule, InvalidSpec> {
    let name = word.to_ascii_lowercase();
    if name == "@every" {
        let [period] = rest else {
            return Err(refuse(text, "period", word, "needs one period after it, such as @every 1h30m".into()));
        };
        let every = Every::parse(period).map_err(|(at, found, problem)| {
            let mut refused = refuse(text, "period", period, problem);
            refused.at += period[..at].chars().count();
            refused.found = cut(found, FOUND_CHARS_MAX);
            refused
        });
        return every.map(Rule::Every);
    }
    if let Some(extra) = rest.first() {
        return Err(refuse(text, "end", extra, format!("nothing may follow {name}")));
    }
    let expression = match name.as_str() {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@reboot" => {
            let problem = "a start of a program is no instant: enqueue the job when the program starts";
            return Err(refuse(text, "macro", word, problem.into()));
        }
        _ => {
            let problem = "is none of @hourly, @daily, @weekly, @monthly, @yearly, @every";
            return Err(refuse(text, "macro", word, problem.into()));
        }
    };
    let words: Vec<&str> = expression.split(' ').collect();
    cron(expression, &words).map(Rule::Cron)
}

fn cron(text: &str, words: &[&str]) -> Result<Cron, InvalidSpec> {
    let (seconds, [minutes, hours, days, months, weekdays]) = match *words {
        [minutes, hours, days, months, weekdays] => (None, [minutes, hours, days, months, weekdays]),
        [seconds, minutes, hours, days, months, weekdays] => (Some(seconds), [minutes, hours, days, months, weekdays]),
        _ => {
            let problem = format!(
                "has {} fields: write minute, hour, day of month, month and weekday, with seconds before them or not",
                words.len()
            );
            return Err(refuse(text, "expression", text.trim_ascii(), problem));
        }
    };
    let set = |field, word| plain_list(&Words { text, field }, word);
    let hours_set = set(Field::Hour, hours)?;
    let cron = Cron {
        seconds: seconds.map_or(Ok(1), |seconds| set(Field::Second, seconds).map(|plain| plain.set))?,
        minutes: set(Field::Minute, minutes)?.set,
        hours: hours_set.set,
        hour: if hours_set.rhythm || hours_set.set == full(Field::Hour) { HourRule::Wildcard } else { HourRule::Fixed },
        days: day_list(&Words { text, field: Field::Day }, days)?,
        months: set(Field::Month, months)?.set,
        weekdays: weekday_list(&Words { text, field: Field::Weekday }, weekdays)?,
    };
    let longest = values(cron.months).map(month_days_max).max().unwrap_or(31);
    if cron.weekdays.on.is_none() && !cron.days.fit(longest) {
        let problem = format!("never comes: the months {months:?} have at most {longest} days");
        return Err(refuse(text, Field::Day.name(), days, problem));
    }
    Ok(cron)
}

/// A field of a text, for refusals.
struct Words<'a> {
    text: &'a str,
    field: Field,
}

impl Words<'_> {
    fn refuse(&self, found: &str, problem: impl Into<String>) -> InvalidSpec {
        refuse(self.text, self.field.name(), found, problem.into())
    }

    fn items<'a>(&self, word: &'a str) -> Result<impl Iterator<Item = &'a str> + use<'a>, InvalidSpec> {
        let count = word.split(',').count();
        if count > limits::SPEC_ITEMS_MAX {
            let problem = format!("a list of {count}, at most {} are allowed: write ranges", limits::SPEC_ITEMS_MAX);
            return Err(self.refuse(word, problem));
        }
        Ok(word.split(','))
    }

    /// A number in a range, or a name.
    fn value(&self, word: &str, max: u32) -> Result<u32, InvalidSpec> {
        if let Some(value) = self.field.named(word) {
            return Ok(value);
        }
        match number(word) {
            Some(value) if value >= self.field.first() && value <= max => Ok(value),
            _ => Err(self.refuse(word, format!("use {}", self.field.allowed()))),
        }
    }
}

/// The values of a field without specialities.
struct Plain {
    set: u64,
    /// One item, which goes on to the end of the field in steps: `*`, `*/n`, `a/n`.
    rhythm: bool,
}

fn plain_list(words: &Words<'_>, word: &str) -> Result<Plain, InvalidSpec> {
    let mut all = Plain { set: 0, rhythm: false };
    for item in words.items(word)? {
        let plain = plain_item(words, item)?;
        all.set |= plain.set;
        all.rhythm = plain.rhythm && item.len() == word.len() && plain.set.count_ones() > 1;
    }
    Ok(all)
}

/// `*`, `a`, `a-b`, each of them with `/step` or not.
fn plain_item(words: &Words<'_>, item: &str) -> Result<Plain, InvalidSpec> {
    let field = words.field;
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(self::step(words, step, item)?)),
        None => (item, None),
    };
    if range == "*" {
        return Ok(Plain { set: bits(field.first(), field.last(), step.unwrap_or(1)), rhythm: true });
    }
    // Sunday may be 7 as well.
    let last = if field == Field::Weekday { 7 } else { field.last() };
    let Some((from, to)) = range.split_once('-') else {
        return match range {
            "" => Err(words.refuse(item, format!("nothing stands here: use {}, or *", field.allowed()))),
            "?" => Err(words.refuse(item, "? stands only alone, in the day of month or the weekday: use *")),
            _ => {
                let from = words.value(range, last)?;
                let to = if step.is_some() { field.last().max(from) } else { from };
                Ok(Plain { set: folded(field, bits(from, to, step.unwrap_or(1))), rhythm: step.is_some() })
            }
        };
    };
    let (from, mut to) = (words.value(from, last)?, words.value(to, last)?);
    if field == Field::Weekday && to == 0 && from > 0 {
        to = 7;
    }
    if from > to {
        let (first, last) = (field.first(), field.last());
        return Err(words.refuse(range, format!("goes backwards: write {from}-{last},{first}-{to}")));
    }
    Ok(Plain { set: folded(field, bits(from, to, step.unwrap_or(1))), rhythm: false })
}

/// A step from 1 to the width of its field; a larger one would look like a rhythm and be none.
fn step(words: &Words<'_>, step: &str, item: &str) -> Result<u32, InvalidSpec> {
    let (first, max) = (words.field.first(), words.field.last() - words.field.first());
    match number(step) {
        Some(step) if (1..=max).contains(&step) => Ok(step),
        Some(0) | None => Err(words.refuse(item, format!("a step is a number from 1 to {max}, such as */2"))),
        Some(_) => {
            Err(words.refuse(item, format!("a step is at most {max} here: for the first value alone write {first}")))
        }
    }
}

/// Weekday 7 is weekday 0.
fn folded(field: Field, set: u64) -> u64 {
    if field == Field::Weekday { set & 0x7f | set >> 7 & 1 } else { set }
}

fn day_list(words: &Words<'_>, word: &str) -> Result<Days, InvalidSpec> {
    if is_any(word) {
        return Ok(Days::default());
    }
    let mut days = Days::default();
    let mut on = 0;
    for item in words.items(word)? {
        let upper = item.to_ascii_uppercase();
        if upper == "LW" {
            days.last_working = true;
        } else if upper == "L" {
            days.before_last |= 1;
        } else if let Some(before) = upper.strip_prefix("L-") {
            match number(before) {
                Some(before @ 1..=30) => days.before_last |= 1 << before,
                _ => return Err(words.refuse(item, "write L-1 to L-30, days before the last of the month")),
            }
        } else if let Some(day) = upper.strip_suffix('W') {
            match number(day) {
                Some(day @ 1..=31) => days.near |= 1 << day,
                _ => return Err(words.refuse(item, "write 1W to 31W, the working day nearest to a day, or LW")),
            }
        } else {
            on |= plain_item(words, item)?.set;
        }
    }
    days.on = Some(on);
    Ok(days)
}

fn weekday_list(words: &Words<'_>, word: &str) -> Result<Weekdays, InvalidSpec> {
    if is_any(word) {
        return Ok(Weekdays::default());
    }
    let mut weekdays = Weekdays::default();
    let mut on = 0;
    for item in words.items(word)? {
        if let Some((day, nth)) = item.split_once('#') {
            let day = words.value(day, 7)? % 7;
            match number(nth) {
                Some(nth @ 1..=5) => weekdays.nth[nth as usize - 1] |= 1 << day,
                _ if nth.eq_ignore_ascii_case("L") => weekdays.last |= 1 << day,
                _ => return Err(words.refuse(item, "write #1 to #5, such as MON#2 for the second Monday")),
            }
        } else if let Some(day) = item.strip_suffix(['L', 'l']) {
            if day.is_empty() {
                return Err(words.refuse(item, "write which weekday, such as 5L or FRIL for the last Friday"));
            }
            weekdays.last |= 1 << (words.value(day, 7)? % 7);
        } else {
            on |= plain_item(words, item)?.set;
        }
    }
    weekdays.on = Some(on);
    Ok(weekdays)
}

/// Whether a field of days says nothing, so that the other one decides.
fn is_any(word: &str) -> bool {
    matches!(word, "*" | "?") || word.strip_prefix("*/").and_then(number) == Some(1)
}

/// Up to four digits and nothing else.
fn number(word: &str) -> Option<u32> {
    let is_number = (1..=4).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    if is_number { word.parse().ok() } else { None }
}

/// `found` is a part of `text`, and its place is told by where it lies in it.
fn refuse(text: &str, field: &'static str, found: &str, problem: String) -> InvalidSpec {
    let byte = (found.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let at = text.get(..byte).map_or(1, |before| before.chars().count() + 1);
    InvalidSpec { spec: cut(text, SPEC_CHARS_MAX), field, found: cut(found, FOUND_CHARS_MAX), at, problem }
}

fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

const SPEC_CHARS_MAX: usize = 200;
const FOUND_CHARS_MAX: usize = 60;
