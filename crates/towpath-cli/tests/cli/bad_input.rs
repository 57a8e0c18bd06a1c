//! Files that are wrong: every problem at once, each with its place and remedy, and nothing started.

use crate::Folder;

/// What `towpath run` says of a flow file.
fn refused(text: &str) -> String {
    let folder = Folder::with_flow(text);
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(!folder.file(".towpath").exists(), "nothing was written");
    ran.stderr
}

macro_rules! refused {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), refused($text));
            }
        )*
    };
}

refused! {
    unclosed_array: "name = \"x\"\n[node.a]\nexec = [\"echo\", \"1\"\n[node.b]\nafter = [\"a\"]\nexec = [\"true\"]\n";
    unclosed_text: "[node.a]\nexec = [\n  \"sh\",\n  \"-c,\n  \"echo\",\n]\n[node.b]\nexec = [\"sh, \"-c\"]\n";
    no_condition: "[node.a]\nif = \"1 + 1\"\nexec = [\"true\"]\n";
    not_above: "[node.a]\nexec = [\"true\"]\n[node.b]\nif = \"outputs.a > 1\"\nexec = [\"true\"]\n";
    not_toml: "name = \"x\"\n[node.a\nexec = [\"true\"]\n";
    empty: "name = \"nothing\"\n";
    cycle: r#"
name = "circle"

[node.a]
exec = ["true"]
after = ["c"]

[node.b]
exec = ["true"]
after = ["start", { node = "a", on = "finished" }]

[node.c]
exec = ["true"]
after = ["b"]

[node.start]
exec = ["true"]
"#;
    two_cycles_and_a_self_edge: r#"
[node.a]
exec = ["true"]
after = ["b"]
[node.b]
exec = ["true"]
after = ["a"]
[node.c]
exec = ["true"]
after = ["d", "c"]
[node.d]
exec = ["true"]
after = ["c"]
"#;
    unknown_after: r#"
[node.build]
exec = ["true"]

[node.test]
exec = ["true"]
after = ["biuld", "lint"]
"#;
    duplicate_name: r#"
[node.build]
exec = ["true"]

[node.build]
exec = ["false"]
"#;
    never_both: r#"
[node.a]
exec = ["true"]
[node.b]
exec = ["true"]
after = ["a", { node = "a", on = "failed" }]
[node.c]
exec = ["true"]
after = ["a", { node = "a", on = "failed" }]
at_least = 1
[node.d]
exec = ["true"]
after = [{ node = "a", on = "finished" }, { node = "a", on = "failed" }]
"#;
    values_of_a_few: r#"
[node.a]
http = { method = "FETCH", url = "https://example.com", bodyy = "x", timout = 3, expect = 99 }
[node.b]
exec = ["true", 3, { secret = { env = "X" } }, { form = "1" }]
[node.c]
each = { over = "[1]", on_failure = "x" }
exec = ["true"]
[node.d]
each = { over = "[1]", on_failure = "colect" }
exec = ["true"]
"#;
    duplicate_edge: r#"
[node.a]
exec = ["true"]
[node.b]
exec = ["true"]
after = ["a", { node = "a" }]
"#;
    bad_durations: r#"
[node.a]
exec = ["true"]
timeout = "soon"
retry = { attempts = 3, backoff = "1 s", cap = "0s" }
[node.b]
exec = ["true"]
timeout = 30
retry = { attempts = 2, backoff = "1m", cap = "1s" }
[node.c]
exec = ["true"]
timeout = "10 minutes"
retry = { attempts = 2, backoff = "1.5h" }
"#;
    unknown_fields: r#"
nmae = "x"
[node.a]
exec = ["true"]
aftr = []
colour = "red"
retry = { attempts = 2, jitter = 1 }
[node.b]
exec = ["true"]
after = [{ node = "a", when = "finished" }, { node = "a", on = "finnished" }]
"#;
    missing_program: r#"
[node.a]
exec = ["towpath-no-such-program", "--flag"]
[node.b]
exec = ["echo hello"]
"#;
    missing_exec: r#"
[node.a]
[node.b]
exec = []
[node.c]
exec = [""]
[node.d]
exec = "echo hello"
[node.e]
shell = true
exec = ["echo", "hello"]
[node.f]
shell = true
exec = " "
"#;
    wrong_types: r#"
name = 7
[node.a]
exec = ["echo", 1]
shell = "yes"
env = { A = 1, TOWPATH_JOB = "x", "B=" = "c" }
dir = 3
after = "b"
retry = "often"
[node.b]
exec = ["true"]
retry = 0
after = [1]
"#;
    names_that_cannot_be: "[node.end]\nexec = [\"true\"]\n[node.\"a\\tb\"]\nexec = [\"true\"]\n[node.c]\nexec = [\"echo\", \"a\\u0000b\"]\n";
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let said = refused("[node.a]\nexec = [\"true\"]\ndir = \"nowhere\"\n[node.b]\nexec = [\"./nothing\"]\n");
    assert!(said.contains("the folder of node `a` is not there"), "{said}");
    assert!(said.contains("/nowhere"), "{said}");
    assert!(said.contains("node `b` starts \"./nothing\", which cannot be run"), "{said}");
    assert!(said.ends_with("error: flow.toml has 2 problems; nothing was started\n"), "{said}");
}

