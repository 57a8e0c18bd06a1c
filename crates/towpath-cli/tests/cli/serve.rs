//! `towpath serve`, asked over a real connection, and stopped by a signal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};

use crate::Folder;

struct Served {
    child: Child,
    /// Kept open: who writes to a closed one may die.
    _out: BufReader<ChildStdout>,
    address: String,
}

fn serve(folder: &Folder, args: &[&str]) -> Served {
    let mut command = folder.towpath(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    Served { child, _out: out, address }
}

impl Served {
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let close = "Connection: close\r\n\r\n";
        write!(stream, "{request}\r\nHost: {}\r\n{close}", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn stop(mut self) -> i32 {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn what_a_store_does_is_printed_once_where_there_is_no_terminal() {
    let folder = Folder::with_flow(FLOW);
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let seen = folder.run(&["top"]);
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    assert!(seen.stdout.contains("QUEUE") && seen.stdout.contains("running 0"), "{}", seen.stdout);
    assert!(!seen.stdout.contains('\x1b'), "{}", seen.stdout);
}

#[test]
fn shells_are_told_how_to_complete() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&["completions", shell]);
        assert!(script.code == 0 && script.stdout.contains("no-login"), "{shell}: {}", script.stderr);
    }
}

const FLOW: &str = "name = \"f\"\n[node.a]\nexec = [\"true\"]\n";

#[test]
fn what_ran_is_served_until_a_signal_stops_it() {
    let folder = Folder::with_flow(FLOW);
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let served = serve(&folder, &["--instance", "here"]);
    let answer = served.ask("GET /api/graphs HTTP/1.1");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"name\":\"f\""), "{answer}");
    let elsewhere = served.ask("GET /api/graphs HTTP/1.1\r\nHost: evil.example");
    assert!(!elsewhere.starts_with("HTTP/1.1 200"), "{elsewhere}");
    assert_eq!(served.stop(), 0);
}

#[test]
fn a_login_is_asked_for_where_one_was_said() {
    let folder = Folder::with_flow(FLOW);
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let served = serve(&folder, &["--token", "s3cret"]);
    assert!(served.ask("GET /api/graphs HTTP/1.1").starts_with("HTTP/1.1 401"));
    assert!(served.ask("GET /api/graphs HTTP/1.1\r\nAuthorization: Bearer s3cret").starts_with("HTTP/1.1 200"));
    assert_eq!(served.stop(), 0);
}

#[test]
fn an_address_that_others_reach_needs_a_login() {
    let folder = Folder::with_flow(FLOW);
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let refused = folder.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--no-login"), "{}", refused.stderr);
    for (args, says) in [(["--token", ""], "the token is empty"), (["--login", "ann"], "NAME:PASSWORD")] {
        let refused = folder.run(&[&["serve"], &args[..]].concat());
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
}
