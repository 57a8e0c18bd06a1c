//! Six zones through both changes of a year, by hand, on instants in UTC.
//!
//! The changes are those of the IANA database: its file and the rule stand above each zone's lines. Local times are in
//! brackets where they help.

use super::{at, spec, ticks, zone};

/// Zone, spec, instant after which, and the ticks that follow.
const TABLE: &[(&str, &str, &str, &str)] = &[
    // europe, rule EU: last Sunday of March 01:00Z +1 -> +2, last Sunday of October 01:00Z +2 -> +1.
    // Spring: [02:00 to 03:00] is missing. A fixed hour comes at 03:00 local, once however many of its times are missing.
    ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", "2026-03-29T01:00 2026-03-30T00:30"),
    ("Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00", "2026-03-29T01:00 2026-03-30T00:00 2026-03-30T00:30"),
    ("Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00", "2026-03-29T01:00 2026-03-30T00:00 2026-03-30T01:00"),
    ("Europe/Berlin", "15 2 29 3 *", "2026-03-28T12:00", "2026-03-29T01:00 2027-03-29T00:15"),
    ("Europe/Berlin", "0 * * * *", "2026-03-28T23:30", "2026-03-29T00:00 2026-03-29T01:00 2026-03-29T02:00"),
    ("Europe/Berlin", "0 */2 * * *", "2026-03-28T22:30", "2026-03-28T23:00 2026-03-29T02:00 2026-03-29T04:00"),
    // From the last second before the gap, and from its end.
    ("Europe/Berlin", "30 2 * * *", "2026-03-29T00:59:59", "2026-03-29T01:00 2026-03-30T00:30"),
    ("Europe/Berlin", "30 2 * * *", "2026-03-29T01:00", "2026-03-30T00:30 2026-03-31T00:30"),
    // Autumn: [02:00 to 03:00] comes twice. A fixed hour takes the first.
    ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", "2026-10-25T00:30 2026-10-26T01:30"),
    ("Europe/Berlin", "30 2 * * *", "2026-10-25T00:45", "2026-10-26T01:30 2026-10-27T01:30"),
    ("Europe/Berlin", "30 2 * * *", "2026-10-25T01:10", "2026-10-26T01:30 2026-10-27T01:30"),
    (
        "Europe/Berlin",
        "*/20 2 * * *",
        "2026-10-24T23:30",
        "2026-10-25T00:00 2026-10-25T00:20 2026-10-25T00:40 2026-10-26T01:00",
    ),
    ("Europe/Berlin", "0 3 * * *", "2026-10-24T12:00", "2026-10-25T02:00 2026-10-26T02:00"),
    ("Europe/Berlin", "30 * * * *", "2026-10-24T23:45", "2026-10-25T00:30 2026-10-25T01:30 2026-10-25T02:30"),
    ("Europe/Berlin", "0 */2 * * *", "2026-10-24T22:30", "2026-10-25T00:00 2026-10-25T01:00 2026-10-25T03:00"),
    // northamerica, rule US: second Sunday of March 02:00 -5 -> -4, first Sunday of November 02:00 -4 -> -5.
    ("America/New_York", "30 2 * * *", "2026-03-07T12:00", "2026-03-08T07:00 2026-03-09T06:30"),
    ("America/New_York", "*/30 * * * *", "2026-03-08T06:20", "2026-03-08T06:30 2026-03-08T07:00 2026-03-08T07:30"),
    ("America/New_York", "0 1 * * *", "2026-10-31T12:00", "2026-11-01T05:00 2026-11-02T06:00"),
    ("America/New_York", "0 * * * *", "2026-11-01T04:30", "2026-11-01T05:00 2026-11-01T06:00 2026-11-01T07:00"),
    (
        "America/New_York",
        "*/30 * * * *",
        "2026-11-01T05:20",
        "2026-11-01T05:30 2026-11-01T06:00 2026-11-01T06:30 2026-11-01T07:00",
    ),
    // australasia, rule LH: first Sunday of April 02:00 +11 -> +10:30, first Sunday of October 02:00 +10:30 -> +11.
    // Autumn: [01:30 to 02:00] comes twice.
    ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00", "2026-04-04T14:45 2026-04-05T15:15"),
    ("Australia/Lord_Howe", "45 * * * *", "2026-04-04T14:00", "2026-04-04T14:45 2026-04-04T15:15 2026-04-04T16:15"),
    ("Australia/Lord_Howe", "*/30 * * * *", "2026-04-04T14:10", "2026-04-04T14:30 2026-04-04T15:00 2026-04-04T15:30"),
    // 20 minutes do not go into half an hour: once the distance is 30.
    (
        "Australia/Lord_Howe",
        "*/20 * * * *",
        "2026-04-04T14:10",
        "2026-04-04T14:20 2026-04-04T14:40 2026-04-04T15:10 2026-04-04T15:30",
    ),
    (
        "Australia/Lord_Howe",
        "@every 20m",
        "2026-04-04T14:10",
        "2026-04-04T14:20 2026-04-04T14:40 2026-04-04T15:00 2026-04-04T15:20",
    ),
    // Spring: [02:00 to 02:30] is missing.
    ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00", "2026-10-03T15:30 2026-10-04T15:15"),
    ("Australia/Lord_Howe", "45 2 * * *", "2026-10-03T00:00", "2026-10-03T15:45 2026-10-04T15:45"),
    ("Australia/Lord_Howe", "15 * * * *", "2026-10-03T14:00", "2026-10-03T14:45 2026-10-03T16:15"),
    // southamerica, rule Brazil (until 2019): 2018-02-18 00:00 -2 -> -3 [17th 23:00], 2018-11-04 00:00 -3 -> -2 [01:00].
    ("America/Sao_Paulo", "30 23 * * *", "2018-02-17T12:00", "2018-02-18T01:30 2018-02-19T02:30"),
    ("America/Sao_Paulo", "30 * * * *", "2018-02-18T01:00", "2018-02-18T01:30 2018-02-18T02:30 2018-02-18T03:30"),
    ("America/Sao_Paulo", "0 0 * * *", "2018-02-17T12:00", "2018-02-18T03:00 2018-02-19T03:00"),
    ("America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00", "2018-11-04T03:00 2018-11-05T02:00"),
    ("America/Sao_Paulo", "0 * * * *", "2018-11-04T01:30", "2018-11-04T02:00 2018-11-04T03:00 2018-11-04T04:00"),
    // asia, Zone Asia/Kolkata: +5:30 since 1945.
    ("Asia/Kolkata", "0 9 * * *", "2026-03-28T12:00", "2026-03-29T03:30 2026-03-30T03:30"),
    ("Asia/Kolkata", "0 * * * *", "2026-10-25T00:00", "2026-10-25T00:30 2026-10-25T01:30"),
    ("Asia/Kolkata", "*/20 * * * *", "2026-10-25T00:00", "2026-10-25T00:10 2026-10-25T00:30 2026-10-25T00:50"),
    // australasia, Zone Pacific/Apia: 2011-04-02 04:00 -10 -> -11 [03:00], 2011-09-24 03:00 -11 -> -10 [04:00],
    // 2011-12-29 24:00 -10 -> +14 [31st 00:00]: the 30th is missing.
    ("Pacific/Apia", "30 3 * * *", "2011-04-02T00:00", "2011-04-02T13:30 2011-04-03T14:30"),
    ("Pacific/Apia", "30 3 * * *", "2011-09-24T00:00", "2011-09-24T14:00 2011-09-25T13:30"),
    ("Pacific/Apia", "0 9 * * *", "2011-12-29T00:00", "2011-12-29T19:00 2011-12-30T10:00 2011-12-30T19:00"),
    ("Pacific/Apia", "0 0 * * *", "2011-12-29T00:00", "2011-12-29T10:00 2011-12-30T10:00 2011-12-31T10:00"),
    ("Pacific/Apia", "0 0 30 * *", "2011-12-01T12:00", "2011-12-30T10:00 2012-01-29T10:00"),
    ("Pacific/Apia", "0 */12 * * *", "2011-12-29T12:00", "2011-12-29T22:00 2011-12-30T10:00 2011-12-30T22:00"),
    ("Pacific/Apia", "0 * 30 12 *", "2011-12-01T00:00", "2012-12-29T10:00 2012-12-29T11:00"),
];

