//! Pages of the documentation that are printed from code. `TOWPATH_UPDATE=1` writes them anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::PathBuf;

use towpath_core::{Condition, End, Label, State, Verdict, defaults};

fn check(page: &str, expected: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/{page} differs from the code: run the tests with TOWPATH_UPDATE=1");
}

#[test]
fn the_lifecycle_page_is_that_of_the_code() {
    let mut page = String::from(
        "# The life of a job\n\nPrinted from `State::next` in `crates/towpath-core/src/lifecycle.rs`.\n\n```mermaid\n",
    );
    page.push_str(&State::diagram());
    page.push_str(
        "```\n\n\
         - **waiting**: for its parents. **ready**: claimable once due; a scheduled, retrying or snoozed job is ready\n  \
           with a later due. **blocked**: no worker can run it until code or input changes. **running**: under a\n  \
           worker's lease.\n\
         - **succeeded**; **dead**: attempts exhausted, a permanent error, or a deadline that passed; **quarantined**:\n  \
           its worker process died under it too often in a row; **cancelled**: somebody asked; **skipped**: a branch\n  \
           that was not taken, or something above it went wrong.\n\
         - An error or a panic spends an attempt. A lost worker counts a crash and spends none. A snooze, a hand-back\n  \
           and a shutdown spend nothing.\n\n\
         ## What an end of the parent means to an edge\n\n\
         Printed from `Condition::table` in `crates/towpath-core/src/graph/condition.rs`.\n\n",
    );
    page.push_str("| edge | succeeded | dead | quarantined | cancelled | skipped: untaken | skipped: upstream |\n");
    page.push_str("|---|---|---|---|---|---|---|\n");
    let label = Label::new("label").unwrap();
    let conditions = [
        Condition::Succeeded,
        Condition::Finished,
        Condition::Failed,
        Condition::Branch(label.clone()),
        Condition::Joined,
    ];
    for condition in conditions {
        write!(page, "| `{condition}` |").unwrap();
        for end in End::ALL {
            let table = condition.table();
            let word = |verdict| match verdict {
                Verdict::Ok => "ok",
                Verdict::Spoil => "spoil",
                Verdict::Untaken => "untaken",
                Verdict::Pass => "pass",
            };
            let chosen = word(table.verdict(end, condition.label(), std::slice::from_ref(&label)));
            let not_chosen = word(table.verdict(end, condition.label(), &[]));
            if chosen == not_chosen {
                write!(page, " {chosen} |").unwrap();
            } else {
                write!(page, " {chosen} if chosen, else {not_chosen} |").unwrap();
            }
        }
        page.push('\n');
    }
    check("lifecycle.md", &page);
}

#[test]
fn the_page_of_defaults_is_that_of_the_code() {
    let mut page = String::from(
        "# Defaults\n\nPrinted from `defaults::table` in `crates/towpath-core/src/defaults.rs`.\n\n\
         | what | value | reason |\n|---|---|---|\n",
    );
    for line in defaults::table() {
        writeln!(page, "| {} | {} | {} |", line.name, line.value, line.reason).unwrap();
    }
    check("defaults.md", &page);
}
