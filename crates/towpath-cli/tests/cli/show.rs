//! The commands that show what a store holds.

use crate::{Folder, steady};

#[test]
fn what_ran_is_listed_and_shown() {
    let folder = Folder::with_flow(
        "name = \"two\"\n[node.a]\nexec = [\"echo\", \"1\"]\n[node.b]\nafter = [\"a\"]\nexec = [\"false\"]",
    );
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    let graph = folder.newest_graph();
    assert_eq!(folder.states(&graph), [("a".into(), "succeeded".into()), ("b".into(), "dead".into())]);
    let shown = folder.run(&["graph", "show", &graph]);
    assert!(shown.stdout.starts_with("two failed: 1 succeeded, 1 dead\n"), "{}", shown.stdout);
    assert!(steady(&shown.stdout).contains("b     dead       1         0.0s  exit status 1\n"), "{}", shown.stdout);

    let by_end = [(&["--end", "failed"][..], 1), (&["--end", "succeeded"], 0), (&["--open"], 0)];
    let by_name = [(&["--name", "two"][..], 1), (&["--name", "two", "--end", "succeeded"], 0), (&["--name", "t"], 0)];
    for (filter, count) in by_end.into_iter().chain(by_name) {
        let listed = folder.json(&[&["graph", "list"], filter].concat());
        assert_eq!(listed.as_array().unwrap().len(), count, "{filter:?}");
    }
    assert_eq!(folder.json(&["jobs"]).as_array().unwrap().len(), 2);
    let dead = folder.json(&["jobs", "--state", "dead"]);
    assert_eq!((&dead[0]["node"], dead.as_array().unwrap().len()), (&"b".into(), 1));
    let job = dead[0]["id"].as_str().unwrap();
    let shown = folder.run(&["job", job]);
    assert!(shown.stdout.contains("state     dead\ncause     its attempts are exhausted\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("\nattempt 1: failed after "), "{}", shown.stdout);

    assert_eq!(folder.run(&["queues"]).stdout, "no live work\n");
    assert_eq!(folder.run(&["workers"]).stdout, "no workers\n");
    assert_eq!(folder.run(&["cancel", &graph]).stdout, format!("graph {graph}: had ended already\n"));
    assert_eq!(folder.run(&["migrate"]).stdout, "sqlite:.towpath/store.db has schema version 2\n");
}

#[test]
fn a_store_is_found_from_below_or_by_the_environment() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    std::fs::create_dir_all(folder.file("deep/er")).unwrap();
    let below = folder.towpath(&["graph", "list"]).current_dir(folder.file("deep/er")).output().unwrap();
    assert!(String::from_utf8(below.stdout).unwrap().contains("succeeded"));
    let url = format!("sqlite:{}", folder.file(".towpath/store.db").display());
    let by_env = folder.towpath(&["graph", "list"]).current_dir("/").env("TOWPATH_STORE", url).output().unwrap();
    assert!(String::from_utf8(by_env.stdout).unwrap().contains("succeeded"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    let script = format!("{} run flow.toml | head -n 0", env!("CARGO_BIN_EXE_towpath"));
    let ran = std::process::Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!((ran.status.code(), String::from_utf8(ran.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn what_is_refused_keeps_its_exit_code_though_nobody_reads_why() {
    let folder = Folder::with_flow("[node.a]\nafter = [\"a\"]\nexec = [\"true\"]");
    for args in [&["check", "flow.toml"][..], &["graph", "show", "nothing"], &["jobs", "--store", "sqlite:none.db"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = folder.towpath(args).stderr(writer).status().unwrap();
        assert_eq!(ran.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_graph_is_drawn_and_written_for_programs_that_draw() {
    let folder = Folder::with_flow(
        "[node.load]\nexec = [\"true\"]\n[node.check]\nexec = [\"false\"]\nafter = [\"load\"]\n\
         [node.report]\nexec = [\"true\"]\nafter = [\"load\"]\n\
         [node.tell]\nexec = [\"true\"]\nafter = [\"report\", { node = \"check\", on = \"finished\" }]\n",
    );
    folder.run(&["run", "flow.toml"]);
    let graph = folder.newest_graph();
    let show = |format: &str| folder.run(&["graph", "show", &graph, "--format", format]).stdout;
    let drawing = "● load  succeeded\n├─┐\n✗ │ check  dead\n│ ● report  succeeded\n├─┘\n● tell  succeeded  after check finished\n";
    assert!(show("text").contains(drawing), "{}", show("text"));
    assert!(show("mermaid").contains("    n1[\"check\"]:::dead\n"), "{}", show("mermaid"));
    assert!(show("mermaid").contains("    n1 -->|\"finished\"| n3\n"), "{}", show("mermaid"));
    assert!(show("dot").contains("    n1 -> n3 [label=\"finished\"];\n"), "{}", show("dot"));
    let json: serde_json::Value = serde_json::from_str(&show("json")).unwrap();
    let edges = json["edges"].as_array().unwrap();
    let finished = serde_json::json!({"parent": "check", "child": "tell", "condition": "finished", "branch": null});
    assert!(edges.contains(&finished), "{edges:?}");
}

#[test]
fn a_cancelled_graph_says_by_whom_and_why() {
    let folder = Folder::with_flow("name = \"long\"\n[node.a]\nexec = [\"sleep\", \"100\"]");
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    crate::wait_until("it runs", || {
        folder.file(".towpath/store.db").exists()
            && folder.run(&["jobs", "--state", "running"]).stdout.contains("flow.")
    });
    let graph = folder.newest_graph();
    let asked = ["cancel", &graph, "--actor", "ann", "--reason", "wrong list"];
    assert_eq!(folder.run(&asked).code, 0);
    assert_eq!(run.wait().unwrap().code(), Some(3));
    let shown = folder.run(&["graph", "show", &graph]).stdout;
    assert!(shown.lines().any(|l| l.starts_with("cancelled by ann at ") && l.ends_with("Z: wrong list")), "{shown}");
    let stopped = &folder.json(&["graph", "show", &graph])["stopped"];
    assert_eq!((&stopped["reason"], &stopped["actor"]), (&"cancel".into(), &"ann".into()));
    assert_eq!(stopped["why"], "wrong list");
}

#[test]
fn what_failed_is_pointed_to_or_counted_and_no_empty_folder_is_left() {
    let nodes: String = (1..=5).map(|n| format!("[node.n{n}]\nexec = [\"false\"]\n")).collect();
    let folder = Folder::with_flow(&nodes);
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("more about n")).count(), 3, "{}", ran.stdout);
    let graph = folder.newest_graph();
    assert!(ran.stdout.contains(&format!("and 2 more that failed: towpath graph show {graph}\n")), "{}", ran.stdout);
    let mut left: Vec<_> =
        std::fs::read_dir(folder.file(".towpath")).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".gitignore", "store.db"]);
}

#[test]
fn long_names_are_cut_in_tables_and_full_in_json() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let queue = format!("flow.{}", folder.newest_graph());
    assert_eq!(folder.json(&["jobs"])[0]["queue"], queue.as_str());
    let shown = folder.run(&["jobs"]).stdout;
    assert!(!shown.contains(&queue) && shown.contains(&format!("  {}…", &queue[..11])), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 150), "{shown}");
}
