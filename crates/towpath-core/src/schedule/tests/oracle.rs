//! `next_after` against an oracle that looks at every minute, or every second, and at nothing else.
//!
//! The oracle knows no gap and no fold. It reads the clock at every instant of a span: a wildcard hour's ticks are the
//! instants whose reading is allowed; a fixed hour's tick for a local time is the first instant whose reading has reached it.

use jiff::civil::DateTime;
use proptest::prelude::*;

use super::expressions::{Expression, expression};
use super::{at, shown, zone};
use crate::schedule::{Spec, Zone};
use crate::time::Timestamp;

/// Zones, and instants near which their clocks are set; UTC and Kolkata as plain ones.
const CHANGES: &[(&str, &str)] = &[
    ("UTC", "2028-02-29T00:00"),
    ("Asia/Kolkata", "2026-12-31T18:30"),
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2040-11-04T06:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("America/Sao_Paulo", "2018-02-18T02:00"),
    ("America/Sao_Paulo", "2018-11-04T03:00"),
    ("Pacific/Apia", "2011-04-02T14:00"),
    ("Pacific/Apia", "2011-12-30T10:00"),
];

/// A span of seconds, looked at every `grain` seconds, with what is read around it.
struct Stretch {
    from: i64,
    until: i64,
    around: i64,
    grain: i64,
}

fn naive(expression: &Expression, zone: &Zone, stretch: &Stretch) -> Vec<i64> {
    let Stretch { from, until, around, grain } = *stretch;
    let readings: Vec<(i64, DateTime)> = (from - around..=until + around)
        .step_by(grain as usize)
        .map(|second| (second, zone.local(second).unwrap()))
        .collect();
    let mut ticks = if expression.has_wildcard_hour() {
        readings.iter().filter(|(_, local)| expression.allows(*local)).map(|(second, _)| *second).collect()
    } else {
        first_reached(expression, &readings, grain)
    };
    ticks.retain(|tick| from < *tick && *tick <= until);
    ticks.dedup();
    ticks
}

fn first_reached(expression: &Expression, readings: &[(i64, DateTime)], grain: i64) -> Vec<i64> {
    let mut ticks = Vec::new();
    let mut reached = 0;
    let mut local = readings[0].1;
    let end = readings.iter().map(|(_, local)| *local).max().unwrap();
    while local <= end {
        if expression.allows(local) {
            while readings[reached].1 < local {
                reached += 1;
            }
            ticks.push(readings[reached].0);
        }
        local = local.checked_add(jiff::SignedDuration::from_secs(grain)).unwrap();
    }
    ticks
}

fn compare(expression: &Expression, zone: &Zone, stretch: &Stretch) -> Result<usize, TestCaseError> {
    let text = expression.text();
    let Ok(spec) = Spec::parse(&text) else {
        // Nothing that is drawn is refused, but dates that never come. The calendar repeats after 400 years.
        let mut dates = jiff::civil::date(2000, 1, 1).series(jiff::Span::new().days(1)).take(146_097);
        prop_assert!(dates.all(|date| !expression.allows_date(date.at(0, 0, 0, 0))), "{} was refused", text);
        return Ok(0);
    };
    let micros = |second: i64| Timestamp::from_micros(second * 1_000_000);
    let found: Vec<_> =
        spec.ticks_after(zone, micros(stretch.from)).take_while(|tick| *tick <= micros(stretch.until)).collect();
    let expected: Vec<_> = naive(expression, zone, stretch).into_iter().map(micros).collect();
    let text_of = |ticks: &[Timestamp]| ticks.iter().map(|tick| shown(*tick)).collect::<Vec<_>>();
    prop_assert_eq!(text_of(&found), text_of(&expected), "{} in {} after {}", text, zone, shown(micros(stretch.from)));
    Ok(found.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ticks_are_those_of_an_oracle_that_looks_at_every_minute(
        expression in expression(false), change in prop::sample::select(CHANGES), before in prop_oneof![0_i64..3, 0_i64..2_880],
    ) {
        let middle = at(change.1).as_micros() / 1_000_000;
        let from = middle - before * 60;
        compare(&expression, &zone(change.0), &Stretch { from, until: from + 3 * 86_400, around: 2 * 86_400, grain: 60 })?;
    }

    #[test]
    fn ticks_are_those_of_an_oracle_that_looks_at_every_second(
        expression in expression(true), change in prop::sample::select(&CHANGES[..10]), before in prop_oneof![0_i64..3, 0_i64..5_400],
    ) {
        let middle = at(change.1).as_micros() / 1_000_000;
        let from = middle - before;
        compare(&expression, &zone(change.0), &Stretch { from, until: from + 5_400, around: 7_200, grain: 1 })?;
    }
}
