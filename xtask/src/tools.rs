//! What the tests need on the machine: found, or installed, or named so that a person can install it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo, is_root, output, root, run};

/// The directory of PostgreSQL's programs.
pub(crate) fn postgres() -> Result<PathBuf, String> {
    if let Some(found) = find_postgres() {
        return Ok(found);
    }
    install("postgresql")?;
    find_postgres().ok_or_else(|| "PostgreSQL was installed, and its initdb is not found".into())
}

fn find_postgres() -> Option<PathBuf> {
    let mut homes: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|e| e.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    homes.sort();
    if let Some(newest) = homes.pop() {
        return Some(newest);
    }
    let bin = output(Command::new("pg_config").arg("--bindir")).ok()?;
    Some(PathBuf::from(bin)).filter(|bin| bin.join("initdb").exists())
}

/// The program of PgBouncer.
pub(crate) fn pgbouncer() -> Result<PathBuf, String> {
    for _ in 0..2 {
        for place in ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"] {
            if Path::new(place).exists() {
                return Ok(place.into());
            }
        }
        install("pgbouncer")?;
    }
    Err("PgBouncer was installed, and its program is not found".into())
}

/// The program of Chromium, in which the dashboard's pages are tried.
pub(crate) fn chromium() -> Result<PathBuf, String> {
    for _ in 0..2 {
        for place in ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"] {
            if Path::new(place).exists() {
                return Ok(place.into());
            }
        }
        install("chromium")?;
    }
    Err("Chromium was installed, and its program is not found".into())
}

/// The script that looks for what keeps people from using a page; `None` where npm is not there or does not get it.
pub(crate) fn axe() -> Option<PathBuf> {
    let folder = target().join("axe");
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        std::fs::create_dir_all(&folder).ok()?;
        let npm = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", "axe-core@4"];
        run(Command::new("npm").args(npm).current_dir(&folder)).ok()?;
    }
    script.exists().then_some(script)
}

/// The program that makes up requests from the API's description.
pub(crate) fn schemathesis() -> Result<PathBuf, String> {
    Ok(python("schemathesis", &format!("schemathesis=={SCHEMATHESIS}"))?.with_file_name("schemathesis"))
}

/// A fixed seed makes the same requests only in the same version.
const SCHEMATHESIS: &str = "4.32.5";

/// A Python that speaks with PostgreSQL.
pub(crate) fn psycopg() -> Result<PathBuf, String> {
    python("psycopg", "psycopg[binary]==3.3.9")
}

/// The interpreter of an environment of Python's that holds one package.
fn python(name: &str, package: &str) -> Result<PathBuf, String> {
    let folder = target().join(name);
    let program = folder.join("bin/python");
    let is_there = |program: &Path| {
        let import = format!("import {name}");
        program.exists() && output(Command::new(program).args(["-c", &import])).is_ok()
    };
    if !is_there(&program) {
        eprintln!("+ pip install {package}");
        let made = output(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        if made.is_err() {
            // Debian keeps what makes one in a package of its own.
            install("python3-venv")?;
            output(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        }
        output(Command::new(&program).args(["-m", "pip", "install", "--quiet", package]))?;
    }
    Ok(program)
}

/// Where cargo puts what it builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |at| root().join(at))
}

/// Makes sure that `cargo nextest` works.
pub(crate) fn nextest() -> Result<(), String> {
    if output(Command::new("cargo").args(["nextest", "--version"])).is_ok() {
        return Ok(());
    }
    cargo(&["install", "cargo-nextest", "--locked"], &[])
}

fn install(package: &str) -> Result<(), String> {
    if !is_root() || output(Command::new("apt-get").arg("--version")).is_err() {
        return Err(format!("{package} is missing: install it (on Debian: apt-get install {package}), then try again"));
    }
    eprintln!("+ apt-get install {package}");
    // The tests start clusters of their own; the package's own cluster is not wanted.
    let common = Path::new("/etc/postgresql-common");
    if package == "postgresql" && !common.exists() {
        let write = |()| std::fs::write(common.join("createcluster.conf"), "create_main_cluster = false\n");
        std::fs::create_dir_all(common).and_then(write).map_err(|e| format!("cannot prepare the install: {e}"))?;
    }
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    run(apt().args(["update", "-qq"]))?;
    run(apt().args(["install", "-y", "-qq", "--no-install-recommends", package]))
}
