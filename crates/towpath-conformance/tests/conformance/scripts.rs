//! Runs the scripts unchanged on each store and reports every answer that differs.

use std::path::{Path, PathBuf};

use towpath_conformance::{Command, MemorySubject, Runner, Script, Subject, find, rewrite};

/// Fewer scripts than this means that they were not found.
const SCRIPTS_MIN: usize = 100;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// Whether the store's process dies between commands.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Crashes {
    Never,
    Always,
    /// Before every other command: the even ones of a script, the odd ones of the next.
    EveryOther,
}

/// Runs each script on a subject of its own; panics with all mismatches.
pub(crate) async fn run_all<S: Subject>(crashes: Crashes, new: impl AsyncFn(usize) -> S) {
    #[cfg(all(feature = "postgres", feature = "sqlite"))]
    crate::faults::put_back_what_is_asked();
    let only = std::env::var("TOWPATH_SCRIPT").unwrap_or_default();
    let scripts: Vec<Script> = find(&folder()).unwrap();
    assert!(scripts.len() >= SCRIPTS_MIN, "found only {} scripts below {}", scripts.len(), folder().display());
    let mut report = Vec::new();
    for (number, script) in scripts.iter().enumerate() {
        if script.path.to_string_lossy().contains(&only) {
            let runner = Runner::new(new(number).await).await.unwrap();
            report.extend(run_one(runner, script, crashes, number % 2).await);
        }
    }
    assert!(report.is_empty(), "{} scripts differ\n\n{}", report.len(), report.join("\n"));
}

async fn run_one<S: Subject>(mut runner: Runner<S>, script: &Script, crashes: Crashes, first: usize) -> Option<String> {
    for (at, command) in script.commands.iter().enumerate() {
        if crashes == Crashes::Always || crashes == Crashes::EveryOther && at % 2 == first {
            runner.crash().await.unwrap();
        }
        if let Err(mismatch) = runner.check(script, command).await {
            return Some(mismatch.to_string());
        }
    }
    let wrong = runner.repair().await.unwrap();
    runner.finish().await.unwrap();
    (!wrong.is_empty()).then(|| format!("{}: {}", script.path.display(), wrong.join("\n")))
}

async fn update() {
    for script in find(&folder()).unwrap() {
        let mut runner = Runner::new(MemorySubject::new()).await.unwrap();
        let mut answers = Vec::new();
        for command in &script.commands {
            let answer = runner.answer(command).await;
            answers.push(answer.unwrap_or_else(|e| panic!("{}:{}: {e}", script.path.display(), command.line)));
        }
        rewrite(&folder(), &script, &answers).unwrap();
    }
}

#[tokio::test]
async fn scripts_hold_in_memory() {
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        update().await;
    }
    run_all(Crashes::Never, async |_| MemorySubject::new()).await;
}

#[tokio::test]
async fn a_wrong_expectation_fails_and_says_where() {
    let text = "# Why: the runner must be able to fail\n\nbeat w1\nenqueue job a\n> a existing\n";
    let script = Script::parse(Path::new("red.txt"), text).unwrap();
    let mut runner = Runner::new(MemorySubject::new()).await.unwrap();
    let mismatch = runner.run(&script).await.unwrap_err().to_string();
    assert!(mismatch.starts_with("red.txt:4: enqueue job a\n"), "{mismatch}");
    assert!(mismatch.contains("! > a existing") && mismatch.contains("! > a inserted"), "{mismatch}");
}

#[tokio::test]
async fn a_counter_that_is_wrong_at_the_end_of_a_script_fails_it() {
    let text =
        "# Why: a sweeper must find nothing\n\nbeat w1\nenqueue graph g\n  node a\n  node b after a\n> g inserted\n";
    for (more, is_wrong) in [("", false), ("corrupt g/b left=+1\n", true)] {
        let script = Script::parse(Path::new("red.txt"), &format!("{text}{more}")).unwrap();
        let runner = Runner::new(MemorySubject::new()).await.unwrap();
        let found = run_one(runner, &script, Crashes::Never, 0).await;
        assert_eq!(found.is_some(), is_wrong, "{found:?}");
    }
}

#[tokio::test]
async fn a_missing_expectation_fails_too() {
    let script = Script::parse(Path::new("red.txt"), "# Why: silence is an answer\nenqueue job a\n").unwrap();
    let mut runner = Runner::new(MemorySubject::new()).await.unwrap();
    assert!(runner.run(&script).await.is_err());
}

#[tokio::test]
async fn a_misspelt_command_or_option_is_no_answer() {
    let mut runner = Runner::new(MemorySubject::new()).await.unwrap();
    for text in ["enqeue job a", "enqueue job a quue=mail", "turn", "clock 5", "mark w1 a@old", "jobs state=done"] {
        let answer = runner.answer(&Command::bare(text, Vec::new())).await;
        assert!(answer.is_err(), "{text}: {answer:?}");
    }
}
