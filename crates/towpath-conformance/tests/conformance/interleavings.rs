//! Two processes on one PostgreSQL, held still between two statements: every script below `interleavings/`.
//!
//! What a lock is for shows only while somebody waits for it, so a script says who waits and who does not.

mod session;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use towpath_conformance::{Command, PostgresSubject, Runner, Script, find, rewrite};

use crate::faults;
use crate::postgres::url;
use session::{Session, Stand};

/// Fewer scripts than this means that they were not found.
const SCRIPTS_MIN: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_in_every_order_agree() {
    let Some(url) = url() else { return };
    faults::put_back_what_is_asked();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("interleavings");
    let only = std::env::var("TOWPATH_SCRIPT").unwrap_or_default();
    let mut scripts = find(&folder).unwrap();
    assert!(scripts.len() >= SCRIPTS_MIN, "found only {} scripts below {}", scripts.len(), folder.display());
    let mut report = Vec::new();
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        for script in scripts.iter().filter(|script| script.path.to_string_lossy().contains(&only)) {
            let mut pair = Interleaving::new(&url).await;
            let mut answers = Vec::new();
            for command in &script.commands {
                let answer = pair.answer(command).await;
                answers.push(answer.unwrap_or_else(|e| panic!("{}:{}: {e}", script.path.display(), command.line)));
            }
            rewrite(&folder, script, &answers).unwrap();
        }
        scripts = find(&folder).unwrap();
    }
    for script in scripts.iter().filter(|script| script.path.to_string_lossy().contains(&only)) {
        if let Err(differs) = Interleaving::new(&url).await.run(script).await {
            report.push(differs);
        }
    }
    assert!(report.is_empty(), "{} interleavings differ\n\n{}", report.len(), report.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interleaving_that_is_not_so_fails() {
    let Some(url) = url() else { return };
    let text = "# Why: the runner must be able to fail\nA after enqueue_jobs: enqueue job a\n> a inserted\n";
    let script = Script::parse(&PathBuf::from("red.txt"), text).unwrap();
    let differs = Interleaving::new(&url).await.run(&script).await.unwrap_err();
    assert!(differs.contains("! > paused"), "{differs}");
}

/// Two batches of siblings whose children are the same, settled in opposite orders: the classic deadlock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_with_the_same_children_in_opposite_orders_never_deadlock() {
    let Some(url) = url() else { return };
    faults::put_back_what_is_asked();
    let mut pair = Interleaving::new(&url).await;
    let name = format!("deadlocks_{}", std::process::id());
    let ask = async |text: String| pair.main.subject().postgres().ask(text).await.unwrap();
    ask(format!("create database {name}")).await;
    let (before, after) = url.rsplit_once('/').unwrap();
    let database = match after.split_once('?') {
        Some((_, options)) => format!("{before}/{name}?{options}"),
        None => format!("{before}/{name}"),
    };
    let mut apart = Interleaving::new(&database).await;
    apart.opposite_orders().await;
    let mut deadlocks = String::new();
    // The server tells its statistics at most once a second.
    for _ in 0..24 {
        let text = "select deadlocks from pg_stat_database where datname = current_database()";
        deadlocks = apart.main.subject().postgres().ask(text).await.unwrap().unwrap_or_default();
        if deadlocks != "0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(apart);
    pair.say(&format!("drop database {name} with (force)")).await;
    assert_eq!(deadlocks, "0", "deadlocks in pg_stat_database");
}

/// A script under way: a session for what stands alone, and one for each letter.
struct Interleaving {
    main: Runner<PostgresSubject>,
    sessions: BTreeMap<char, Session>,
}

impl Interleaving {
    async fn new(url: &str) -> Self {
        let subject = PostgresSubject::new(url).await.unwrap();
        let mut sessions = BTreeMap::new();
        for letter in ['A', 'B'] {
            sessions.insert(letter, Session::new(&subject, letter).await);
        }
        Self { main: Runner::new(subject).await.unwrap(), sessions }
    }

    /// Runs a text on the server.
    async fn say(&mut self, text: &str) {
        self.main.subject().postgres().ask(text).await.unwrap();
    }

    async fn run(mut self, script: &Script) -> Result<(), String> {
        for command in &script.commands {
            let answer = self.answer(command).await;
            if answer.as_ref() != Ok(&command.expected) {
                return Err(differs(script, command, &answer));
            }
        }
        if let Some(letter) = self.sessions.iter().find(|(_, session)| session.is_busy()).map(|(letter, _)| letter) {
            return Err(format!("{}: {letter} is not done at the end", script.path.display()));
        }
        self.sessions.clear();
        let wrong = self.main.repair().await.map_err(|error| error.to_string())?;
        if !wrong.is_empty() {
            return Err(format!("{}: {}", script.path.display(), wrong.join("\n")));
        }
        self.main.finish().await.map_err(|error| error.to_string())
    }

    /// `A: …`, `A before claim: …`, `A after claim: …`, `A goes on`, `A is cut off`, or a command that stands alone.
    async fn answer(&mut self, command: &Command) -> Result<Vec<String>, String> {
        let Some((letter, rest)) = addressed(&command.text) else {
            return self.main.answer(command).await.map_err(|error| error.to_string());
        };
        let session = self.sessions.get_mut(&letter).ok_or("there are only A and B")?;
        match rest.trim() {
            "goes on" => session.go_on()?,
            "is cut off" => session.cut_off(&self.main).await?,
            rest => {
                let (at, text) = rest.split_once(':').ok_or("write `A: a command`")?;
                let command = Command::bare(text.trim(), command.body.clone());
                session.start(&self.main, at, command)?;
            }
        }
        match session.stand(&self.main).await? {
            Stand::Paused => Ok(vec!["paused".into()]),
            Stand::Waits => Ok(vec!["waits for a lock".into()]),
            Stand::Done => session.finish(&mut self.main).await,
        }
    }

    /// Two turns that each settle two parents; each waits behind its first lock until the other is there too.
    async fn opposite_orders(&mut self) {
        let node = |text: &str| text.to_owned();
        let graph = ["node a", "node b", "node c", "node d", "node x after a d", "node y after b c"].map(node);
        let said: [(&str, Vec<String>); 8] = [
            ("beat w1", vec![]),
            ("beat w2", vec![]),
            ("enqueue graph g", graph.to_vec()),
            ("turn w1 claim=default:2", vec![]),
            ("turn w2 claim=default:2", vec![]),
            ("A after lock_nodes: turn w1", vec![node("g/a ok"), node("g/b ok")]),
            ("B after lock_nodes: turn w2", vec![node("g/c ok"), node("g/d ok")]),
            ("A goes on", vec![]),
        ];
        for (text, body) in said {
            self.answer(&Command::bare(text, body)).await.unwrap();
        }
        for letter in ['B', 'A', 'B'] {
            if self.sessions.get(&letter).is_some_and(Session::is_busy) {
                self.answer(&Command::bare(format!("{letter} goes on"), Vec::new())).await.unwrap();
            }
        }
        assert!(!self.sessions.values().any(Session::is_busy), "both turns are over");
        let answer = self.main.answer(&Command::bare("turn w1 claim", Vec::new())).await.unwrap();
        assert_eq!(answer.len(), 2, "both children are released once: {answer:?}");
    }
}

fn addressed(text: &str) -> Option<(char, &str)> {
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_uppercase)?;
    let rest = letters.as_str();
    rest.starts_with([' ', ':']).then_some((letter, rest))
}

fn differs(script: &Script, command: &Command, answer: &Result<Vec<String>, String>) -> String {
    let mut out = format!("{}:{}: {command}\n", script.path.display(), command.line);
    match answer {
        Err(error) => out.push_str(&format!("  cannot be carried out: {error}\n")),
        Ok(lines) => {
            command.expected.iter().for_each(|line| out.push_str(&format!("    expected > {line}\n")));
            lines.iter().for_each(|line| out.push_str(&format!("         ! > {line}\n")));
        }
    }
    out
}