#[test]
fn ticks_of_six_zones_are_those_of_the_table() {
    let wrong: Vec<String> = TABLE
        .iter()
        .filter_map(|(zone, text, after, expected)| {
            let found = ticks(text, zone, after, expected.split(' ').count());
            (found != *expected)
                .then(|| format!("{zone} {text} after {after}\n  expected {expected}\n  found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_quarter_of_an_hour_is_even_in_utc_through_every_change() {
    for (name, year) in [
        ("Europe/Berlin", 2026),
        ("America/New_York", 2026),
        ("Australia/Lord_Howe", 2026),
        ("America/Sao_Paulo", 2018),
        ("Asia/Kolkata", 2026),
        ("Pacific/Apia", 2011),
    ] {
        for text in ["*/15 * * * *", "@every 15m"] {
            let (spec, zone) = (spec(text), zone(name));
            let from = at(&format!("{year}-01-01T00:00"));
            let mut last = from;
            for tick in spec.ticks_after(&zone, from).take(4 * 24 * 364) {
                assert_eq!(tick.since(last).as_secs(), 900, "{name} {text} {}", super::shown(tick));
                last = tick;
            }
        }
    }
}

#[test]
fn a_daily_tick_comes_once_on_each_local_day_of_a_hundred_years() {
    for (name, text) in
        [("Europe/Berlin", "30 2 * * *"), ("America/New_York", "30 1 * * *"), ("Africa/Casablanca", "15 2 * * *")]
    {
        let (spec, zone) = (spec(text), zone(name));
        let mut day = None;
        for tick in spec.ticks_after(&zone, at("1975-01-01T00:00")).take(36_525) {
            let local = zone.local(tick.as_micros() / 1_000_000).unwrap().date();
            assert!(day.is_none_or(|day: jiff::civil::Date| day.tomorrow().unwrap() == local), "{name} {local}");
            day = Some(local);
        }
    }
}

#[test]
fn zones_come_from_the_program_and_keep_their_names() {
    assert_eq!(zone("EUROPE/berlin").name(), "Europe/Berlin");
    assert_eq!(zone("utc"), super::Zone::utc());
    let kept = serde_json::to_string(&zone("Pacific/Apia")).unwrap();
    assert_eq!(kept, "\"Pacific/Apia\"");
    assert_eq!(serde_json::from_str::<super::Zone>(&kept).unwrap(), zone("Pacific/Apia"));
    for name in ["", "Etc/Unknown", "+02:00", "Europe/Atlantis", "../../etc/passwd"] {
        let refused = super::Zone::named(name).unwrap_err().to_string();
        assert!(refused.ends_with("use a name such as Europe/Berlin or UTC"), "{refused}");
    }
    assert_eq!(super::Zone::named("Europe/New York").unwrap_err().remedy, "America/New_York");
}
