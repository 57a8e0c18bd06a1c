//! What a scheduler does at an instant: each policy, paused, overlapping, late, set back, edited, and after a long silence.

use std::time::Duration;

use super::{at, shown, spec, zone};
use crate::limits;
use crate::schedule::{Activity, CatchUp, LastRun, Look, Overlap, Plan, Policy, Schedule, SkipReason, plan};

const ACTIVE: (Activity, LastRun) = (Activity::Active, LastRun::Ended);

fn policy(catch_up: CatchUp, overlap: Overlap) -> Policy {
    Policy { catch_up, overlap, ..Policy::default() }
}

fn schedule(text: &str, policy: Policy) -> Schedule {
    Schedule { spec: spec(text), zone: zone("UTC"), policy }
}

fn look(schedule: &Schedule, cursor: &str, now: &str, (activity, last_run): (Activity, LastRun)) -> Plan {
    plan(schedule, &Look { now: at(now), cursor: at(cursor), activity, last_run })
}

/// `mint … | skip first..last n reason | cursor … | next …`, times of one day without the date.
fn said(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if !plan.mint.is_empty() {
        parts.push(format!("mint {}", plan.mint.iter().map(|tick| shown(*tick)).collect::<Vec<_>>().join(" ")));
    }
    for skipped in &plan.skipped {
        let (first, last) = (shown(skipped.first), shown(skipped.last));
        parts.push(format!("skip {first}..{last} {} {:?}", skipped.count, skipped.reason));
    }
    parts.push(format!("cursor {}", shown(plan.cursor)));
    parts.push(format!("next {}", plan.next.map_or("never".into(), shown)));
    parts.join(" | ").replace("2026-01-01T", "")
}

#[test]
fn a_tick_in_time_is_minted_and_one_that_is_not_due_is_not() {
    let hourly = schedule("@hourly", Policy::default());
    let (before, due) = (
        look(&hourly, "2026-01-01T01:00", "2026-01-01T01:59:59", ACTIVE),
        look(&hourly, "2026-01-01T01:00", "2026-01-01T02:00", ACTIVE),
    );
    assert_eq!(said(&before), "cursor 01:00 | next 02:00", "an early timer does nothing");
    assert_eq!(said(&due), "mint 02:00 | cursor 02:00 | next 03:00");
    assert_eq!(said(&look(&hourly, "2026-01-01T02:00", "2026-01-01T02:00", ACTIVE)), "cursor 02:00 | next 03:00");
    assert_eq!(before.behind, None);
}

#[test]
fn missed_ticks_are_what_the_policy_says() {
    for (catch_up, now, expected) in [
        (CatchUp::Skip, "04:30", "skip 01:00..04:00 4 TooLate | cursor 04:00 | next 05:00"),
        (CatchUp::Skip, "04:00:30", "mint 04:00 | skip 01:00..03:00 3 TooLate | cursor 04:00 | next 05:00"),
        (CatchUp::Coalesce, "04:30", "mint 04:00 | skip 01:00..03:00 3 Coalesced | cursor 04:00 | next 05:00"),
        (CatchUp::Coalesce, "04:00:30", "mint 04:00 | skip 01:00..03:00 3 Coalesced | cursor 04:00 | next 05:00"),
        (CatchUp::Coalesce, "01:30", "mint 01:00 | cursor 01:00 | next 02:00"),
        (CatchUp::Backfill(2), "04:30", "mint 03:00 04:00 | skip 01:00..02:00 2 TooLate | cursor 04:00 | next 05:00"),
        (
            CatchUp::Backfill(2),
            "04:00:30",
            "mint 02:00 03:00 04:00 | skip 01:00..01:00 1 TooLate | cursor 04:00 | next 05:00",
        ),
        (CatchUp::Backfill(4), "04:30", "mint 01:00 02:00 03:00 04:00 | cursor 04:00 | next 05:00"),
        (CatchUp::Backfill(0), "04:30", "skip 01:00..04:00 4 TooLate | cursor 04:00 | next 05:00"),
    ] {
        let hourly = schedule("@hourly", policy(catch_up, Overlap::Allow));
        let plan = look(&hourly, "2026-01-01T00:00", &format!("2026-01-01T{now}"), ACTIVE);
        assert_eq!(said(&plan), expected, "{catch_up:?} at {now}");
    }
}

