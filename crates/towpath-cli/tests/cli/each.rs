//! Nodes of a flow that go through a list: order, failures, kill and resume, and what is wrong with them.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::{Folder, wait_until};

fn output(folder: &Folder, node: &str) -> serde_json::Value {
    let show = folder.json(&["graph", "show", &folder.newest_graph()]);
    let node = show["nodes"].as_array().unwrap().iter().find(|n| n["name"] == node).unwrap();
    folder.json(&["job", node["job"].as_str().unwrap()])["output"].clone()
}

#[test]
fn a_command_runs_for_each_element_and_sees_it() {
    let folder = Folder::with_flow(
        r#"
[params]
unit = { default = "cm" }

[node.list]
exec = ["echo", '{"files": [{"name": "b", "size": 2}, {"name": "a", "size": 1}, {"name": "c", "size": 3}]}']

[node.each]
after = ["list"]
each = { over = "outputs.list.files", concurrency = 2 }
exec = ["sh", "-c", 'read line; echo "$line" >> "seen.$1"; printf "\"%s is %s\"" "$1" "$SIZE"', "sh", { from = "each.name" }]
env = { SIZE = { from = "string(each.size) + params.unit" } }

[node.last]
after = ["each"]
exec = ["echo", { from = "outputs.each" }]
"#,
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(output(&folder, "each"), serde_json::json!(["b is 2cm", "a is 1cm", "c is 3cm"]));
    assert_eq!(output(&folder, "last"), output(&folder, "each"));
    assert_eq!(folder.read("seen.a"), "{\"name\": \"a\", \"size\": 1}\n", "the element comes as it was written");
    assert!(ran.stdout.contains("each: 3 of 3 done"), "{}", ran.stdout);
    let show = folder.run(&["graph", "show", &folder.newest_graph()]).stdout;
    assert!(show.contains("each: 3 of 3 done"), "{show}");
}

#[test]
fn a_list_comes_from_a_parameter_or_from_a_node_of_an_included_flow() {
    let folder = Folder::with_flow(
        r#"
[params]
files = ["a", "b"]

[include.part]
file = "part.toml"

[node.given]
after = ["part"]
each = "params.files"
exec = ["echo", { from = "'\"' + each + '!\"'" }]
"#,
    );
    folder.write(
        "part.toml",
        r#"
[node.list]
exec = ["echo", "[1, 2, 3]"]

[node.path]
after = ["list"]
each = "outputs.list"
exec = ["echo", { from = "each" }]

[node.computed]
after = ["list"]
each = { over = "outputs.list.filter(n, n > 1)", concurrency = 1 }
exec = ["echo", { from = "each * 10" }]
"#,
    );
    let ran = folder.run(&["run", "flow.toml", "--set", "files=[\"c\"]"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for (node, left) in [
        ("given", serde_json::json!(["c!"])),
        ("part.path", serde_json::json!([1, 2, 3])),
        ("part.computed", serde_json::json!([20, 30])),
    ] {
        assert_eq!(output(&folder, node), left, "{node}");
    }
}

#[test]
fn an_element_that_fails_fails_its_node_unless_failures_are_collected() {
    let flow = |more: &str| {
        format!(
            "[node.each]\neach = {{ over = \"[1, 2, 3]\", concurrency = 1{more} }}\n\
             exec = [\"sh\", \"-c\", \"echo $1 >> log; [ $1 -ne 2 ] && echo $1\", \"sh\", {{ from = \"each\" }}]\n"
        )
    };
    let folder = Folder::with_flow(&flow(""));
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("element 1 failed (job ") && ran.stdout.contains("exit status 1"), "{}", ran.stdout);
    assert_eq!(folder.read("log"), "1\n2\n", "the others are not begun");
    let folder = Folder::with_flow(&flow(", on_failure = \"collect\""));
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(output(&folder, "each"), serde_json::json!([{ "ok": 1 }, { "error": "exit status 1" }, { "ok": 3 }]));
    assert!(ran.stdout.contains("each: 3 of 3 done, 1 failed"), "{}", ran.stdout);
}

#[test]
fn a_flow_that_is_killed_goes_on_with_the_elements_that_are_left() {
    let folder = Folder::with_flow(
        r#"
[node.each]
each = { over = "[0, 1, 2, 3, 4, 5, 6, 7]", concurrency = 2 }
exec = ["sh", "-c", 'echo $1 >> log; n=0; while [ $1 -ge 4 ] && [ ! -e go ] && [ $n -lt 2000 ]; do n=$((n+1)); sleep 0.02; done; echo $1', "sh", { from = "each" }]
"#,
    );
    let mut command = folder.towpath(&["run", "flow.toml"]);
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("two that wait are at work", || folder.read("log").lines().count() == 6);
    wait_until("those before have been told", || {
        let show = folder.json(&["graph", "show", &folder.newest_graph()]);
        show["nodes"][0]["holds"]["elements"]["done"] == 4
    });
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    folder.write("go", "");
    let ran = folder.run(&["resume"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(output(&folder, "each"), serde_json::json!([0, 1, 2, 3, 4, 5, 6, 7]));
    let log = folder.read("log");
    let times = |element: usize| log.lines().filter(|line| *line == element.to_string()).count();
    assert_eq!((0..8).map(times).collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2, 1, 1], "only what was killed runs again");
}

#[test]
fn what_is_wrong_with_a_list_is_said_before_the_start() {
    let folder = Folder::with_flow(
        r#"
[node.list]
exec = ["true"]

[node.a]
after = ["list"]
each = { over = "outputs.list", concurency = 4 }
exec = ["true"]

[node.b]
after = ["list"]
each = { concurrency = 0, on_failure = "skip" }
exec = ["true"]

[node.c]
after = ["list"]
each = "outputs.list"
exec = ["echo", { from = "outputs.list" }]

[node.d]
if = "each > 1"
exec = ["echo", { from = "each" }]

[node.e]
each = "outputs.list"
timer = "1s"
"#,
    );
    let ran = folder.run(&["check", "flow.toml"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    for said in [
        "unknown field `concurency`",
        "did you mean `concurrency`?",
        "0 elements at once are out of range: use 1 to 1000",
        "`on_failure` cannot be ",
        "`each` has no `over`",
        "`outputs.list` reads the node `list`, and is of an element",
        "`each > 1` reads `each`, and there is no element here",
        "`each` reads `each`, and there is no element here",
        "`each` is for a node with `exec`, `http` or `flow`",
        "`outputs.list` reads the node `list`, which is not above `e`",
    ] {
        assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
}

#[test]
fn an_element_that_is_null_is_an_element() {
    let folder = Folder::with_flow(
        r#"
[node.list]
exec = ["echo", '[null, 1]']

[node.each]
after = ["list"]
each = "outputs.list"
exec = ["cat"]

[node.said]
after = ["list"]
each = "outputs.list"
exec = ["echo", { from = "each == null ? '\"none\"' : '\"some\"'" }]
"#,
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(output(&folder, "each"), serde_json::json!([null, 1]));
    assert_eq!(output(&folder, "said"), serde_json::json!(["none", "some"]));
}
