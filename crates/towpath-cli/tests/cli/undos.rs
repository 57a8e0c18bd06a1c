//! What the nodes of a flow undo when it fails or is cancelled.

use std::process::Stdio;

use crate::{Folder, left_behind, steady, wait_until};

fn example() -> String {
    include_str!("../../../../examples/flows/order.toml").to_owned()
}

fn state_of(folder: &Folder, node: &str) -> String {
    let states = folder.states(&folder.newest_graph());
    states.into_iter().find(|(name, _)| name == node).map(|(_, state)| state).unwrap_or_default()
}

#[test]
fn a_flow_that_fails_undoes_what_it_has_done_the_last_first() {
    let folder = Folder::with_flow(&example());
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        folder.read(".towpath/order/book"),
        "opened\nreserved\ncharged\ncalled off\nrefunded\nshelf 7 is free\n"
    );
    let charge: serde_json::Value = serde_json::from_str(&folder.read(".towpath/order/charge.json")).unwrap();
    assert_eq!(charge["charge"]["state"], "succeeded");
    assert_eq!(charge["charge"]["output"]["receipt"], "r-1");
    let said = steady(&ran.stdout);
    let last = "order failed in 0.0s: 3 succeeded, 1 dead, 1 skipped; undos: 3 succeeded\n";
    assert!(said.ends_with(last), "{said}");
    assert!(said.contains("undo charge   succeeded  1 "), "{said}");
    let table = said.rsplit_once("cause\n").unwrap().1;
    let place = |node: &str| table.find(&format!("\n{node} ")).unwrap_or_else(|| panic!("no {node}: {table}"));
    let in_order = ["thank", "undo ship", "undo charge", "undo reserve"].map(place);
    assert!(in_order.is_sorted(), "undos stand behind the nodes, as they ran: {table}");
    assert!(!said.contains("undo thank"), "what it undoes was never started: {said}");
    assert_eq!(state_of(&folder, "undo thank"), "skipped");
}

#[test]
fn a_flow_that_succeeds_undoes_nothing_and_says_nothing_of_undos() {
    let folder = Folder::with_flow(&example());
    let checked = folder.run(&["check", "flow.toml"]);
    assert_eq!(checked.stdout, "order is right: 5 nodes, 4 edges, 4 undos\n");
    let ran = folder.run(&["run", "flow.toml", "--set", "van=true"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(folder.read(".towpath/order/book"), "opened\nreserved\ncharged\n");
    assert!(!ran.stdout.contains("undo"), "{}", ran.stdout);
    assert!(steady(&ran.stdout).ends_with("order succeeded in 0.0s: 5 succeeded\n"), "{}", ran.stdout);
    let graph = folder.newest_graph();
    let diff = folder.run(&["graph", "diff", &graph, "flow.toml"]);
    assert_eq!(diff.code, 0, "{}{}", diff.stdout, diff.stderr);
}

#[test]
fn an_undo_that_is_killed_runs_again_after_a_resume() {
    let folder = Folder::with_flow(
        r#"
[node.a]
exec = ["true"]
undo = { exec = ["sh", "-c", "echo begin >> log; touch undoing; while [ ! -e go ]; do sleep 0.02; done; echo end >> log"] }
[node.b]
after = ["a"]
exec = ["false"]
"#,
    );
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the undo runs", || folder.file("undoing").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    let graph = folder.newest_graph();
    assert!(!left_behind(&graph).is_empty(), "it is still at it, or a resume has nothing to stop");
    let mut resume = folder.towpath(&["resume"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the undo runs once more", || folder.read("log") == "begin\nbegin\n");
    folder.write("go", "");
    assert_eq!(resume.wait().unwrap().code(), Some(1), "it reads failed all the same");
    assert_eq!(folder.read("log"), "begin\nbegin\nend\n", "the first one was stopped");
    assert_eq!(state_of(&folder, "undo a"), "succeeded");
    assert_eq!(left_behind(&graph), [] as [String; 0]);
}

#[test]
fn a_cancel_undoes_and_an_undo_that_dies_is_told() {
    let folder = Folder::with_flow(
        r#"
[node.a]
exec = ["true"]
undo = { exec = ["touch", "undone"] }
[node.b]
exec = ["true"]
undo = { exec = ["sh", "-c", "echo no way back >&2; exit 3"], retry = 1 }
[node.c]
after = ["a", "b"]
signal = "go"
"#,
    );
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the flow waits", || {
        let listed = folder.run(&["graph", "list", "--json"]).stdout;
        let ids: serde_json::Value = serde_json::from_str(&listed).unwrap_or_default();
        ids[0]["id"]
            .as_str()
            .is_some_and(|graph| folder.states(graph).iter().filter(|(_, state)| state == "succeeded").count() == 2)
    });
    assert_eq!(folder.run(&["cancel", &folder.newest_graph()]).code, 0);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut run.stdout.take().unwrap(), &mut said).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(3), "{said}");
    assert!(folder.file("undone").exists(), "{said}");
    assert!(said.contains("exit status 3: no way back"), "{said}");
    assert!(said.contains("more about undo b: towpath job "), "{said}");
    assert!(said.trim_end().ends_with("2 succeeded, 1 cancelled; undos: 1 succeeded, 1 dead"), "{said}");
    let shown = folder.run(&["graph", "show", &folder.newest_graph()]).stdout;
    assert!(shown.contains("undos   incomplete"), "{shown}");
}