#[test]
fn a_tick_is_in_time_up_to_its_grace_and_late_after_it() {
    let hourly = |grace| schedule("@hourly", policy(CatchUp::Skip, Overlap::Allow).grace(grace));
    let minute = hourly(Duration::from_secs(60));
    assert_eq!(
        said(&look(&minute, "2026-01-01T00:00", "2026-01-01T01:01", ACTIVE)),
        "mint 01:00 | cursor 01:00 | next 02:00"
    );
    assert_eq!(
        said(&look(&minute, "2026-01-01T00:00", "2026-01-01T01:01:01", ACTIVE)),
        "skip 01:00..01:00 1 TooLate | cursor 01:00 | next 02:00"
    );
    let none = hourly(Duration::ZERO);
    assert_eq!(
        said(&look(&none, "2026-01-01T00:00", "2026-01-01T01:00", ACTIVE)),
        "mint 01:00 | cursor 01:00 | next 02:00"
    );
    let endless = hourly(Duration::MAX);
    assert_eq!(look(&endless, "2026-01-01T00:00", "2026-01-01T05:00", ACTIVE).mint.len(), 5);
}

#[test]
fn a_tick_that_finds_the_last_run_going_is_minted_or_skipped() {
    let going = (Activity::Active, LastRun::Going);
    let allow = schedule("@hourly", policy(CatchUp::Coalesce, Overlap::Allow));
    let skip = schedule("@hourly", policy(CatchUp::Backfill(2), Overlap::Skip));
    assert_eq!(
        said(&look(&allow, "2026-01-01T00:00", "2026-01-01T01:00", going)),
        "mint 01:00 | cursor 01:00 | next 02:00"
    );
    assert_eq!(
        said(&look(&skip, "2026-01-01T00:00", "2026-01-01T01:00", going)),
        "skip 01:00..01:00 1 Overlap | cursor 01:00 | next 02:00"
    );
    assert_eq!(
        said(&look(&skip, "2026-01-01T00:00", "2026-01-01T04:30", going)),
        "skip 01:00..02:00 2 TooLate | skip 03:00..04:00 2 Overlap | cursor 04:00 | next 05:00"
    );
    assert_eq!(
        said(&look(&skip, "2026-01-01T00:00", "2026-01-01T04:30", ACTIVE)),
        "mint 04:00 | skip 01:00..02:00 2 TooLate | skip 03:00..03:00 1 Overlap | cursor 04:00 | next 05:00"
    );
}

#[test]
fn a_pause_skips_and_a_look_at_its_end_leaves_nothing_to_catch_up() {
    let hourly = schedule("@hourly", policy(CatchUp::Backfill(100), Overlap::Allow));
    let paused = look(&hourly, "2026-01-01T00:00", "2026-01-01T05:20", (Activity::Paused, LastRun::Going));
    assert_eq!(said(&paused), "skip 01:00..05:00 5 Paused | cursor 05:00 | next 06:00");
    assert_eq!(said(&look(&hourly, "2026-01-01T05:00", "2026-01-01T05:20", ACTIVE)), "cursor 05:00 | next 06:00");
}

#[test]
fn a_clock_that_was_set_back_runs_nothing_twice_and_is_told() {
    let hourly = schedule("@hourly", Policy::default());
    let back = look(&hourly, "2026-01-01T05:00", "2026-01-01T03:30", ACTIVE);
    assert_eq!(said(&back), "cursor 05:00 | next 06:00");
    assert_eq!(back.behind, Some(Duration::from_secs(5_400)));
    assert_eq!(look(&hourly, "2026-01-01T05:00", "2026-01-01T05:00", ACTIVE).behind, None);
}

