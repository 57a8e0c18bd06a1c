//! What a command prints, and what becomes of it.

use crate::Folder;

/// Runs one command and answers the exit code, its node's line in the table, and its job.
fn run(exec: &str, more: &str) -> (i32, String, serde_json::Value) {
    let folder = Folder::with_flow(&format!("[node.n]\nexec = {exec}\n{more}"));
    let ran = folder.run(&["run", "flow.toml"]);
    let table = ran.stdout.split_once("\nnode ").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr)).1;
    let line = table.lines().find(|l| l.starts_with("n ")).unwrap().to_owned();
    let graph = folder.newest_graph();
    let job = folder.json(&["graph", "show", &graph])["nodes"][0]["job"].as_str().unwrap().to_owned();
    (ran.code, line + "\n" + &ran.stdout, folder.json(&["job", &job]))
}

#[test]
fn two_mebibytes_are_refused_with_their_size_and_not_tried_again() {
    let script = r#"["sh", "-c", "printf '\"'; head -c 2097152 /dev/zero | tr '\\0' x; printf '\"\\n'"]"#;
    let (code, text, job) = run(script, "retry = 3");
    assert_eq!(code, 1);
    assert!(text.contains("its output has 2097154 bytes, at most 1048576 are allowed"), "{text}");
    assert_eq!(job["attempt"], 1);
    assert_eq!(job["cause"]["why"], "permanent");
    let log = job["attempts"][0]["log"].as_str().unwrap();
    assert!(log.len() < 64 << 10 && log.contains("bytes left out"), "the log keeps head and tail");
}

#[test]
fn invalid_utf_8_is_no_output_and_says_so() {
    let (code, text, job) = run(r#"["printf", '{"a": "\377"}\n']"#, "");
    assert_eq!(code, 0);
    assert!(text.contains("the last line of stdout is not UTF-8: no output"), "{text}");
    assert_eq!(job["output"], serde_json::Value::Null);
}

#[test]
fn a_nul_in_the_json_is_refused_with_its_place() {
    for script in [r#"["printf", '{"a": "\000"}\n']"#, r#"["printf", '{"a": "\\u0000"}\n']"#] {
        let (code, text, job) = run(script, "retry = 3");
        assert_eq!(code, 1);
        assert!(text.contains("holds a NUL character at byte 7"), "{text}");
        assert_eq!(job["attempt"], 1);
    }
}

#[test]
fn a_failure_tells_its_status_and_the_end_of_stderr() {
    let (code, text, job) = run(r#"["sh", "-c", "echo out; echo one >&2; echo two >&2; exit 7"]"#, "");
    assert_eq!(code, 1);
    assert!(text.contains("exit status 7: two"), "{text}");
    assert_eq!(job["attempts"][0]["error"], "exit status 7: two\nstderr:\none\ntwo");
    assert_eq!(job["attempts"][0]["log"], "--- stdout ---\nout\n--- stderr ---\none\ntwo\n");
    let (_, text, _) = run(r#"["sh", "-c", "kill -9 $$"]"#, "");
    assert!(text.contains("killed by signal 9"), "{text}");
}

#[test]
fn a_flood_is_bounded_and_does_not_block() {
    let (code, _, job) = run(r#"["sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' '\\n'; echo '[1]'"]"#, "");
    assert_eq!(code, 0);
    assert_eq!(job["output"], serde_json::json!([1]));
}