#[test]
fn an_input_over_the_limit_is_refused_with_both_numbers() {
    let said = refused(&format!("[node.a]\nexec = [\"echo\", \"{}\"]\n", "x".repeat(1 << 20)));
    assert!(said.contains("node `a` is too large"), "{said}");
    assert!(said.contains("bytes, at most 1048576 are allowed"), "{said}");
}

#[test]
fn more_nodes_than_allowed_are_refused_with_both_numbers() {
    let nodes: String = (0..20_001).map(|n| format!("[node.n{n}]\nexec = [\"true\"]\n")).collect();
    assert!(refused(&nodes).contains("the flow has 20001 nodes, at most 20000 are allowed"));
    let two = "[node.a]\nexec = [\"true\"]\n[node.b]\nafter = [\"a\"]\nif = \"outputs.a == null\"\nexec = [\"true\"]\n";
    let folder = Folder::with_flow(two);
    let ran = folder.run(&["check", "flow.toml", "--graph-limits", "nodes=1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the flow has 2 nodes, at most 1 are allowed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--graph-limits nodes=2"), "{}", ran.stderr);
    // The gate of an `if` is a node as well, and only the graph of the flow has it.
    let ran = folder.run(&["run", "flow.toml", "--graph-limits", "nodes=2"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("it has 3 nodes, at most 2 are allowed"), "{}", ran.stderr);
    assert_eq!(folder.json(&["graph", "list"]), serde_json::json!([]));
    assert_eq!(folder.run(&["run", "flow.toml", "--graph-limits", "nodes=3"]).code, 0);
    let ran = folder.run(&["run", "flow.toml", "--graph-limits", "knots=3"]);
    assert!(ran.stderr.contains("there is no limit \"knots\": it is one of nodes, edges"), "{}", ran.stderr);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let ran = folder.run(&["run", "absent.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cannot read the flow file absent.toml: No such file or directory"), "{}", ran.stderr);
    std::fs::write(folder.file("latin.toml"), b"name = \"caf\xe9\"").unwrap();
    let ran = folder.run(&["run", "latin.toml"]);
    assert!(ran.stderr.contains("it is not UTF-8: the first invalid byte is at 11"), "{}", ran.stderr);
}

#[test]
fn a_store_that_is_none_is_refused_with_a_remedy() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    folder.write("notes.db", &"this is not a database\n".repeat(1_000));
    for (store, code, said) in [
        ("sqlite:notes.db", 1, "this is no store of towpath, or it is damaged"),
        ("mysql://db/app", 2, "use sqlite:PATH or postgres://USER@HOST/DATABASE"),
        ("sqlite:/proc/towpath/x.db", 1, "the folder /proc/towpath cannot be made"),
    ] {
        let ran = folder.run(&["run", "flow.toml", "--store", store]);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        // The text is broken into lines of the terminal's width.
        let words = ran.stderr.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        assert!(words.contains(said), "{}", ran.stderr);
    }
    assert_eq!(folder.run(&["jobs", "--store", "sqlite:absent.db"]).code, 2);
    assert!(!folder.file("absent.db").exists(), "to look is not to make");
}

