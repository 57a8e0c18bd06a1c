//! Nodes that run another flow: parameters, lists, failures, kill and resume, waits, restart, and what is wrong with them.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::{Folder, wait_until};

fn job(folder: &Folder, graph: &str, node: &str) -> serde_json::Value {
    let show = folder.json(&["graph", "show", graph]);
    let node = show["nodes"].as_array().unwrap().iter().find(|n| n["name"] == node).unwrap();
    folder.json(&["job", node["job"].as_str().unwrap()])
}

/// The flow's own graph: those inside it were begun later.
fn outermost(folder: &Folder) -> String {
    folder.json(&["graph", "list"]).as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

fn example(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    folder.join(name).display().to_string()
}

#[test]
fn the_pages_are_each_read_by_a_flow_of_their_own() {
    let folder = Folder::new();
    let store = format!("sqlite:{}", folder.file("s.db").display());
    let ran = folder.run(&["run", &example("pages.toml"), "--store", &store]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let graphs = folder.json(&["graph", "list", "--store", &store]);
    let graphs = graphs.as_array().unwrap();
    assert!(graphs.len() > 5 && graphs.iter().all(|graph| graph["end"] == "succeeded"), "{graphs:?}");
    let show = folder.json(&["graph", "show", graphs.last().unwrap()["id"].as_str().unwrap(), "--store", &store]);
    let output = |name: &str| {
        let node = show["nodes"].as_array().unwrap().iter().find(|n| n["name"] == name).unwrap();
        folder.json(&["job", node["job"].as_str().unwrap(), "--store", &store])["output"].clone()
    };
    let (pages, longest) = (output("read"), output("longest"));
    let words = |page: &serde_json::Value| page["page"]["words"].as_u64().unwrap();
    assert_eq!(longest["words"], pages.as_array().unwrap().iter().map(words).max().unwrap());
    let alone = folder.run(&["run", &example("parts/page.toml"), "--store", &store, "--set", "page=docs/store.md"]);
    assert_eq!(alone.code, 0, "it is a flow of its own too: {}{}", alone.stdout, alone.stderr);
}

const PART: &str = r#"
queues = { disk = 1 }
[params]
file = { type = "text" }
size = { type = "number" }
by = "nobody"
[include.deep]
file = "deep.toml"
params = { name = { from = "params.file" } }
[node.large]
after = ["deep"]
if = "params.size > 10"
exec = ["echo", { from = "'\"' + params.file + ' is large\"'" }]
[node.last]
after = [{ node = "large", on = "joined" }, "deep"]
queue = "disk"
exec = ["sh", "-c", "cat > \"in.$1\"; echo \"\\\"$1 by $BY of $ACTOR\\\"\"", "sh", { from = "params.file" }]
env = { BY = { from = "params.by" }, ACTOR = { from = "input.actor" } }
"#;
const DEEP: &str = r#"
[params]
name = { type = "text" }
[node.said]
exec = ["echo", { from = "'\"' + params.name + '!\"'" }]
[node.gate]
after = ["said"]
branches = { ok = "outputs.said == params.name + '!'" }
"#;

#[test]
fn a_flow_is_given_parameters_that_are_known_only_when_it_is_started() {
    let folder = Folder::with_flow(
        r#"
[params]
who = "ann"
[node.list]
exec = ["echo", '{"files": [{"name": "a", "size": 5}, {"name": "b", "size": 50}], "first": 1.50}']
[node.one]
after = ["list"]
flow = { file = "part.toml", params = { file = { from = "outputs.list.files[0].name" }, size = { from = "outputs.list.first" }, by = { from = "params.who" } } }
[node.all]
after = ["list"]
each = { over = "outputs.list.files", concurrency = 1 }
flow = { file = "part.toml", params = { file = { from = "each.name" }, size = { from = "each.size" }, by = "x" } }
[node.end-of-it]
after = ["one", "all"]
exec = ["cat"]
"#,
    );
    folder.write("part.toml", PART);
    folder.write("deep.toml", DEEP);
    let ran = folder.run(&["run", "flow.toml", "--actor", "bob"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let root = outermost(&folder);
    assert_eq!(job(&folder, &root, "one")["output"], serde_json::json!({ "last": "a by ann of bob" }));
    let all = serde_json::json!([{ "last": "a by x of bob" }, { "last": "b by x of bob" }]);
    assert_eq!(job(&folder, &root, "all")["output"], all);
    let last = &job(&folder, &root, "end-of-it")["output"];
    assert_eq!(last["all"]["output"], all, "who waits for it gets what it left");
    assert!(folder.read("in.a").contains(r#""deep.gate"#), "{}", folder.read("in.a"));
    let graphs = folder.json(&["graph", "list"]);
    let skipped = |graph: &serde_json::Value| {
        let states = folder.states(graph["id"].as_str().unwrap());
        states.iter().any(|(node, state)| node == "large" && state == "skipped")
    };
    assert_eq!(graphs.as_array().unwrap().iter().filter(|graph| skipped(graph)).count(), 2, "those that are small");
    // A restart has its own queues, those of the inner flows too.
    let again = folder.json(&["restart", &root])["id"].as_str().unwrap().to_owned();
    let ran = folder.run(&["resume"]);
    assert_eq!(ran.code, 0, "only one is not inside another: {}{}", ran.stdout, ran.stderr);
    assert_eq!(job(&folder, &again, "all")["output"], all);
}

#[test]
fn a_parameter_of_another_type_and_a_failure_inside_fail_the_node() {
    let folder = Folder::with_flow(
        r#"
[node.a]
flow = { file = "part.toml", params = { n = { from = "'one'" } } }
[node.b]
flow = { file = "part.toml", params = { n = { from = "1 + 1" } } }
"#,
    );
    folder.write(
        "part.toml",
        "[params]\nn = { type = \"number\" }\n[node.x]\nexec = [\"sh\", \"-c\", \"echo no $1 >&2; exit 3\", \"sh\", { from = \"params.n\" }]\n",
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("the parameter `n` is to be a number, and `'one'` is \"one\""), "{}", ran.stdout);
    assert!(ran.stdout.contains("node x is dead: exit status 3: no 2"), "{}", ran.stdout);
}

#[test]
fn what_succeeded_inside_does_not_run_again_after_a_kill_nor_in_a_retry() {
    let folder = Folder::with_flow("[node.a]\nflow = \"part.toml\"\n");
    folder.write(
        "part.toml",
        r#"
[node.first]
exec = ["sh", "-c", "echo first >> log"]
[node.second]
after = ["first"]
exec = ["sh", "-c", 'echo second >> log; n=0; while [ ! -e go ] && [ $n -lt 2000 ]; do n=$((n+1)); sleep 0.02; done; [ -e well ]']
"#,
    );
    let mut command = folder.towpath(&["run", "flow.toml"]);
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the second is at work", || folder.file("log").exists() && folder.read("log").lines().count() == 2);
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    folder.write("go", "");
    let ran = folder.run(&["resume"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(folder.read("log"), "first\nsecond\nsecond\n");
    folder.write("well", "");
    let root = outermost(&folder);
    assert_eq!(folder.run(&["retry", &root]).code, 0);
    let ran = folder.run(&["resume", &root]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(folder.read("log"), "first\nsecond\nsecond\nsecond\n");
    assert_eq!(folder.json(&["graph", "list"]).as_array().unwrap().len(), 2, "it went on in the same graph");
}

#[test]
fn a_wait_inside_is_told_with_how_it_goes_on() {
    let folder = Folder::with_flow("[node.a]\neach = \"[1, 2]\"\nflow = \"part.toml\"\n");
    folder.write("part.toml", "[node.approve]\nsignal = \"approved\"\n");
    let mut command = folder.towpath(&["run", "flow.toml"]);
    let out = std::fs::File::create(folder.file("out")).unwrap();
    let mut child = command.stdout(out).stderr(Stdio::null()).spawn().unwrap();
    let told = || folder.read("out").lines().filter(|line| line.contains("approve waits for: towpath signal")).count();
    wait_until("both waits are told", || told() == 2);
    let out = folder.read("out");
    for line in out.lines().filter(|line| line.contains("waits for")) {
        let run = line.split('\'').nth(1).unwrap();
        assert_eq!(folder.run(&["signal", run, "approved", "{\"by\": \"ann\"}"]).code, 0);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let by = serde_json::json!({ "approve": { "by": "ann" } });
    assert_eq!(job(&folder, &outermost(&folder), "a")["output"], serde_json::json!([by, by]));
}

#[test]
fn a_secret_of_a_flow_inside_is_read_where_it_is_used_and_stored_nowhere() {
    let folder = Folder::with_flow("[node.a]\neach = \"[1, 2]\"\nflow = \"part.toml\"\n");
    folder.write(
        "part.toml",
        "[node.x]\nexec = [\"sh\", \"-c\", \"test ${#TOKEN} = 11 && echo '\\\"ok\\\"' && echo $TOKEN >&2\"]\n\
         env = { TOKEN = { secret = { env = \"THE_TOKEN\" } } }\n",
    );
    let ran = folder.towpath(&["run", "flow.toml"]).env("THE_TOKEN", "geheim-4711").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert_eq!(job(&folder, &outermost(&folder), "a")["output"][1]["x"], "ok");
    let store = std::fs::read_dir(folder.file(".towpath")).unwrap();
    let mut bytes = 0;
    for file in store.map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        let text = std::fs::read(&file).unwrap();
        bytes += text.len();
        assert!(!text.windows(11).any(|part| part == b"geheim-4711"), "{}", file.display());
    }
    assert!(bytes > 10_000, "it was looked into the store");
}

#[test]
fn what_is_wrong_with_a_flow_of_a_node_is_said_before_the_start() {
    let folder = Folder::with_flow(
        r#"
[node.list]
exec = ["true"]
[node.a]
flow = { file = "part.toml", params = { file = 7, fiel = "x" } }
retry = 3
queue = "disk"
[node.b]
flow = { file = "part.toml", params = { file = { from = "outputs.list" } } }
[node.c]
flow = { file = "part.toml", params = { file = { from = "each" } } }
[node.d]
flow = { file = "part.toml", params = { file = { secret = { env = "TOKEN" } } } }
[node.e]
flow = { params = {} }
[node.f]
flow = "flow.toml"
[node.g]
flow = "missing.toml"
[node.h]
signal = "approved"
timeout = "2d"
[node.i]
flow = "part.toml"
exec = ["true"]
"#,
    );
    folder.write(
        "part.toml",
        "[params]\nfile = { type = \"text\" }\n[node.x]\nexec = [\"no-such-program\", { from = \"params.fil\" }]\n\
         [node.y]\nafter = [\"z\"]\nexec = [\"true\"]\n",
    );
    let ran = folder.run(&["check", "flow.toml"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    for said in [
        "the input gives `file` a value that is not a text",
        "the flow has no parameter `fiel`",
        "`retry` is for a node with `exec` or `http`",
        "`queue` is for a node with `exec` or `http`",
        "give it to the nodes of its flow",
        "`outputs.list` reads the node `list`, which is not above `b`",
        "`each` reads `each`, and there is no element here",
        "the parameter `file` cannot be a secret: it would be stored",
        "`flow` has no `file`",
        "the flow of node `f` cannot be read",
        "it includes itself, here or further down",
        "the flow of node `g` cannot be read",
        "`timeout` is for a node with `exec` or `http`",
        "signal = { name = \"…\", timeout = \"2d\" }",
        "node `i` has `flow` and `exec`",
        "`params.fil` reads the parameter `fil`, which is not declared",
        "node `x` starts \"no-such-program\", which cannot be run",
        "node `y` waits for `z`, which is not there",
        "the parameter `file` has no value",
    ] {
        assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
}
