//! Towpath beside sqlx: a library must not break its users' dependency graph.

use std::process::Command;

use crate::command::{output, root, run};

pub(crate) fn run_all() -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let target =
        output(Command::new(&cargo).args(["metadata", "--format-version=1", "--no-deps"]).current_dir(root()))?;
    let target =
        target.split("\"target_directory\":\"").nth(1).and_then(|t| t.split('"').next()).unwrap_or("target").to_owned();
    for version in ["0.8", "0.9"] {
        let dir = root().join(format!("tests/beside/sqlx-{version}"));
        eprintln!("+ cargo run (beside sqlx {version})");
        run(Command::new(&cargo)
            .args(["run", "--quiet"])
            .env("CARGO_TARGET_DIR", format!("{target}/beside"))
            .current_dir(dir))?;
    }
    Ok(())
}
