//! Addresses of stores that lead nowhere: what is said of each, that no password is said, and that to look makes nothing.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use crate::Folder;

/// What is said on stderr, as one line.
fn words(folder: &Folder, args: &[&str], code: i32) -> String {
    let ran = folder.run(args);
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    ran.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// A server that answers every connection with an error of PostgreSQL, until the test is over.
fn server_that_says(code: &'static str, message: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut length = [0; 4];
            stream.read_exact(&mut length).unwrap();
            // The startup message, whose length counts itself.
            let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
            stream.read_exact(&mut startup).unwrap();
            let fields = format!("SFATAL\0VFATAL\0C{code}\0M{message}\0\0");
            let mut answer = vec![b'E'];
            answer.extend((fields.len() as u32 + 4).to_be_bytes());
            answer.extend(fields.as_bytes());
            stream.write_all(&answer).unwrap();
        }
    });
    format!("postgres://ann:secret@{address}/app")
}

#[test]
fn what_postgresql_refuses_says_what_to_correct() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    for (code, message, said) in [
        ("28P01", "password authentication failed for user \"ann\"", "refuses the password: correct it in the URL"),
        ("28000", "role \"ann\" does not exist", "refuses the user: correct the URL, or let the user in"),
        ("3D000", "database \"app\" does not exist", "no such database: make it, or correct its name in the URL"),
        ("53300", "too many connections", "PostgreSQL is busy: try again"),
    ] {
        let url = server_that_says(code, message);
        for args in [&["run", "flow.toml"][..], &["jobs"], &["resume"], &["migrate"]] {
            let said_of_it = words(&folder, &[args, &["--store", &url]].concat(), 1);
            assert!(said_of_it.contains(said) && said_of_it.contains(message), "{said_of_it}");
            assert!(said_of_it.contains("help: ") && !said_of_it.contains("secret"), "{said_of_it}");
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_told_apart_from_one_that_refuses() {
    let folder = Folder::new();
    // A port that nobody listens on any more.
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let said = words(&folder, &["jobs", "--store", &format!("postgres://ann:secret@{address}/app")], 1);
    assert!(said.contains("no PostgreSQL listens there: start it, or correct host and port"), "{said}");
    assert!(said.contains("onnection refused") && !said.contains("secret"), "{said}");
    let said = words(&folder, &["jobs", "--store", "postgres:///app"], 1);
    assert!(said.contains("help: write postgres://USER:PASSWORD@HOST:PORT/DATABASE"), "{said}");
    let said = words(&folder, &["jobs", "--store", "postgres://ann:secret@localhost:70000/app"], 1);
    assert!(said.contains("cannot be read: ") && said.contains("port") && !said.contains("secret"), "{said}");
}

#[test]
fn an_address_that_is_nearly_one_says_what_was_meant() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    for (store, meant) in [
        ("postgres//ann:secret@db/app", "did you mean postgres://…@db/app?"),
        ("postgres:/ann:secret@db/app", ""),
        ("Postgres//db/app", "did you mean postgres://db/app?"),
        ("sqlite/work.db", "did you mean sqlite:work.db?"),
        ("work.db", "use sqlite:PATH or postgres://USER@HOST/DATABASE"),
    ] {
        for args in [&["jobs"][..], &["run", "flow.toml"]] {
            let ran = folder.run(&[args, &["--store", store]].concat());
            let said = ran.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
            assert!([1, 2].contains(&ran.code) && said.contains(meant) && said.contains("help: "), "{store}: {said}");
            assert!(!said.contains("secret"), "{said}");
        }
    }
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["flow.toml"]);
}

#[test]
fn to_look_makes_neither_folder_nor_file_nor_schema() {
    let folder = Folder::new();
    folder.write("empty.db", "");
    let graph = "00000000-0000-0000-0000-000000000000";
    for args in [
        &["jobs"][..],
        &["job", graph],
        &["graph", "list"],
        &["graph", "show", graph],
        &["queues"],
        &["workers"],
        &["audit"],
        &["resume"],
        &["cancel", graph],
    ] {
        let said = words(&folder, &[args, &["--store", "sqlite:new/deeper/s.db"]].concat(), 2);
        assert!(said.contains("there is no store at new/deeper/s.db"), "{said}");
        if !["resume", "cancel"].contains(&args[0]) {
            let said = words(&folder, &[args, &["--store", "sqlite:empty.db"]].concat(), 2);
            assert!(said.contains("there is no store at empty.db"), "{said}");
        }
    }
    assert!(!folder.file("new").exists());
    assert_eq!(std::fs::metadata(folder.file("empty.db")).unwrap().len(), 0);
}

#[test]
fn a_folder_that_is_made_for_a_store_is_told() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    let ran = folder.run(&["run", "flow.toml", "--store", "sqlite:new/deeper/s.db"]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.stderr, "note: making the folder new/deeper for the store\n");
    let again = folder.run(&["run", "flow.toml", "--store", "sqlite:new/deeper/s.db"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
}

#[test]
fn to_look_into_a_database_of_postgres_makes_no_schema() {
    let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
        println!("LEFT OUT: TOWPATH_TEST_POSTGRES names no server");
        return;
    };
    if std::env::var_os("TOWPATH_TEST_POOLER").is_some() {
        println!("LEFT OUT: a pooler is in the way of making a database");
        return;
    }
    let folder = Folder::new();
    let name = format!("look_{}", std::process::id());
    let psql = |sql: &str| {
        let ran = std::process::Command::new("psql").args([&url, "-tAc", sql]).output();
        ran.ok().filter(|ran| ran.status.success()).map(|ran| String::from_utf8(ran.stdout).unwrap())
    };
    if psql(&format!("create database {name}")).is_none() {
        println!("LEFT OUT: psql is not there, or may not make a database");
        return;
    }
    let (server, _) = url.rsplit_once('/').unwrap();
    let store = format!("{server}/{name}");
    for args in [&["jobs"][..], &["queues"], &["workers"], &["graph", "list"], &["audit"]] {
        let said = words(&folder, &[args, &["--store", &store]].concat(), 1);
        assert!(said.contains("the schema is missing or too old") && said.contains("`towpath migrate`"), "{said}");
    }
    assert_eq!(folder.run(&["migrate", "--store", &store]).code, 0);
    assert_eq!(folder.run(&["jobs", "--store", &store]).stdout, "no jobs\n");
    psql(&format!("drop database {name} with (force)"));
}
