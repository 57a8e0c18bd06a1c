//! The shape of the repository: what a reviewer would otherwise have to see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{output, root};

const LINES_MAX: usize = 700;

pub(crate) fn run() -> Result<(), String> {
    let root = root();
    let mut problems = Vec::new();
    for file in files(&root)? {
        let Ok(text) = std::fs::read_to_string(root.join(&file)) else { continue };
        let name = file.display();
        if text.lines().any(|l| l.ends_with(' ') || l.ends_with('\t')) && !is_snapshot(&file) {
            problems.push(format!("{name}: a line ends with a space"));
        }
        match file.extension().and_then(|e| e.to_str()) {
            Some("rs") => check_rust(&file, &text, &mut problems),
            Some("sql") if !text.starts_with("--") => {
                problems.push(format!("{name}: opens without saying what it is for"))
            }
            _ => {}
        }
    }
    same_listing(&root, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(format!("tidy found:\n  {}", problems.join("\n  "))) }
}

fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let listed =
        output(Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root))?;
    Ok(listed.lines().map(PathBuf::from).filter(|f| root.join(f).is_file()).collect())
}

fn is_snapshot(file: &Path) -> bool {
    matches!(file.extension().and_then(|e| e.to_str()), Some("snap" | "txt" | "stderr"))
}

fn check_rust(file: &Path, text: &str, problems: &mut Vec<String>) {
    let name = file.display();
    let is_example = file.components().any(|c| c.as_os_str() == "ui");
    if !text.starts_with("//!") && !is_example {
        problems.push(format!("{name}: opens without saying what it is for"));
    }
    if text.lines().count() > LINES_MAX {
        problems.push(format!("{name}: over {LINES_MAX} lines; one file, one idea"));
    }
    if file.file_name().is_some_and(|n| n == "mod.rs" || n == "util.rs" || n == "helpers.rs" || n == "common.rs") {
        problems.push(format!("{name}: a file is named by a noun of its own"));
    }
    let marks = [concat!("todo", "!("), concat!("unimple", "mented!("), concat!("#[ign", "ore]")];
    for mark in marks {
        if text.contains(mark) {
            problems.push(format!("{name}: contains {mark}"));
        }
    }
}

/// The same verb stands in the same file name in each store.
fn same_listing(root: &Path, problems: &mut Vec<String>) {
    let verbs = [
        "append", "apply", "claim", "enqueue", "extend", "inspect", "prune", "read", "release", "rescue", "settle",
        "turn",
    ];
    for store in ["towpath-core/src/memory", "towpath-sqlite/src", "towpath-postgres/src"] {
        let dir = root.join("crates").join(store);
        let found: BTreeSet<String> = std::fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .filter_map(|e| e.ok().and_then(|e| e.path().file_stem().map(|s| s.to_string_lossy().into_owned())))
            .collect();
        for verb in verbs.iter().filter(|v| !found.contains(**v)) {
            problems.push(format!("crates/{store}: has no file {verb}.rs"));
        }
    }
}
