//! What a flow file can say besides commands and their order: the examples, and each key's refusals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use crate::{Folder, wait_until};

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows").join(name).display().to_string()
}

/// A folder whose store lies in it, wherever the flow is.
fn folder() -> Folder {
    let mut folder = Folder::new();
    folder.store = Some(format!("sqlite:{}", folder.file("s.db").display()));
    folder
}

fn state_of(folder: &Folder, node: &str) -> String {
    let states = folder.states(&folder.newest_graph());
    states.into_iter().find(|(name, _)| name == node).map(|(_, state)| state).unwrap_or_default()
}

fn job_of(folder: &Folder, node: &str) -> serde_json::Value {
    let show = folder.json(&["graph", "show", &folder.newest_graph()]);
    let nodes = show["nodes"].as_array().unwrap();
    let job = nodes.iter().find(|n| n["name"] == node).unwrap()["job"].as_str().unwrap().to_owned();
    folder.json(&["job", &job])
}

#[test]
fn a_release_to_staging_goes_through_without_a_word() {
    let folder = folder();
    let ran = folder.run(&["run", &example("release.toml")]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for (node, state) in [
        ("lint.empty", "succeeded"),
        ("enough", "succeeded"),
        ("complain", "skipped"),
        ("approve", "skipped"),
        ("publish", "succeeded"),
        ("notify", "dead"),
    ] {
        assert_eq!(state_of(&folder, node), state, "{node}");
    }
    let published = job_of(&folder, "publish")["output"]["published"].as_str().unwrap().to_owned();
    assert!(published.ends_with(" pages to staging"), "{published}");
}

#[test]
fn a_release_to_production_waits_for_its_signal() {
    let folder = folder();
    let mut command = folder.towpath(&["run", &example("release.toml"), "--set", "target=production"]);
    let mut running = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find(|line| line.starts_with("approve waits for: towpath signal")).unwrap();
    let run = told.split('\'').nth(1).unwrap();
    let graph = run.split('/').next().unwrap();
    for (to, name, problem) in [
        (format!("{graph}/nope"), "approved", "has no node nope"),
        (graph.to_owned(), "approved", "is a graph, and a signal goes to one of its nodes"),
        (format!("{graph}/publish"), "approved", "the node publish waits for no signal"),
        (run.to_owned(), "agreed", "the node approve waits for the signal approved, not for agreed"),
    ] {
        let refused = folder.run(&["signal", &to, name]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(problem), "{}", refused.stderr);
    }
    assert!(folder.run(&["signal", run, "approved", r#"{"by": "ann"}"#]).stdout.contains("is in its inbox"));
    let rest: Vec<String> = lines.collect();
    assert_eq!(running.wait().unwrap().code(), Some(0), "{rest:?}");
    assert_eq!(job_of(&folder, "approve")["output"]["by"], "ann");
    assert!(job_of(&folder, "publish")["output"]["published"].as_str().unwrap().ends_with("to production"));
}

#[test]
fn parameters_come_from_the_command_line_a_file_and_the_flow() {
    let folder = Folder::with_flow(
        "[params]\nname = { type = \"text\" }\ncount = 1\nloud = false\n\
         [node.say]\nexec = [\"echo\", { from = \"{'name': params.name, 'count': params.count, 'loud': params.loud}\" }]\n",
    );
    folder.write("params.json", r#"{"name": "of the file", "count": 2}"#);
    let ran = folder.run(&["run", "flow.toml", "--input", "params.json", "--set", "name=of the line"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let output = job_of(&folder, "say")["output"].clone();
    assert_eq!(output, serde_json::json!({ "name": "of the line", "count": 2, "loud": false }));
    let ran = folder.run(&["run", "flow.toml", "--set", "cuont=2", "--set", "loud=maybe", "--input", "params.json"]);
    assert_eq!(ran.code, 2);
    for said in
        ["the flow has no parameter `cuont`", "did you mean `count`?", "`--set loud=maybe` is not true or false"]
    {
        assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
    let ran = folder.run(&["run", "flow.toml"]);
    assert!(ran.stderr.contains("the parameter `name` has no value"), "{}", ran.stderr);
    assert_eq!(folder.run(&["check", "flow.toml"]).stdout, "flow is right: 1 node, 0 edges\n");
}

#[test]
fn a_queue_runs_as_many_at_once_as_it_says() {
    let nodes: String = (0..4)
        .map(|n| {
            format!(
                "[node.n{n}]\nqueue = \"one\"\nexec = [\"sh\", \"-c\", \"mkdir busy && sleep 0.05 && rmdir busy\"]\n"
            )
        })
        .collect();
    let folder = Folder::with_flow(&format!("queues = {{ one = 1 }}\n{nodes}"));
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "two were at it at once: {}", ran.stdout);
}

#[test]
fn a_node_starts_with_as_many_parents_as_it_needs() {
    let flow = |need: &str| {
        format!(
            "[node.near]\nexec = [\"false\"]\n[node.far]\nexec = [\"true\"]\n\
             [node.fetch]\nafter = [\"near\", \"far\"]\nat_least = {need}\nexec = [\"true\"]\n"
        )
    };
    let folder = Folder::with_flow(&flow("1"));
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let ends = ["near", "far", "fetch"].map(|node| state_of(&folder, node));
    assert_eq!(ends, ["dead", "succeeded", "succeeded"]);

    let folder = Folder::with_flow(&flow("2"));
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    assert_eq!(state_of(&folder, "fetch"), "skipped");

    for (need, said) in [
        ("0", "node `fetch` waits for at least 0 of 2"),
        ("3", "node `fetch` waits for at least 3 of 2"),
        ("\"one\"", "`at_least` must be a number of nodes"),
        ("1\nif = \"true\"", "node `fetch` has `if` and `at_least`"),
    ] {
        let checked = Folder::with_flow(&flow(need)).run(&["check", "flow.toml"]);
        assert_eq!(checked.code, 2);
        assert!(checked.stderr.contains(said), "{}", checked.stderr);
    }
}

#[test]
fn a_flow_with_a_queue_and_a_wait_is_resumed() {
    let folder = Folder::with_flow(
        "queues = { one = 1 }\n[node.wait]\nsignal = \"go\"\n\
         [node.last]\nafter = [\"wait\"]\nqueue = \"one\"\nexec = [\"echo\", { from = \"outputs.wait\" }]\n",
    );
    let mut running = folder.towpath(&["run", "flow.toml"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find(|line| line.starts_with("wait waits for: ")).unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    let jobs = folder.run(&["jobs"]).stdout;
    assert!(!jobs.contains("start a worker with a handler"), "towpath itself runs it: {jobs}");
    let run = told.split('\'').nth(1).unwrap();
    assert_eq!(folder.run(&["signal", run, "go", "[1, 2]"]).code, 0);
    let resumed = folder.run(&["resume"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(job_of(&folder, "last")["output"], serde_json::json!([1, 2]));
}

#[test]
fn a_secret_is_nowhere_but_with_its_command() {
    let folder = Folder::with_flow(
        "[node.a]\nshell = true\nexec = '''\n\
         test \"${#TOKEN}\" = 9 || exit 9\n\
         echo \"to stderr: $TOKEN\" >&2; echo \"$FILE\"; echo \"$TOKEN\" | sed 's/\"/\\\\\"/; s/.*/{\"token\": \"&\"}/'\n'''\n\
         env = { TOKEN = { secret = { env = \"MY_TOKEN\" } }, FILE = { secret = { file = \"token.txt\" } } }\n\
         [node.b]\nafter = [{ node = \"a\", on = \"finished\" }]\nshell = true\nexec = 'cat; echo \"$TOKEN\" >&2; exit 3'\n\
         env = { TOKEN = { secret = { env = \"MY_TOKEN\" } } }\n",
    );
    folder.write("token.txt", "of-the-file\n");
    let ran = crate::Ran::from(folder.towpath(&["run", "flow.toml"]).env("MY_TOKEN", "hunter2\"x").output().unwrap());
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(state_of(&folder, "a"), "succeeded", "the command had it");
    let (a, b) = (job_of(&folder, "a"), job_of(&folder, "b"));
    assert_eq!(a["output"]["token"], "***");
    assert!(a["attempts"][0]["log"].as_str().unwrap().contains("to stderr: ***"), "{a}");
    assert!(b["attempts"][0]["error"].as_str().unwrap().contains("exit status 3: ***"), "{b}");
    for shown in [a.to_string(), b.to_string(), ran.stdout, ran.stderr] {
        assert!(!shown.contains("hunter2") && !shown.contains("of-the-file"), "{shown}");
    }
    for file in std::fs::read_dir(folder.file(".towpath")).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        let has = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!has(b"hunter2") && !has(b"of-the-file"), "{:?}", file.path());
    }
    let ran = folder.run(&["run", "flow.toml"]);
    assert!(ran.stdout.contains("no variable MY_TOKEN is set"), "{}", ran.stdout);
}

/// A server that answers by a function of the request's first line, headers and body; what it was asked is kept.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(usize, &str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap_or(0);
                    }
                    head.push_str(&line);
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let request = head + &String::from_utf8_lossy(&body);
                let mut all = seen.lock().unwrap();
                let answer = answer(all.len(), &request);
                all.push(request);
                drop(all);
                let _ = reader.get_mut().write_all(answer.as_bytes());
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn calls_are_retried_while_the_server_is_busy_and_their_answers_go_on() {
    let folder = folder();
    let server = Server::start(|count, request| match count {
        0 => answer("503 Busy", "later"),
        _ if request.starts_with("POST /orders ") => answer("201 Created", r#"{"id": 7, "token": "hunter2"}"#),
        _ => answer("200 OK", r#"{"state":"sent"}"#),
    });
    let mut command = folder.towpath(&["run", &example("call.toml"), "--set", &format!("server={}", server.url)]);
    let ran = crate::Ran::from(command.env("TOKEN", "hunter2").output().unwrap());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let asked = server.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[1].to_ascii_lowercase().contains("authorization: hunter2"), "{asked:?}");
    assert!(asked[1].to_ascii_lowercase().contains("content-type: application/json"), "{asked:?}");
    assert!(asked[1].ends_with(r#"{"count":2,"item":"boat"}"#), "{asked:?}");
    assert!(asked[2].starts_with("GET /orders/7 "), "{asked:?}");
    let order = job_of(&folder, "order");
    assert_eq!(order["output"], serde_json::json!({ "status": 201, "body": { "id": 7, "token": "***" } }));
    assert_eq!(order["attempts"][0]["error"], format!("POST {}/orders: status 503: later", server.url));
    assert_eq!(job_of(&folder, "say")["output"], serde_json::json!({ "state": "sent" }));
    assert!(!folder.read("s.db").contains("hunter2"));
}

#[test]
fn a_call_that_the_server_refuses_is_not_tried_again() {
    let server = Server::start(|_, _| answer("404 Not Found", "no such order"));
    let folder = Folder::with_flow(&format!("[node.a]\nhttp = \"{}/x\"\nretry = 5\n", server.url));
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!((ran.code, server.asked().len()), (1, 1), "{}", ran.stdout);
    assert!(ran.stdout.contains("/x: status 404: no such order"), "{}", ran.stdout);
}

#[test]
fn a_call_that_takes_too_long_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = Folder::with_flow(&format!("[node.a]\nhttp = \"{url}/x\"\ntimeout = \"100ms\"\n"));
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    wait_until("the node is dead", || state_of(&folder, "a") == "dead");
}

#[test]
fn everything_that_is_wrong_with_the_keys_is_said_with_its_place() {
    let folder = Folder::with_flow(
        r#"
queues = { Disk = 1, tape = 0 }
[params]
n = { type = "numbr" }
[include.part]
file = "part.toml"
[include.gone]
file = "gone.toml"
[node.a]
exec = ["echo", { from = "outputs.b.n + params.m" }]
http = "ftp://x"
[node.b]
branches = { yes = "1 +", no = "outputs.a.n > 1" }
[node.c]
after = ["b", { node = "b", branch = "maybe" }, { node = "part", on = "ended" }]
exec = [{ from = "params.n" }]
env = { X = { secret = "hunter2" }, Y = { form = "1" } }
if = "outputs.d > 1"
queue = "dsik"
[node.d]
signal = { nme = "Go" }
dir = "/"
delay = "soon"
[node.e]
timer = { at = "tomorrow" }
[node.f]
http = { url = "https://u:p@host/", method = "get", headers = { "a b" = "c" }, expect = 20 }
"#,
    );
    folder.write(
        "part.toml",
        "[node.x]\nexec = [\"true\"]\nafter = [\"y\"]\n[node.end]\nexec = [\"true\"]\nif = \"states.x\"\n",
    );
    let ran = folder.run(&["check", "flow.toml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(!ran.stderr.contains("tomorrow is"), "{}", ran.stderr);
    let said = ran.stderr.replace(&folder.path().display().to_string(), "DIR");
    let said = said.replace(&folder.path().canonicalize().unwrap().display().to_string(), "DIR");
    insta::assert_snapshot!("bad_keys", said);
}

#[test]
fn the_schema_of_a_flow_is_that_of_the_docs() {
    let printed = Folder::new().run(&["schema", "flow"]).stdout;
    assert_eq!(printed, include_str!("../../../../docs/flow.schema.json"));
}

#[test]
fn every_example_is_right() {
    for file in std::fs::read_dir(example("")).unwrap().flatten().map(|entry| entry.path()) {
        if file.extension().is_some_and(|ext| ext == "toml") {
            let checked = Folder::new().run(&["check", &file.display().to_string()]);
            assert_eq!(checked.code, 0, "{}", checked.stderr);
        }
    }
}

/// The flows of the guide, with what stands behind `toml` in their first line.
fn flows_of_the_guide() -> Vec<(String, String)> {
    let guide = include_str!("../../../../docs/guide/flows.md");
    let blocks = guide.split("\n```toml").skip(1);
    blocks
        .map(|block| {
            let (head, rest) = block.split_once('\n').unwrap();
            (head.trim().to_owned(), rest.split("\n```").next().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn every_flow_of_the_guide_runs_or_is_right() {
    let flows = flows_of_the_guide();
    assert!(flows.len() >= 9, "the guide has flows");
    let others: Vec<_> = flows.iter().filter(|(head, _)| head.ends_with(".toml")).cloned().collect();
    assert_eq!(others.len(), 2, "the flows that others include or run");
    for (head, flow) in flows {
        let folder = Folder::with_flow(&flow);
        others.iter().for_each(|(name, flow)| folder.write(name, flow));
        let command = if head.is_empty() { "run" } else { "check" };
        let ran = folder.run(&[command, "flow.toml"]);
        assert_eq!(ran.code, 0, "{head}\n{flow}\n{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn the_guide_names_every_key() {
    let guide = include_str!("../../../../docs/guide/flows.md");
    let schema: serde_json::Value = serde_json::from_str(&Folder::new().run(&["schema", "flow"]).stdout).unwrap();
    let undo = &schema["$defs"]["undo"];
    let (node, held) = (&schema["$defs"]["node"], &schema["$defs"]["node"]["properties"]["flow"]["oneOf"][1]);
    for of in [&schema, node, undo, held, &node["properties"]["http"]["oneOf"][1]] {
        for key in of["properties"].as_object().unwrap().keys() {
            let named = [format!("`{key}`"), format!("`[{key}]`"), format!("`[{key}.NAME]`")];
            assert!(named.iter().any(|name| guide.contains(name)), "{key}");
        }
    }
}

#[test]
fn a_secret_is_not_sent_on_to_another_host() {
    let folder = folder();
    let other = Server::start(|_, _| answer("200 OK", r#"{"ok":true}"#));
    let to = other.url.clone();
    let server = Server::start(move |_, request| {
        let location = if request.starts_with("POST /on ") { "/here".to_owned() } else { format!("{to}/there") };
        let status = if request.starts_with("GET") { "302 Found" } else { "307 Temporary Redirect" };
        format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    });
    folder.write(
        "flow.toml",
        &format!(
            r#"
            name = "on"
            [node.read]
            http = {{ url = "{0}/read", headers = {{ X-Key = {{ secret = {{ env = "MY_TOKEN" }} }}, X-Plain = "p" }} }}
            [node.write]
            http = {{ url = "{0}/on", method = "POST", body = {{ secret = {{ env = "MY_TOKEN" }} }} }}
            "#,
            server.url
        ),
    );
    let mut command = folder.towpath(&["run", "flow.toml"]);
    let ran = crate::Ran::from(command.env("MY_TOKEN", "hunter2").output().unwrap());
    assert!(ran.stdout.contains("which holds a secret"), "{}{}", ran.stdout, ran.stderr);
    let (first, second) = (server.asked(), other.asked());
    assert!(
        first.iter().any(|request| request.starts_with("POST /here ") && request.ends_with("hunter2")),
        "{first:?}"
    );
    assert!(first.iter().any(|request| request.starts_with("GET /read ") && request.contains("hunter2")), "{first:?}");
    assert_eq!(second.len(), 1, "{second:?}");
    assert!(
        second[0].starts_with("GET /there ") && second[0].to_ascii_lowercase().contains("x-plain: p"),
        "{second:?}"
    );
    assert!(!second[0].contains("hunter2"), "{second:?}");
}

#[test]
fn a_value_that_is_wrong_is_said_once_and_not_again_where_it_is_passed_on() {
    let folder = Folder::with_flow(
        "[params]\nn = { type = \"number\" }\n[include.a]\nfile = \"part.toml\"\nparams = { p = { from = \"params.n\" } }\n",
    );
    folder.write(
        "part.toml",
        "[params]\np = { type = \"number\" }\n[node.say]\nexec = [\"echo\", { from = \"params.p\" }]\n",
    );
    folder.write("in.json", r#"{"n": "many"}"#);
    let ran = folder.run(&["run", "flow.toml", "--input", "in.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the input gives `n` a value that is not a number"), "{}", ran.stderr);
    assert!(ran.stderr.contains("flow.toml has 1 problem;"), "{}", ran.stderr);
}

#[test]
fn a_parameter_is_passed_on_to_an_included_flow() {
    let folder = Folder::with_flow(
        r#"
[params]
files = { type = "text" }
[include.a]
file = "part.toml"
params = { pattern = { from = "params.files" }, more = { from = "2026-01-01" } }
"#,
    );
    let part = "[params]\npattern = { type = \"text\" }\nmore = { type = \"json\" }\n\
        [include.b]\nfile = \"inner.toml\"\nparams = { deep = { from = \"params.pattern\" } }\n\
        [node.say]\nexec = [\"echo\", { from = \"'\\\"' + params.pattern + params.more.from + '\\\"'\" }]\n";
    folder.write("part.toml", part);
    let inner = "[params]\ndeep = { type = \"text\" }\n[node.say]\nexec = [\"echo\", { from = \"'\\\"' + params.deep + '\\\"'\" }]\n";
    folder.write("inner.toml", inner);
    assert_eq!(folder.run(&["check", "flow.toml"]).code, 0, "a value that is not known yet is none that is wrong");
    let ran = folder.run(&["run", "flow.toml", "--set", "files=*.rs"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(job_of(&folder, "a.say")["output"], "*.rs2026-01-01");
    assert_eq!(job_of(&folder, "a.b.say")["output"], "*.rs");
    folder.write("part.toml", &part.replace("params.pattern\" } }", "params.patern\" } }"));
    let refused = folder.run(&["check", "flow.toml"]).stderr;
    assert!(refused.contains("which is not there") && refused.contains("`pattern`"), "{refused}");
}
