//! Towpath beside sqlx: a library must not break its users' dependency graph, and rides on the transactions of that driver.

use std::process::Command;

use crate::command::{output, root, run};
use crate::test::POSTGRES;

pub(crate) fn run_all(postgres: &str) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let target =
        output(Command::new(&cargo).args(["metadata", "--format-version=1", "--no-deps"]).current_dir(root()))?;
    let target =
        target.split("\"target_directory\":\"").nth(1).and_then(|t| t.split('"').next()).unwrap_or("target").to_owned();
    for version in ["0.8", "0.9"] {
        let dir = root().join(format!("tests/beside/sqlx-{version}"));
        eprintln!("+ cargo test (beside sqlx {version})");
        run(Command::new(&cargo)
            .args(["test", "--quiet"])
            .env(POSTGRES, postgres)
            .env("CARGO_TARGET_DIR", format!("{target}/beside"))
            .current_dir(dir))?;
    }
    Ok(())
}
