//! `kill -9` at any point, and what carries on.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use crate::{Folder, left_behind, wait_until};

/// Each node notes in an outside log that it begins and ends, and whether an earlier attempt of it still lives.
const NOTES: &str = r#"
node=$TOWPATH_NODE
# A corpse that nobody has buried yet is no living process.
[ -e "pid.$node" ] && grep -qs '^State:.[^ZX]' "/proc/$(cat "pid.$node")/status" && echo "overlap $node" >> log
echo $$ > "pid.$node"
echo "begin $node" >> log
sleep 0.0$1 & sleep 0.$1
echo "end $node" >> log
"#;

/// 1 -> 6 -> 1 -> 6 -> 1.
fn flow() -> String {
    let mut text = String::from("name = \"kills\"\n");
    let mut node = |name: &str, tenths: usize, after: &[String]| {
        text += &format!("[node.{name}]\nexec = [\"sh\", \"notes.sh\", \"{tenths}\"]\nafter = {after:?}\n");
    };
    let fan = |letter: char| (0..6).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    node("first", 1, &[]);
    for (at, name) in fan('a').iter().enumerate() {
        node(name, 1 + at % 3, &["first".into()]);
    }
    node("middle", 2, &fan('a'));
    for (at, name) in fan('b').iter().enumerate() {
        node(name, 1 + at % 3, &["middle".into()]);
    }
    node("last", 1, &fan('b'));
    text
}

/// How often each word and node stands in the log.
fn counts(log: &str, word: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        if let Some(node) = line.strip_prefix(word).and_then(|rest| rest.strip_prefix(' ')) {
            *counts.entry(node.to_owned()).or_insert(0) += 1;
        }
    }
    counts
}

struct Random(u64);

impl Random {
    /// xorshift64 (Marsaglia, 2003).
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn seed() -> u64 {
    let given = std::env::var("TOWPATH_SEED").ok().and_then(|seed| seed.parse().ok());
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    given.unwrap_or(u64::from(clock) | 1)
}

#[test]
fn killed_at_random_points_it_carries_on_and_leaves_nothing_behind() {
    let folder = Folder::with_flow(&flow());
    kill_and_resume(&folder, 300);
    // The folder itself goes with the last record, unless there was nothing left to carry on with.
    let records = std::fs::read_dir(folder.file(".towpath/store.db.groups")).map_or(0, Iterator::count);
    assert_eq!(records, 0, "a record was left");
}

#[test]
fn killed_at_random_points_it_carries_on_on_postgres() {
    let Some(url) = std::env::var("TOWPATH_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
        println!("LEFT OUT: PostgreSQL, because TOWPATH_TEST_POSTGRES names no cluster");
        return;
    };
    let name = format!("towpath_cli_{}", std::process::id());
    let create = std::process::Command::new("psql").args(["-qc", &format!("create database {name}"), &url]).status();
    assert!(create.unwrap().success());
    let mut folder = Folder::with_flow(&flow());
    let (server, _) = url.rsplit_once('/').unwrap();
    folder.store = Some(format!("{server}/{name}"));
    // It takes a moment until a connection is there.
    kill_and_resume(&folder, 600);
}

fn kill_and_resume(folder: &Folder, millis_max: u64) {
    let seed = seed();
    println!("TOWPATH_SEED={seed}");
    let mut random = Random(seed);
    folder.write("notes.sh", NOTES);
    let mut args = vec!["run", "flow.toml"];
    let mut had_succeeded: BTreeMap<String, u32> = BTreeMap::new();
    let mut survivors = 0;
    let mut kills = 0;
    for _ in 0..KILLS {
        let mut command = folder.towpath(&args);
        let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + random.below(millis_max - 20)));
        let group = rustix_pid(child.id());
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        let status = child.wait().unwrap();
        if status.success() {
            break;
        }
        kills += 1;
        let Some(graph) = graph_of(folder) else { continue };
        args = vec!["resume"];
        survivors += left_behind(&graph).len();
        let begun = counts(&folder.read("log"), "begin");
        for (node, state) in folder.states(&graph) {
            if state == "succeeded" {
                had_succeeded.entry(node.clone()).or_insert(begun[&node]);
            }
        }
    }
    let ran = folder.run(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let graph = graph_of(folder).unwrap();
    let log = folder.read("log");
    println!(
        "{kills} kills, {survivors} processes outlived towpath, {} executions",
        counts(&log, "begin").values().sum::<u32>()
    );
    let begun = counts(&log, "begin");
    for (node, count) in &had_succeeded {
        assert_eq!(begun[node], *count, "{node} had succeeded and ran again:\n{log}");
    }
    assert_eq!(begun.len(), 15, "every node ran");
    assert_eq!(counts(&log, "end").len(), 15, "every node ended");
    assert!(begun.values().all(|count| *count <= 1 + kills), "no node ran more often than it was killed:\n{log}");
    assert!(begun.values().any(|count| *count > 1), "no kill has hit: {kills} kills\n{log}");
    assert!(survivors > 0, "no command has outlived towpath, so nothing was proved");
    assert!(!log.contains("overlap"), "two attempts of a node at once:\n{log}");
    assert_eq!(left_behind(&graph), [] as [String; 0]);
}

