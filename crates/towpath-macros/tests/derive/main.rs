//! Wrong uses of `#[derive(Job)]`: each is refused at compile time, at the word that is wrong, with what to write.
//!
//! `TRYBUILD=overwrite` writes the messages anew.

use std::process::Command;

/// What the macro itself says: the same under every compiler.
#[test]
fn a_wrong_attribute_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/derive/ui/*.rs");
}

/// What the compiler says of the code that the macro writes, in words that differ from release to release.
#[test]
fn what_the_type_lacks_is_told_at_the_type() {
    let version = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into())).arg("--version").output();
    let version = version.map(|v| String::from_utf8_lossy(&v.stdout).into_owned()).unwrap_or_default();
    if !version.starts_with(RECORDED_WITH) {
        println!("LEFT OUT: the messages were recorded with {RECORDED_WITH}, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/derive/rustc/ui/*.rs");
}

const RECORDED_WITH: &str = "rustc 1.95.";
