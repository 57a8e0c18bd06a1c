//! Running other programs, with errors that say which.

use std::path::PathBuf;
use std::process::Command;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// Runs cargo at the root of the repository.
pub(crate) fn cargo(args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    eprintln!("+ cargo {}", args.join(" "));
    run(Command::new(cargo).args(args).envs(env.iter().copied()).current_dir(root()))
}

/// Runs a program and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} failed: {status}")),
        Err(e) => Err(format!("{name} cannot be started: {e}")),
    }
}

/// Runs a program, gives its output, and fails unless it succeeds.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(out) if out.status.success() => Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned()),
        Ok(out) => Err(format!("{name} failed: {}: {}", out.status, String::from_utf8_lossy(&out.stderr).trim())),
        Err(e) => Err(format!("{name} cannot be started: {e}")),
    }
}

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}
