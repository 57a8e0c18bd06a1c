//! The `towpath` binary, used as its users do: real files, real commands, real signals.

// A test that cannot go on may panic; clippy knows that of test functions, not of their helpers.
#![allow(clippy::unwrap_used)]

mod addresses;
mod bad_input;
mod each;
mod flow_keys;
mod flows;
mod follow;
mod gate;
mod graph_json;
mod held;
mod interrupt;
mod json;
mod operate;
mod output;
mod resume;
mod retry;
mod run_views;
mod serve;
mod served;
mod show;
mod undos;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder of its own with a flow file.
struct Folder {
    dir: TempDir,
    /// The store, if it is not the default one.
    store: Option<String>,
}

impl Folder {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), store: None }
    }

    fn with_flow(text: &str) -> Self {
        let folder = Self::new();
        folder.write("flow.toml", text);
        folder
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// The command, to be run in this folder, with nothing of the caller's settings.
    fn towpath(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.args(args).current_dir(self.path());
        command.env_remove("TOWPATH_STORE").env("XDG_STATE_HOME", self.file("state"));
        // Calls of a flow would go another way.
        for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
            command.env_remove(proxy).env_remove(proxy.to_ascii_uppercase());
        }
        if let Some(store) = &self.store {
            command.env("TOWPATH_STORE", store);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.towpath(args).output().unwrap())
    }

    fn json(&self, args: &[&str]) -> serde_json::Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// The newest graph of the folder's store.
    fn newest_graph(&self) -> String {
        self.json(&["graph", "list"])[0]["id"].as_str().unwrap().to_owned()
    }

    /// The state of each node of a graph.
    fn states(&self, graph: &str) -> Vec<(String, String)> {
        let show = self.json(&["graph", "show", graph]);
        let text = |node: &serde_json::Value, field: &str| node[field].as_str().unwrap().to_owned();
        show["nodes"].as_array().unwrap().iter().map(|n| (text(n, "name"), text(n, "state"))).collect()
    }
}

/// A command that has ended.
#[derive(Debug)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Waits until something holds, and fails if it does not within ten seconds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A text in which times, durations and ids are always the same.
fn steady(text: &str) -> String {
    let lines = text.lines().map(|line| line.split(' ').map(steady_word).collect::<Vec<_>>().join(" "));
    lines.map(|line| line + "\n").collect()
}

fn steady_word(word: &str) -> String {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let is_id = word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    match shape.trim_end_matches(':') {
        "00:00:00" | "0.0s" => shape,
        _ if is_id => "ID".to_owned(),
        _ => word.to_owned(),
    }
}

/// The processes that were started for a graph and still live.
fn left_behind(graph: &str) -> Vec<String> {
    let mark = format!("TOWPATH_GRAPH={graph}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let of_graph = processes.filter(|entry| {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environ.split(|b| *b == 0).any(|variable| variable == mark.as_bytes())
    });
    of_graph.map(|entry| std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default()).collect()
}
