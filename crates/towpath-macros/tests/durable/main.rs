//! Wrong uses of durable functions that the compiler can see: each is refused at the word that is wrong.
//!
//! `TRYBUILD=overwrite` writes the messages anew.

use std::process::Command;

/// What the macros themselves say: the same under every compiler.
#[test]
fn a_wrong_definition_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/durable/ui/*.rs");
}

/// What the compiler says of a run's operations outside of their function, in words that differ from release to release.
#[test]
fn operations_stay_in_their_function() {
    let version = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into())).arg("--version").output();
    let version = version.map(|v| String::from_utf8_lossy(&v.stdout).into_owned()).unwrap_or_default();
    if !version.starts_with(RECORDED_WITH) {
        println!("LEFT OUT: the messages were recorded with {RECORDED_WITH}, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/durable/rustc/ui/*.rs");
}

const RECORDED_WITH: &str = "rustc 1.95.";
