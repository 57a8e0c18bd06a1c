//! `next_after` beside croner, a well-kept crate, over random common expressions.
//!
//! Where the two are meant to differ, expressions are not drawn, and a test says how they differ:
//!
//! - A fixed hour: croner takes only one time a day (`0 2 * * *`) as fixed; with us `*/30 2`, `0 2,3` and `0 9-17` are too.
//! - In a gap of more than two hours (a skipped day) croner gives up.
//! - A weekday's steps: croner's week has eight days, so `1/2` has Sunday in it; ours ends on Saturday.
//! - `L,LW` is to croner `LW`; `L-3` it does not know.
//! - `*` in a list croner refuses; `*/1` of days is to it a restriction, to us none.
//! - A date that never comes is refused by us, and looked for by croner until its bound.

use croner::Cron;
use croner::parser::CronParser;
use jiff_of_croner::Timestamp as PeerTimestamp;
use jiff_of_croner::tz::TimeZoneDatabase;
use proptest::prelude::*;

use super::expressions::{Expression, Item, expression};
use super::{at, shown, spec, ticks, zone};
use crate::time::Timestamp;

fn peer(text: &str) -> Option<Cron> {
    CronParser::builder().sloppy_ranges(true).build().parse(text).ok()
}

/// The next ticks that the peer finds; fewer when it gives up.
fn peer_ticks(cron: &Cron, zone: &str, after: Timestamp, count: usize) -> Vec<String> {
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
    let mut now = PeerTimestamp::from_microsecond(after.as_micros()).unwrap().to_zoned(zone);
    let mut found = Vec::new();
    while found.len() < count
        && let Ok(next) = cron.find_next_occurrence(&now, false)
    {
        found.push(shown(Timestamp::from_micros(next.timestamp().as_microsecond())));
        now = next;
    }
    found
}

/// Whether both mean the same by it, but for the clock's changes.
fn is_common(expression: &Expression) -> bool {
    let days = !expression.days.iter().any(|item| matches!(item, Item::BeforeLast(1..)));
    let both = [Item::LastWorking, Item::BeforeLast(0)]
        .iter()
        .all(|item| expression.days.iter().any(|other| std::mem::discriminant(item) == std::mem::discriminant(other)));
    let week = |item: &Item| !matches!(item, Item::From(from, step) if (7 - from).is_multiple_of(*step));
    days && !both && expression.weekdays.iter().all(week) && !has_lists_of_star(expression)
}

/// `*,5` the peer refuses, and `*/1` of days is to it a restriction to all of them.
fn has_lists_of_star(expression: &Expression) -> bool {
    let star = |items: &[Item]| items.len() > 1 && items.iter().any(|item| matches!(item, Item::Any));
    let step = |items: &[Item]| matches!(items, [Item::AnyStep(1)]);
    let Expression { seconds, minutes, hours, days, months, weekdays } = expression;
    seconds.iter().chain([minutes, hours, days, months, weekdays]).any(|items| star(items))
        || step(days)
        || step(weekdays)
}

/// One time a day, as croner has it, or hours that follow the clock, as both have it.
fn changes_alike(expression: &Expression) -> bool {
    let is_one = |items: &[Item]| matches!(items, [Item::Value(_)]);
    let seconds = expression.seconds.as_ref().is_none_or(|items| is_one(items));
    let once = seconds && is_one(&expression.minutes) && is_one(&expression.hours);
    once || expression.has_wildcard_hour()
}

fn compare(expression: &Expression, name: &str, after: Timestamp) -> Result<(), TestCaseError> {
    let text = expression.text();
    let (Ok(spec), Some(cron)) = (super::Spec::parse(&text), peer(&text)) else {
        let refused = super::Spec::parse(&text).err();
        prop_assert!(refused.is_some_and(|refused| refused.problem.starts_with("never comes")), "{}", text);
        return Ok(());
    };
    let zone = zone(name);
    let theirs = peer_ticks(&cron, name, after, 4);
    // It gives up on dates that are years away.
    let ours: Vec<String> = spec.ticks_after(&zone, after).take(theirs.len()).map(shown).collect();
    prop_assert_eq!(ours, theirs, "{} in {} after {}", text, name, shown(after));
    Ok(())
}

const CHANGES: &[(&str, &str)] = &[
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("America/Sao_Paulo", "2018-02-18T02:00"),
    ("America/Sao_Paulo", "2018-11-04T03:00"),
    ("Asia/Kolkata", "2026-10-25T01:00"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ticks_in_utc_are_the_peers(
        expression in prop_oneof![expression(false), expression(true)].prop_filter("common", is_common), second in 0_i64..4_000_000_000,
    ) {
        compare(&expression, "UTC", Timestamp::from_micros(second * 1_000_000))?;
    }

    #[test]
    fn ticks_around_changes_of_the_clock_are_the_peers(
        expression in expression(false).prop_filter("common", |expression| is_common(expression) && changes_alike(expression)),
        change in prop::sample::select(CHANGES), before in 0_i64..172_800,
    ) {
        compare(&expression, change.0, Timestamp::from_micros(at(change.1).as_micros() - before * 1_000_000))?;
    }
}

#[test]
fn the_peer_differs_where_it_is_said_to() {
    let differs = |text: &str, zone: &str, after: &str, ours: &str, theirs: &str| {
        let count = ours.split(' ').count();
        assert_eq!(ticks(text, zone, after, count), ours, "{text}");
        assert_eq!(peer_ticks(&peer(text).unwrap(), zone, at(after), count).join(" "), theirs, "{text}");
    };
    let (berlin, spring, autumn) = ("Europe/Berlin", "2026-03-29T00:30", "2026-10-24T23:30");
    differs("0 2,3 * * *", berlin, autumn, "2026-10-25T00:00 2026-10-25T02:00", "2026-10-25T00:00 2026-10-25T01:00");
    differs("*/30 2 * * *", berlin, spring, "2026-03-29T01:00 2026-03-30T00:00", "2026-03-30T00:00 2026-03-30T00:30");
    differs("0 9 30 12 *", "Pacific/Apia", "2011-12-29T12:00", "2011-12-30T10:00", "");
    differs("0 0 * * 1/2", "UTC", "2026-01-02T00:00", "2026-01-05T00:00", "2026-01-04T00:00");
    differs(
        "0 0 L,LW 5 *",
        "UTC",
        "2026-05-01T00:00",
        "2026-05-29T00:00 2026-05-31T00:00",
        "2026-05-29T00:00 2027-05-31T00:00",
    );
    assert!(peer("0 0 L-3 * *").is_none());
    assert!(peer("0 0 31 2 *").is_some());
    assert_eq!(spec("0 0 L-3 2 *").to_string(), "0 0 L-3 2 *");
}
