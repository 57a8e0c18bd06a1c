//! Work of every sort on SQLite and PostgreSQL at once, for as long as wanted: what it does, and what must agree in the end, is
//! in `crates/towpath/examples/soak.rs`.

use std::path::PathBuf;
use std::process::{Child, Command};

use crate::cluster::Cluster;
use crate::command::cargo;
use crate::tools;

const MINUTES: f64 = 10.0;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let minutes = match args {
        [] => MINUTES,
        [minutes] => minutes.parse().map_err(|_| format!("{minutes:?} is no number of minutes"))?,
        _ => return Err("usage: cargo xtask soak [MINUTES]".into()),
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "minutes of a person's")]
    let seconds = (minutes * 60.0).max(10.0) as u64;
    cargo(&["build", "--release", "-p", "towpath", "--all-features", "--example", "soak"], &[])?;
    let cluster = Cluster::start(&tools::postgres()?)?;
    let url = cluster.url();
    let file = std::env::temp_dir().join(format!("towpath-soak-{}", std::process::id()));
    std::fs::create_dir_all(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let sqlite = format!("sqlite:{}", file.join("store.db").display());
    let children = [start(&sqlite, seconds)?, start(&url, seconds)?];
    let mut problems = Vec::new();
    for (mut child, of) in children.into_iter().zip([&sqlite, &url]) {
        match child.wait() {
            Ok(status) if status.success() => {}
            Ok(status) => problems.push(format!("{of}: {status}")),
            Err(error) => problems.push(format!("{of}: {error}")),
        }
    }
    let _ = std::fs::remove_dir_all(&file);
    match cluster.deadlocks() {
        0 => {}
        found => problems.push(format!("the server's log tells of {found} deadlocks")),
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

fn start(url: &str, seconds: u64) -> Result<Child, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = target.join("release/examples/soak");
    Command::new(&program).arg(url).arg(seconds.to_string()).spawn().map_err(|e| format!("{}: {e}", program.display()))
}