#[test]
fn another_spec_goes_on_from_the_same_cursor() {
    let edited = schedule("15,45 * * * *", Policy::default());
    assert_eq!(said(&look(&edited, "2026-01-01T05:00", "2026-01-01T05:10", ACTIVE)), "cursor 05:00 | next 05:15");
    assert_eq!(
        said(&look(&edited, "2026-01-01T03:00", "2026-01-01T05:10", ACTIVE)),
        "mint 04:45 | skip 03:15..04:15 3 Coalesced | cursor 04:45 | next 05:15",
        "what the new spec missed since the last decided tick is caught up"
    );
}

#[test]
fn a_long_silence_is_bounded_and_its_newest_ticks_are_found() {
    for text in ["* * * * * *", "@every 1s"] {
        let second = |catch_up| schedule(text, policy(catch_up, Overlap::Allow).grace(Duration::from_secs(1)));
        let backfilled = look(&second(CatchUp::Backfill(255)), "2006-01-01T00:00", "2026-01-01T00:00", ACTIVE);
        assert_eq!(backfilled.mint.len(), usize::from(limits::BACKFILL_MAX) + 2, "100 late ones and two in time");
        assert_eq!(shown(backfilled.mint[0]), "2025-12-31T23:58:19");
        let skipped = backfilled.skipped[0];
        assert_eq!(
            (shown(skipped.first), shown(skipped.last)),
            ("2006-01-01T00:00:01".into(), "2025-12-31T23:58:18".into())
        );
        assert_eq!((skipped.count, skipped.reason), (limits::TICKS_COUNTED_MAX, SkipReason::TooLate));
        assert!(backfilled.mint.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_secs(1)));
    }
    let rare = schedule("0 0 29 2 *", policy(CatchUp::Backfill(3), Overlap::Allow));
    let plan = look(&rare, "1904-03-01T00:00", "2026-01-01T00:00", ACTIVE);
    assert_eq!(
        said(&plan),
        "mint 2016-02-29T00:00 2020-02-29T00:00 2024-02-29T00:00 | skip 1908-02-29T00:00..2012-02-29T00:00 27 TooLate | cursor 2024-02-29T00:00 | next 2028-02-29T00:00"
    );
}

#[test]
fn a_look_that_is_full_leaves_the_others_to_the_next_one_at_once() {
    let second = schedule("* * * * * *", Policy::default().grace(Duration::from_secs(300)));
    let first = look(&second, "2026-01-01T00:00", "2026-01-01T00:04", ACTIVE);
    assert_eq!((first.mint.len(), shown(first.cursor)), (limits::TICKS_LOOK_MAX, "2026-01-01T00:01:40".into()));
    assert_eq!(first.next, Some(at("2026-01-01T00:04")), "now");
}

#[test]
fn a_schedule_that_will_never_tick_again_has_no_next_look() {
    let last = schedule("0 0 30 12 *", Policy::default());
    let plan = look(&last, "9999-12-29T00:00", "9999-12-30T00:00:10", ACTIVE);
    assert_eq!(said(&plan), "mint 9999-12-30T00:00 | cursor 9999-12-30T00:00 | next never");
}

#[test]
fn a_schedule_has_a_stored_form_with_its_defaults_left_out() {
    let short: Schedule = serde_json::from_str(r#"{"spec":"@daily"}"#).unwrap();
    assert_eq!(short, schedule("0 0 * * *", Policy::default()));
    let full = r#"{"spec":"0 0 * * *","zone":"Asia/Kolkata","policy":{"catch_up":{"backfill":7},"overlap":"skip","grace_us":5}}"#;
    let kept: Schedule = serde_json::from_str(full).unwrap();
    assert_eq!(kept.policy, Policy { catch_up: CatchUp::Backfill(7), overlap: Overlap::Skip, grace_us: 5 });
    assert_eq!(serde_json::to_string(&kept).unwrap(), full);
    assert!(serde_json::from_str::<Schedule>(r#"{"spec":"@daily","zone":"Berlin"}"#).is_err());
}