#[test]
fn a_schema_whose_floor_is_above_this_binary_is_refused() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let sql = "update meta set version = 99, floor = 99";
    let raised = std::process::Command::new("sqlite3").arg(folder.file(".towpath/store.db")).arg(sql).status();
    if !raised.is_ok_and(|status| status.success()) {
        println!("LEFT OUT: the sqlite3 program is not there");
        return;
    }
    for args in [&["run", "flow.toml"][..], &["resume"], &["migrate"]] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("a newer towpath has migrated this store"), "{}", ran.stderr);
    }
}

#[test]
fn a_full_disk_is_an_error_with_a_remedy() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    let Some(disk) = SmallDisk::mount(&folder, "size=200k") else { return };
    let ran = folder.run(&["run", "flow.toml", "--store", &format!("sqlite:{}/s.db", disk.path)]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("make room on the disk, then do the same again"), "{}", ran.stderr);
}

#[test]
fn a_read_only_disk_is_an_error_with_a_remedy() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    let Some(disk) = SmallDisk::mount(&folder, "size=8m,ro") else { return };
    for store in ["s.db", "deeper/s.db"] {
        let ran = folder.run(&["run", "flow.toml", "--store", &format!("sqlite:{}/{store}", disk.path)]);
        assert_eq!(ran.code, 1);
        let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("or choose another place with `--store`"), "{}", ran.stderr);
        // Wherever the line is broken.
        let letters: String = ran.stderr.to_lowercase().chars().filter(|c| c.is_ascii_alphabetic()).collect();
        assert!(letters.contains("readonly"), "{}", ran.stderr);
    }
}

/// A file system in memory, gone when dropped.
struct SmallDisk {
    path: String,
}

impl SmallDisk {
    /// None, and told, where this process may not mount.
    fn mount(folder: &Folder, options: &str) -> Option<Self> {
        let path = folder.file("disk").display().to_string();
        std::fs::create_dir(&path).unwrap();
        let mounted = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs", &path]).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            println!("LEFT OUT: this process may not mount a file system");
            return None;
        }
        Some(Self { path })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["-l", &self.path]).status();
    }
}

#[test]
fn usage_errors_end_with_two() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["run"]).code, 2);
    assert_eq!(folder.run(&["walk"]).code, 2);
    assert_eq!(folder.run(&["job", "seven"]).code, 2);
}

#[test]
fn problems_of_a_flow_are_told_to_programs_too_each_once() {
    let folder = Folder::with_flow(
        "[params]\ncount = 1\n[node.a]\nexec = [\"echo\", { from = \"string(params.count)\" }]\n[node.b]\nafter = [\"x\"]\nexec = [\"true\"]\n",
    );
    let ran = folder.run(&["check", "flow.toml", "--json", "--set", "count=many"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""));
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = told["problems"].as_array().unwrap();
    let said: Vec<_> = problems.iter().map(|p| (p["problem"].as_str().unwrap(), p["line"].as_u64())).collect();
    assert_eq!(
        said,
        [("`--set count=many` is not a number", Some(2)), ("node `b` waits for `x`, which is not there", Some(6))],
        "{told}"
    );
    assert_eq!(problems[1]["column"], 10);
    let right = folder.run(&["check", "flow.toml", "--json"]);
    assert_eq!(right.code, 2, "x is still unknown");
}