const KILLS: u32 = 12;

fn rustix_pid(id: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// The graph, once there is one.
fn graph_of(folder: &Folder) -> Option<String> {
    let ran = folder.run(&["graph", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&ran.stdout).ok()?;
    Some(list[0]["id"].as_str()?.to_owned())
}

/// Starts the flow and kills it while its second node runs.
fn killed_in_second(folder: &Folder) {
    let _ = std::fs::remove_file(folder.file("running"));
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the second node runs", || folder.file("running").exists());
    run.kill().unwrap();
    run.wait().unwrap();
}

const TWO: &str = r#"
name = "two"
[node.first]
exec = ["sh", "-c", "echo first >> log"]
[node.second]
after = ["first"]
exec = ["sh", "-c", "echo second >> log; [ -e fast ] || { touch running; sleep 100; }"]
"#;

#[test]
fn the_stored_flow_goes_on_though_the_file_has_changed() {
    let folder = Folder::with_flow(TWO);
    killed_in_second(&folder);
    folder.write("flow.toml", "[node.other]\nexec = [\"touch\", \"other\"]");
    folder.write("fast", "");
    let ran = folder.run(&["resume"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let file = folder.file("flow.toml");
    assert_eq!(ran.stderr, format!("note: {} has changed since; the flow goes on as it was stored\n", file.display()));
    assert!(ran.stdout.contains("stopped what an earlier process left running: 1 command\n"), "{}", ran.stdout);
    assert_eq!(folder.read("log"), "first\nsecond\nsecond\n");
    assert!(!folder.file("other").exists());
}

#[test]
fn of_several_unfinished_graphs_one_must_be_named() {
    let folder = Folder::with_flow(TWO);
    killed_in_second(&folder);
    killed_in_second(&folder);
    folder.write("fast", "");
    let refused = folder.run(&["resume"]);
    assert_eq!(refused.code, 2);
    insta::assert_snapshot!("several", crate::steady(&mask_instants(&refused.stderr)));
    let graph = folder.newest_graph();
    assert_eq!(folder.run(&["resume", &graph]).code, 0);
    assert_eq!(folder.states(&graph)[1].1, "succeeded");
    assert_eq!(folder.run(&["resume"]).code, 0, "the other one is now the only one");
}

#[test]
fn a_second_run_tells_of_the_unfinished_first() {
    let folder = Folder::with_flow(TWO);
    killed_in_second(&folder);
    let graph = folder.newest_graph();
    folder.write("fast", "");
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains(&format!("carry on with `towpath resume {graph}`")), "{}", ran.stderr);
    assert_eq!(folder.read("log"), "first\nsecond\nfirst\nsecond\n", "a run leaves another's graph alone");
    assert_ne!(folder.states(&graph)[1].1, "succeeded");
}

#[test]
fn without_a_graph_there_is_nothing_to_resume() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    let nowhere = folder.run(&["resume"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.stderr.contains("there is no .towpath/store.db in "), "{}", nowhere.stderr);
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let ended = folder.run(&["resume"]);
    assert_eq!(ended.code, 0);
    assert!(ended.stdout.starts_with("nothing to resume: every graph has ended"), "{}", ended.stdout);
}

fn mask_instants(text: &str) -> String {
    let mask = |line: &str| match line.split_once("since ") {
        Some((before, _)) => format!("{before}since INSTANT\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(mask).collect()
}

#[test]
fn a_cancel_after_a_kill_stops_the_command_and_ends_the_graph() {
    let folder = Folder::with_flow(TWO);
    let pids = folder.file("pids");
    folder.write(
        "flow.toml",
        "name = \"two\"\n[node.second]\nexec = [\"sh\", \"-c\", \"echo $$ > pids; touch running; sleep 100\"]\n\
         [node.third]\nafter = [\"second\"]\nexec = [\"true\"]",
    );
    killed_in_second(&folder);
    let pid = std::fs::read_to_string(pids).unwrap().trim().to_owned();
    let graph = folder.newest_graph();
    let ran = folder.run(&["cancel", &graph, "--actor", "ann", "--reason", "enough"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, format!("graph {graph}: cancelled\n"), "nothing is left to ask");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "its command still runs: {stat}");
    let audit = folder.run(&["audit"]);
    assert!(audit.stdout.contains("ann") && audit.stdout.contains("enough"), "{}", audit.stdout);
}
