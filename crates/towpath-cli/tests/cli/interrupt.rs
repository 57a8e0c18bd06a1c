//! Ctrl-C, a polite kill, and a cancel from elsewhere.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{Folder, Ran, left_behind, wait_until};

fn start(folder: &Folder, args: &[&str]) -> Child {
    folder.towpath(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

fn end(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

const SLOW: &str = r#"
    name = "slow"
    [node.first]
    exec = ["sh", "-c", "echo first >> log"]
    [node.second]
    after = ["first"]
    exec = ["sh", "-c", "echo second >> log; [ -e fast ] || { touch running; sleep 100; }"]
"#;

#[test]
fn an_interrupt_hands_back_and_says_how_to_resume() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let folder = Folder::with_flow(SLOW);
        let run = start(&folder, &["run", "flow.toml"]);
        wait_until("the second node runs", || folder.file("running").exists());
        signal(&run, name);
        let ran = end(run);
        assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
        let graph = folder.newest_graph();
        assert!(ran.stdout.ends_with(&format!("\nresume with: towpath resume {graph}\n")), "{}", ran.stdout);
        assert_eq!(left_behind(&graph), [] as [String; 0]);
        let shown = folder.json(&["graph", "show", &graph]);
        assert_eq!(
            (&shown["nodes"][1]["state"], &shown["nodes"][1]["attempt"]),
            (&"ready".into(), &0.into()),
            "at no cost"
        );

        folder.write("fast", "");
        let resumed = folder.run(&["resume"]);
        assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
        assert_eq!(folder.read("log"), "first\nsecond\nsecond\n");
    }
}

#[test]
fn a_store_elsewhere_is_named_in_the_line_that_resumes() {
    let folder = Folder::with_flow(SLOW);
    let run = start(&folder, &["run", "flow.toml", "--store", "sqlite:other.db"]);
    wait_until("the second node runs", || folder.file("running").exists());
    signal(&run, "-INT");
    let ran = end(run);
    let line = ran.stdout.lines().last().unwrap().to_owned();
    let args: Vec<&str> = line.strip_prefix("resume with: towpath ").unwrap().split(' ').collect();
    folder.write("fast", "");
    assert_eq!(folder.run(&args).code, 0, "{line}");
}

#[test]
fn a_second_interrupt_kills_what_does_not_stop() {
    let folder = Folder::with_flow(
        r#"
        [node.stubborn]
        exec = ["sh", "-c", "trap '' TERM; touch running; sleep 100; sleep 100"]
        "#,
    );
    let run = start(&folder, &["run", "flow.toml"]);
    wait_until("the command runs", || folder.file("running").exists());
    signal(&run, "-INT");
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    signal(&run, "-INT");
    let ran = end(run);
    assert_eq!(ran.code, 130);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(left_behind(&folder.newest_graph()), [] as [String; 0]);
}

#[test]
fn a_cancel_from_elsewhere_stops_the_command_and_ends_with_three() {
    let folder = Folder::with_flow(SLOW);
    let run = start(&folder, &["run", "flow.toml"]);
    wait_until("the second node runs", || folder.file("running").exists());
    let graph = folder.newest_graph();
    let cancel = folder.run(&["cancel", &graph, "--actor", "ann", "--reason", "enough"]);
    assert_eq!(cancel.code, 0, "{}", cancel.stderr);
    let ran = end(run);
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("slow cancelled in "), "{}", ran.stdout);
    assert_eq!(left_behind(&graph), [] as [String; 0]);
    assert_eq!(folder.run(&["resume"]).code, 3, "a graph that has ended is shown again, not run");
}
