//! What parsing, the next tick and looks cost: printed by a test in release, bounded by a count in any build.

use std::hint::black_box;
use std::time::Instant;

use super::{at, spec, zone};
use crate::schedule::{Activity, LastRun, Look, Policy, Schedule, Spec, plan};

const SPECS: &[(&str, &str)] = &[
    ("*/5 * * * *", "UTC"),
    ("*/5 * * * *", "Europe/Berlin"),
    ("30 2 * * *", "Europe/Berlin"),
    ("0 9 * * MON-FRI", "America/New_York"),
    ("0 0 L,15W * MON#2", "Australia/Lord_Howe"),
    ("0 0 29 2 *", "Asia/Kolkata"),
    ("0 * 29 2 *", "Europe/Berlin"),
    ("0 * ? 2 MON#5", "Europe/Berlin"),
    ("@every 90s", "UTC"),
];

/// Run with `cargo test --release -p towpath-core --lib schedule::tests::cost -- --nocapture`.
#[test]
fn costs_are_printed_and_no_tick_is_far_to_find() {
    let now = at("2026-01-01T00:00");
    // A debug build shows that it works, not what it costs.
    let (rounds, count) = if cfg!(debug_assertions) { (20, 100) } else { (20_000, 10_000) };
    for (text, name) in SPECS {
        let zone = zone(name);
        let began = Instant::now();
        for _ in 0..rounds {
            black_box(Spec::parse(black_box(text)).is_ok());
        }
        let parse_ns = began.elapsed().as_nanos() / rounds;
        let (spec, began) = (spec(text), Instant::now());
        for _ in 0..rounds {
            black_box(spec.next_after(&zone, black_box(now)));
        }
        let next_ns = began.elapsed().as_nanos() / rounds;
        println!("{text:20} {name:20} parse {parse_ns:6} ns, next_after {next_ns:6} ns");
        // Minute by minute the rarest of these takes seconds.
        assert!(next_ns < 20_000_000, "{text}: {next_ns} ns");
    }
    let schedules: Vec<Schedule> = (0..count)
        .map(|n| {
            let (text, name) = SPECS[n % SPECS.len()];
            Schedule { spec: spec(text), zone: zone(name), policy: Policy::default() }
        })
        .collect();
    for (what, cursor) in
        [("a minute ago", "2025-12-31T23:59"), ("a day ago", "2025-12-31T00:00"), ("a year ago", "2025-01-01T00:00")]
    {
        let look = Look { now, cursor: at(cursor), activity: Activity::Active, last_run: LastRun::Ended };
        let began = Instant::now();
        let minted: usize = schedules.iter().map(|schedule| plan(schedule, &look).mint.len()).sum();
        println!("{count} looks, the cursor {what}: {:?}, {minted} minted", began.elapsed());
    }
}
