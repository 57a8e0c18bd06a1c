//! Sequences of looks, on time, late, on a clock that is set back, paused and edited: no tick is minted twice and none is
//! lost without being told.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

use super::{at, shown, spec, zone};
use crate::schedule::{Activity, CatchUp, LastRun, Look, Overlap, Policy, Schedule, plan};
use crate::time::Timestamp;

const SPECS: &[&str] = &[
    "* * * * *",
    "*/7 * * * *",
    "30 2 * * *",
    "0 * * * *",
    "15,45 1-3 * * *",
    "@every 11m",
    "*/20 * * * * *",
    "0 0 1 * MON",
];

#[derive(Clone, Debug)]
struct Step {
    /// How far the clock goes in seconds, backwards too.
    clock: i64,
    activity: Activity,
    last_run: LastRun,
    /// A new spec, sometimes.
    edit: Option<&'static str>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let clock = prop_oneof![4 => 0_i64..120, 3 => 0_i64..7_200, 1 => 0_i64..200_000, 1 => -7_200_i64..0];
    let activity = prop_oneof![5 => Just(Activity::Active), 1 => Just(Activity::Paused)];
    let last_run = prop_oneof![Just(LastRun::Ended), Just(LastRun::Going)];
    let edit = prop::option::weighted(0.1, prop::sample::select(SPECS));
    let step = (clock, activity, last_run, edit).prop_map(|(clock, activity, last_run, edit)| Step {
        clock,
        activity,
        last_run,
        edit,
    });
    prop::collection::vec(step, 1..40)
}

fn policy() -> impl Strategy<Value = Policy> {
    let catch_up = prop_oneof![Just(CatchUp::Skip), Just(CatchUp::Coalesce), (0_u8..=120).prop_map(CatchUp::Backfill)];
    let overlap = prop_oneof![Just(Overlap::Allow), Just(Overlap::Skip)];
    (catch_up, overlap, 0_u64..200).prop_map(|(catch_up, overlap, grace)| {
        Policy { catch_up, overlap, ..Policy::default() }.grace(Duration::from_secs(grace))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_tick_is_decided_once(first in prop::sample::select(SPECS), policy in policy(), steps in steps()) {
        let mut schedule = Schedule { spec: spec(first), zone: zone("Europe/Berlin"), policy };
        let start = at("2026-03-28T20:00");
        let (mut now, mut cursor) = (start.as_micros(), start);
        let mut minted = BTreeSet::new();
        for step in steps {
            now += step.clock * 1_000_000 + 137;
            schedule.spec = step.edit.map_or(schedule.spec, spec);
            let look = Look { now: Timestamp::from_micros(now), cursor, activity: step.activity, last_run: step.last_run };
            let plan = plan(&schedule, &look);
            prop_assert_eq!(plan.behind.is_some(), look.cursor > look.now);
            prop_assert!(plan.cursor >= cursor && (plan.cursor <= look.now || plan.cursor == cursor));
            for tick in &plan.mint {
                prop_assert!(*tick > cursor && *tick <= look.now, "{} is not due", shown(*tick));
                prop_assert!(minted.insert(*tick), "{} is minted twice", shown(*tick));
            }
            // What lies between the two cursors is all accounted for, each tick once.
            let passed: Vec<_> = schedule.spec.ticks_after(&schedule.zone, cursor).take_while(|tick| *tick <= plan.cursor).collect();
            for tick in &passed {
                let here = plan.mint.iter().filter(|minted| *minted == tick).count()
                    + plan.skipped.iter().filter(|skipped| skipped.first <= *tick && *tick <= skipped.last).count();
                prop_assert_eq!(here, 1, "{} is decided {} times", shown(*tick), here);
            }
            if plan.skipped.iter().all(|skipped| skipped.count < crate::limits::TICKS_COUNTED_MAX) {
                let told = plan.mint.len() + plan.skipped.iter().map(|skipped| skipped.count as usize).sum::<usize>();
                prop_assert_eq!(told, passed.len());
            }
            if step.activity == Activity::Paused || policy.overlap == Overlap::Skip && step.last_run == LastRun::Going {
                prop_assert!(plan.mint.is_empty());
            }
            // Nothing is due before the next look.
            if plan.behind.is_none() {
                let next = schedule.spec.next_after(&schedule.zone, plan.cursor).unwrap();
                prop_assert_eq!(plan.next, Some(next.max(look.now)));
            }
            cursor = plan.cursor;
        }
    }

    #[test]
    fn with_backfill_none_of_the_newest_is_lost(
        text in prop::sample::select(SPECS), keep in 1_u8..=100, grace in 0_u64..200, gaps in prop::collection::vec(0_i64..40_000, 1..12),
    ) {
        let policy = Policy { catch_up: CatchUp::Backfill(keep), ..Policy::default() }.grace(Duration::from_secs(grace));
        let schedule = Schedule { spec: spec(text), zone: zone("Europe/Berlin"), policy };
        let start = at("2026-10-24T20:00");
        let (mut now, mut cursor) = (start, start);
        for gap in gaps {
            now = now + Duration::from_secs(gap as u64);
            let due: Vec<_> = schedule.spec.ticks_after(&schedule.zone, cursor).take_while(|tick| *tick <= now).collect();
            let plan = plan(&schedule, &Look { now, cursor, activity: Activity::Active, last_run: LastRun::Going });
            let newest = due.len().saturating_sub(keep.into());
            prop_assert!(plan.mint.ends_with(&due[newest..]), "{} of {} due are minted", plan.mint.len(), due.len());
            cursor = plan.cursor;
        }
    }

    #[test]
    fn the_newest_ticks_of_a_long_silence_are_the_last_of_all(text in prop::sample::select(SPECS), silence in prop_oneof![0_u64..300, 0_u64..400_000], keep in prop_oneof![0_u8..4, 0_u8..=100]) {
        let policy = Policy { catch_up: CatchUp::Backfill(keep), ..Policy::default() }.grace(Duration::ZERO);
        let schedule = Schedule { spec: spec(text), zone: zone("Australia/Lord_Howe"), policy };
        let cursor = at("2026-04-02T00:00");
        let now = cursor + Duration::from_secs(silence) + Duration::from_micros(1);
        let due: Vec<_> = schedule.spec.ticks_after(&schedule.zone, cursor).take_while(|tick| *tick <= now).collect();
        let plan = plan(&schedule, &Look { now, cursor, activity: Activity::Active, last_run: LastRun::Ended });
        prop_assert_eq!(&plan.mint, &due[due.len().saturating_sub(keep.into())..]);
        prop_assert_eq!(Some(plan.cursor), due.last().copied().or(Some(cursor)));
    }
}