#[test]
fn an_included_flow_undoes_in_its_own_folder_and_sees_its_own_nodes() {
    let folder = Folder::with_flow(
        "[include.part]\nfile = \"sub/part.toml\"\nparams = { name = \"seven\" }\n\
         [node.last]\nafter = [\"part\"]\nexec = [\"false\"]\n",
    );
    std::fs::create_dir_all(folder.file("sub/deep")).unwrap();
    folder.write(
        "sub/part.toml",
        "queues = {}\n[params]\nname = { type = \"text\" }\n[node.first]\nexec = [\"echo\", \"[1]\"]\n\
         [node.make]\nafter = [\"first\"]\ndir = \"deep\"\nexec = [\"echo\", \"{\\\"n\\\": 1}\"]\n\
         undo = { exec = [\"sh\", \"-c\", \"echo $TOWPATH_NODE $0 $1 > undone\", { from = \"params.name\" }, \
         { from = \"string(outputs.make.n + outputs.first[0])\" }] }\n",
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(folder.read("sub/deep/undone"), "undo part.make seven 2\n", "{}", ran.stdout);
}

#[test]
fn everything_that_is_wrong_with_undos_is_said_with_its_place() {
    let long = "n".repeat(125);
    let folder = Folder::with_flow(&format!(
        r#"
[node.a]
exec = ["true"]
undo = {{ exec = ["true"], after = ["b"], timeot = "1m" }}
[node.b]
exec = ["true"]
undo = {{ retry = 3 }}
[node.c]
exec = ["true"]
undo = {{ http = "http://localhost/", env = {{ A = "b" }}, signal = "go" }}
[node.d]
exec = ["true"]
undo = {{ exec = ["echo", {{ from = "outputs.d.n + outputs.a.n" }}], queue = "disk" }}
[node.e]
after = ["undo d"]
exec = ["true"]
undo = ["true"]
[node."undo e"]
exec = ["true"]
undo = {{ exec = ["no-such-program"] }}
[node."undo undo e"]
exec = ["true"]
[node.{long}]
exec = ["true"]
undo = {{ exec = ["true"] }}
"#
    ));
    let ran = folder.run(&["check", "flow.toml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    insta::assert_snapshot!("bad_undos", ran.stderr.replace(&long, "LONG"));
}

#[test]
fn a_flow_that_was_undone_is_retried_and_does_it_again() {
    let folder = Folder::with_flow(
        "[node.a]\nshell = true\nexec = \"echo did >> log\"\nundo = { shell = true, exec = \"echo undid >> log; test ! -e broken\", retry = 1 }\n\
         [node.b]\nexec = [\"test\", \"-e\", \"ready\"]\nafter = [\"a\"]\n",
    );
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    let graph = folder.newest_graph();
    assert_eq!(folder.run(&["retry", &graph]).code, 0);
    // Its undo fails now, so somebody is to look before it is tried once more.
    std::fs::write(folder.file("broken"), "").unwrap();
    assert_eq!(folder.run(&["resume"]).code, 1);
    let refused = folder.run(&["retry", &graph]);
    assert!(refused.code == 2 && refused.stderr.contains("its undo undo a is not done"), "{}", refused.stderr);
    std::fs::write(folder.file("ready"), "").unwrap();
    assert_eq!(folder.run(&["retry", &graph, "--even-incomplete"]).code, 0);
    assert_eq!(folder.run(&["resume"]).code, 0);
    assert_eq!(folder.read("log"), "did\nundid\ndid\nundid\ndid\n");
}
