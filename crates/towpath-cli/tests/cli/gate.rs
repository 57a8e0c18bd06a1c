//! The gate before a command: it opens by one byte, and never when its parent is gone.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::Folder;

fn gate(folder: &Folder, stdin: &[u8], command: &[&str]) -> (i32, String) {
    let mut gate = Command::new(env!("CARGO_BIN_EXE_towpath"));
    gate.arg("exec-gate").args(command).current_dir(folder.path());
    let mut child = gate.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn it_opens_by_one_byte_and_leaves_the_rest_of_stdin() {
    let folder = Folder::new();
    assert_eq!(gate(&folder, b"\n{\"a\":1}\n", &["cat"]), (0, "{\"a\":1}\n".to_owned()));
}

#[test]
fn it_stays_shut_when_its_parent_is_gone() {
    let folder = Folder::new();
    assert_eq!(gate(&folder, b"", &["touch", "ran"]), (0, String::new()));
    assert!(!folder.file("ran").exists());
}

#[test]
fn what_cannot_be_started_is_named() {
    let folder = Folder::new();
    let (code, text) = gate(&folder, b"\n", &["./absent", "x"]);
    assert_eq!(code, 127);
    assert_eq!(text, "towpath: cannot start ./absent: No such file or directory (os error 2)\n");
}
