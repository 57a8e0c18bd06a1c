//! Workers on one store in virtual time: real dispatchers, random work, and everything that goes wrong between them.
//!
//! A seed decides all of it, so the same seed is the same run. `TOWPATH_SEED` takes a printed one back,
//! `TOWPATH_SEEDS` sets how many follow it. Each oracle has a twin below that spoils a run and must turn it red.

mod script;
mod watch;
mod world;

use crate::faults;
use world::{Sabotage, Tally, World};

/// Seeds of one test run; some seconds.
const SEEDS: u64 = 200;

/// The first seed where none is given; `cargo xtask random` gives ever new ones.
const SEED: u64 = 1_795_900_000_000_000_000;

fn number(key: &str) -> Option<u64> {
    std::env::var(key).ok()?.parse().ok()
}

/// Runs so many seeds; the first that is red, with what it says.
fn run(seeds: u64, sabotage: Sabotage) -> Result<Tally, String> {
    let first = number("TOWPATH_SEED").unwrap_or(SEED);
    let one = if number("TOWPATH_SEED").is_some() { 1 } else { seeds };
    let seeds = number("TOWPATH_SEEDS").unwrap_or(one);
    println!("simulation: TOWPATH_SEED={first} TOWPATH_SEEDS={seeds}");
    let mut total = Tally::default();
    for seed in first..first.saturating_add(seeds) {
        total.add(&World::new(seed, sabotage).run().map_err(|what| format!("TOWPATH_SEED={seed}: {what}"))?);
    }
    Ok(total)
}

#[test]
fn workers_lose_nothing_and_repeat_nothing_whatever_happens_to_them() {
    faults::put_back_what_is_asked();
    let total = run(SEEDS, Sabotage::None).unwrap_or_else(|what| panic!("{what}"));
    println!("{total:?}");
    if number("TOWPATH_SEED").or(number("TOWPATH_SEEDS")).is_none() {
        assert!(total.proves_something(), "too little went wrong to prove anything: {total:?}");
    }
}

/// A spoilt run must be found, by the oracle that it is about.
fn found(sabotage: Sabotage, oracle: &str) {
    let said = run(SEEDS, sabotage).err().unwrap_or_else(|| panic!("nobody notices {sabotage:?}"));
    assert!(said.contains(oracle), "{sabotage:?} is found by another oracle: {said}");
}

#[test]
fn a_handler_that_never_ends_is_found() {
    found(Sabotage::LoseAnEnd, "has not ended");
}

#[test]
fn a_live_worker_that_is_said_to_be_gone_is_found() {
    found(Sabotage::FalseNews, "under two live leases");
}

#[test]
fn a_crash_of_nobody_is_found() {
    found(Sabotage::RescueTheLiving, "was rescued and lives");
}

#[test]
fn a_wrong_counter_is_found() {
    found(Sabotage::SpoilACounter, "repaired");
}

#[test]
fn a_success_that_is_recorded_twice_is_found() {
    found(Sabotage::TellASuccessTwice, "recorded twice");
}

#[test]
fn a_failure_that_nobody_counted_is_found() {
    found(Sabotage::HideAFailure, "failures");
}

#[test]
fn a_row_that_is_left_over_is_found() {
    found(Sabotage::KeepAWorker, "left over");
}

#[test]
fn a_worker_that_does_not_leave_is_found() {
    found(Sabotage::StopAClock, "has not left");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| World::new(seed, Sabotage::None).run().unwrap();
    assert_eq!(run(7), run(7));
}
