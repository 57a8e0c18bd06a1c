//! Dates: the last day, working days, weekdays by number, both day fields, rare dates and the end of the calendar.

use super::{at, spec, ticks};
use crate::schedule::Zone;
use crate::time::Timestamp;

fn days(text: &str, after: &str, count: usize) -> String {
    ticks(text, "UTC", after, count).replace("T00:00", "")
}

#[test]
fn days_of_the_month_are_found_from_both_ends() {
    assert_eq!(days("0 0 L * *", "2027-12-31T00:00", 3), "2028-01-31 2028-02-29 2028-03-31");
    assert_eq!(days("0 0 L-1 2 *", "2026-01-01T00:00", 3), "2026-02-27 2027-02-27 2028-02-28");
    assert_eq!(days("0 0 L-30 * *", "2026-01-02T00:00", 2), "2026-03-01 2026-05-01");
    assert_eq!(days("0 0 31 * *", "2026-01-31T00:00", 2), "2026-03-31 2026-05-31");
}

#[test]
fn a_working_day_is_the_nearest_one_of_the_same_month() {
    // 2026-08-01 is a Saturday, 2026-08-15 a Saturday, 2026-08-30 a Sunday, 2026-05-31 a Sunday.
    assert_eq!(days("0 0 1W 8 *", "2026-01-01T00:00", 1), "2026-08-03");
    assert_eq!(days("0 0 15W 8 *", "2026-01-01T00:00", 1), "2026-08-14");
    assert_eq!(days("0 0 30W 8 *", "2026-01-01T00:00", 1), "2026-08-31");
    assert_eq!(days("0 0 31W 5 *", "2026-01-01T00:00", 1), "2026-05-29");
    assert_eq!(days("0 0 LW 5,8 *", "2026-01-01T00:00", 2), "2026-05-29 2026-08-31");
    assert_eq!(days("0 0 30W * *", "2026-01-31T00:00", 1), "2026-03-30", "a month without the day has none");
}

#[test]
fn weekdays_are_counted_from_both_ends() {
    assert_eq!(days("0 0 * * 5L", "2026-01-01T00:00", 3), "2026-01-30 2026-02-27 2026-03-27");
    assert_eq!(days("0 0 * * MON#2", "2026-01-01T00:00", 3), "2026-01-12 2026-02-09 2026-03-09");
    assert_eq!(days("0 0 * * SAT#5", "2026-02-01T00:00", 3), "2026-05-30 2026-08-29 2026-10-31");
    assert_eq!(days("0 0 * * SUN", "2026-01-01T00:00", 2), days("0 0 * * 7", "2026-01-01T00:00", 2));
}

#[test]
fn of_two_day_fields_either_will_do() {
    // 2026-02-13 is a Friday.
    assert_eq!(days("0 0 13 * FRI", "2026-02-01T00:00", 5), "2026-02-06 2026-02-13 2026-02-20 2026-02-27 2026-03-06");
    assert_eq!(days("0 0 31 2 MON", "2026-01-01T00:00", 2), "2026-02-02 2026-02-09", "the other field has dates");
    assert_eq!(days("0 0 */10 * MON", "2026-01-31T00:00", 4), "2026-02-01 2026-02-02 2026-02-09 2026-02-11");
    assert_eq!(days("0 0 ? * MON", "2026-01-31T00:00", 2), "2026-02-02 2026-02-09");
    assert_eq!(days("0 0 1-31 * MON", "2026-01-31T00:00", 2), "2026-02-01 2026-02-02");
}

#[test]
fn rare_dates_are_found_and_the_calendar_has_an_end() {
    assert_eq!(days("0 0 29 2 *", "2096-02-29T00:00", 2), "2104-02-29 2108-02-29");
    assert_eq!(days("0 0 29 2 *", "2200-03-01T00:00", 1), "2204-02-29");
    assert_eq!(
        days("0 0 * 2 MON#5", "2072-02-29T00:00", 2),
        "2112-02-29 2140-02-29",
        "the longest that a date ever takes"
    );
    assert_eq!(
        ticks("0 22 30 12 *", "UTC", "9998-12-30T22:00", 3),
        "9999-12-30T22:00",
        "the last hour that is counted"
    );
    let (rare, utc) = (spec("0 0 29 2 *"), Zone::utc());
    assert_eq!(rare.next_after(&utc, Timestamp::NEVER), None);
    assert_eq!(rare.next_after(&utc, Timestamp::from_micros(i64::MIN)), None);
    assert_eq!(spec("@every 366d").next_after(&utc, Timestamp::NEVER), None);
    assert_eq!(days("0 0 29 2 *", "1896-03-01T00:00", 1), "1904-02-29", "before 1970 as well");
}

#[test]
fn no_weekday_rule_ever_outlasts_the_years_that_are_looked_at() {
    // The calendar repeats after 400 years.
    for weekday in 0..7 {
        let (rule, utc) = (spec(&format!("0 0 * 2 {weekday}#5")), Zone::utc());
        let last = rule.ticks_after(&utc, at("2000-01-01T00:00")).find(|tick| *tick > at("2400-03-01T00:00"));
        assert!(last.is_some(), "weekday {weekday}");
    }
}

#[test]
fn a_tick_lies_strictly_after_the_instant_and_on_a_whole_second() {
    let (rule, utc) = (spec("* * * * * *"), Zone::utc());
    let second = at("2026-01-01T00:00");
    let micro = |offset: i64| Timestamp::from_micros(second.as_micros() + offset);
    assert_eq!(rule.next_after(&utc, micro(0)), Some(micro(1_000_000)));
    assert_eq!(rule.next_after(&utc, micro(999_999)), Some(micro(1_000_000)));
    assert_eq!(rule.next_after(&utc, micro(-1)), Some(micro(0)));
    assert_eq!(rule.next_after(&utc, Timestamp::from_micros(-1)), Some(Timestamp::ZERO));
    assert_eq!(
        ticks("15,45 10 0 * * *", "UTC", "2026-01-01T00:00", 3),
        "2026-01-01T00:10:15 2026-01-01T00:10:45 2026-01-02T00:10:15"
    );
    assert_eq!(ticks("@every 90m", "UTC", "2026-01-01T00:00", 2), "2026-01-01T01:30 2026-01-01T03:00");
    assert_eq!(ticks("@every 1d", "Asia/Kolkata", "2026-01-01T00:00", 1), "2026-01-02T00:00", "on the UTC clock");
}
