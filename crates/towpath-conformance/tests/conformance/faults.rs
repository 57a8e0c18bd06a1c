//! The named faults: each is put back in a child process, and the test that is to catch it must fail there.
//!
//! `TOWPATH_FAULT` names the fault; the tests that can catch one ask for it as they start.

use std::process::{Command, Output};

use towpath_core::fault::{self, Fault};

use crate::postgres::url;

/// Puts the fault back that the environment names, if it names one.
pub(crate) fn put_back_what_is_asked() {
    if let Ok(name) = std::env::var("TOWPATH_FAULT") {
        fault::put_back(Fault::named(&name).unwrap_or_else(|| panic!("there is no fault {name:?}")));
    }
}

/// Runs one test of this very binary in a process of its own.
fn run(test: &str, script: &str, fault: Option<Fault>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env("TOWPATH_SCRIPT", script).env_remove("TOWPATH_UPDATE");
    command
        .env("TOWPATH_SEEDS", "60")
        .env_remove("TOWPATH_FAULT")
        .envs(fault.map(|fault| ("TOWPATH_FAULT", fault.name())));
    command.output().unwrap()
}

/// The test holds as the code is, and fails with the fault.
fn caught(fault: Fault, test: &str, script: &str) {
    let said = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let sound = run(test, script, None);
    assert!(sound.status.success(), "{test} fails without a fault:\n{}", said(&sound));
    assert!(said(&sound).contains("1 passed"), "{test} was not run:\n{}", said(&sound));
    let spoilt = run(test, script, Some(fault));
    assert!(!spoilt.status.success(), "nobody notices {fault}: {test} passes:\n{}", said(&spoilt));
    assert!(said(&spoilt).contains("panicked"), "{test} did not fail by a check of its own:\n{}", said(&spoilt));
}

#[test]
fn an_outcome_without_a_look_at_its_claim_is_noticed() {
    caught(Fault::SkipFence, "scripts::scripts_hold_in_memory", "settle/stale");
    caught(Fault::SkipFence, "sqlite::scripts_hold_on_sqlite", "settle/stale");
    if url().is_some() {
        caught(Fault::SkipFence, "postgres::scripts_hold_on_postgres", "settle/stale");
    }
}

#[test]
fn a_parent_that_is_counted_twice_is_noticed() {
    caught(Fault::ReleaseTwice, "scripts::scripts_hold_in_memory", "graph/diamond");
    caught(Fault::ReleaseTwice, "sqlite::scripts_hold_on_sqlite", "graph/diamond");
    if url().is_some() {
        caught(Fault::ReleaseTwice, "postgres::scripts_hold_on_postgres", "graph/diamond");
    }
}

#[test]
fn a_recount_that_does_nothing_is_noticed() {
    caught(Fault::NoRecount, "scripts::scripts_hold_in_memory", "graph/counters-recounted");
    caught(Fault::NoRecount, "sqlite::scripts_hold_on_sqlite", "graph/counters-recounted");
    if url().is_some() {
        caught(Fault::NoRecount, "postgres::scripts_hold_on_postgres", "graph/counters-recounted");
    }
}

#[test]
fn nodes_locked_out_of_order_are_noticed() {
    if url().is_some() {
        let test = "interleavings::batches_with_the_same_children_in_opposite_orders_never_deadlock";
        caught(Fault::LockOutOfOrder, test, "");
        caught(
            Fault::LockOutOfOrder,
            "interleavings::two_processes_in_every_order_agree",
            "settle-and-settle-in-batches",
        );
    }
}

#[test]
fn a_worker_that_rescues_before_it_has_spoken_to_the_store_for_a_lease_is_noticed() {
    let test = "simulation::workers_lose_nothing_and_repeat_nothing_whatever_happens_to_them";
    caught(Fault::RescueWithoutContact, test, "");
}
