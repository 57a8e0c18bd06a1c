//! The project's own commands. `cargo xtask test` runs every test of correctness and sets up what it needs.

mod beside;
mod cluster;
mod command;
mod pooler;
mod random;
mod soak;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  test [--keep] [NAME...]  every test of correctness, on memory, SQLite and PostgreSQL; installs what is missing
  random [MINUTES]         the tests that draw at random, with new seeds, for 30 minutes or so many
  soak [MINUTES]           work of every sort on both stores for 10 minutes or so many, counted exactly
  tidy                     checks the shape of the repository
  ci                       formatting, lints, tidy, documentation, test
  cluster                  a throwaway PostgreSQL cluster until Enter is pressed, for work by hand";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("test") => test::run(&args[1..]),
        Some("random") => random::run(&args[1..]),
        Some("soak") => soak::run(&args[1..]),
        Some("tidy") => tidy::run(),
        Some("ci") => ci(),
        Some("cluster") => test::hold_cluster(),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// What a commit must pass.
fn ci() -> Result<(), String> {
    command::cargo(&["fmt", "--all", "--check"], &[])?;
    tidy::run()?;
    command::cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[])?;
    command::cargo(&["doc", "--workspace", "--no-deps", "--all-features"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    test::run(&[])
}
