//! One process of an interleaving: a store with a gate in it, and the command that it carries out.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use towpath_conformance::{Command, PostgresSubject, Runner, ScriptError};
use towpath_postgres::{Moment, Pause};

/// A process, and what it is at.
pub(super) struct Session {
    /// The server knows it by this name.
    name: String,
    gate: Arc<Gate>,
    runner: Option<Runner<PostgresSubject>>,
    work: Option<JoinHandle<Done>>,
    worker: Option<String>,
    is_one_verb: bool,
    /// Whether it was seen where it was told to stop.
    is_paused: bool,
}

type Done = (Runner<PostgresSubject>, Result<Vec<String>, ScriptError>);

/// Where a command is.
pub(super) enum Stand {
    /// Between two statements, where it was told to stop.
    Paused,
    /// Behind another's lock.
    Waits,
    /// At its end.
    Done,
}

/// Where to stop once, and the way on.
#[derive(Default)]
struct Gate {
    stop_at: Mutex<Option<(Moment, String)>>,
    is_reached: Mutex<bool>,
    opened: Notify,
    begun: AtomicU32,
}

/// Looks at the server between two of these.
const LOOK_EVERY: Duration = Duration::from_millis(4);
/// A wait that is seen so often in a row is one.
const SEEN: u32 = 3;
/// More looks than this: it neither ends nor waits.
const LOOKS_MAX: u32 = 2_500;

impl Session {
    pub(super) async fn new(subject: &PostgresSubject, letter: char) -> Self {
        let name = format!("{}_{letter}", subject.schema());
        let subject = subject.beside(&name).unwrap();
        let gate = Arc::new(Gate::default());
        let pause: Pause = {
            let gate = Arc::clone(&gate);
            Arc::new(move |moment, name| {
                let gate = Arc::clone(&gate);
                Box::pin(async move { gate.pass(moment, name).await })
            })
        };
        let runner = Runner::new(subject).await.unwrap();
        runner.subject().postgres().pause_with(pause);
        Self { name, gate, runner: Some(runner), work: None, worker: None, is_one_verb: true, is_paused: false }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// Starts a command, to be stopped at a statement or not: `before claim`, `after claim`, or nothing.
    pub(super) fn start(&mut self, main: &Runner<PostgresSubject>, at: &str, command: Command) -> Result<(), String> {
        let stop_at = match at.trim().split_once(' ') {
            None if at.trim().is_empty() => None,
            Some(("before", name)) => Some((Moment::Before, name.to_owned())),
            Some(("after", name)) => Some((Moment::After, name.to_owned())),
            _ => return Err(format!("{at:?} is not `before` or `after` a statement")),
        };
        let mut runner = self.runner.take().ok_or("it is at something already")?;
        runner.learn(main, None);
        let mut words = command.text.split(' ');
        let is_workers = ["beat", "leave", "turn", "repeat", "mark", "rescue"].contains(&words.next().unwrap_or(""));
        self.worker = words.next().filter(|_| is_workers).map(str::to_owned);
        self.is_one_verb = !command.text.starts_with("cancel graph") && command.text != "prune all";
        *self.gate.stop_at.lock().unwrap() = stop_at;
        self.gate.begun.store(0, Ordering::SeqCst);
        self.work = Some(tokio::spawn(async move {
            let answer = runner.answer(&command).await;
            (runner, answer)
        }));
        Ok(())
    }

    pub(super) fn go_on(&mut self) -> Result<(), String> {
        if self.work.is_none() {
            return Err("it is at nothing".into());
        }
        // One that was seen to wait goes on by itself, and may have come to where it stops meanwhile.
        if std::mem::take(&mut self.is_paused) {
            *self.gate.is_reached.lock().unwrap() = false;
            self.gate.opened.notify_one();
        }
        Ok(())
    }

    /// The server ends its connections, as if its process had died.
    pub(super) async fn cut_off(&mut self, main: &Runner<PostgresSubject>) -> Result<(), String> {
        let text = format!(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = '{}'",
            self.name
        );
        main.subject().postgres().ask(text).await.map_err(|error| error.to_string())?;
        self.go_on()
    }

    /// Waits until it is done, stopped, or seen to wait for a lock.
    pub(super) async fn stand(&mut self, main: &Runner<PostgresSubject>) -> Result<Stand, String> {
        let mut seen = 0;
        for _ in 0..LOOKS_MAX {
            if self.work.as_ref().is_none_or(JoinHandle::is_finished) {
                return Ok(Stand::Done);
            }
            if *self.gate.is_reached.lock().unwrap() {
                self.is_paused = true;
                return Ok(Stand::Paused);
            }
            let text = format!(
                "select count(*) from pg_stat_activity where application_name = '{}' and cardinality(pg_blocking_pids(pid)) > 0",
                self.name
            );
            let waits = main.subject().postgres().ask(text).await.map_err(|error| error.to_string())?;
            seen = if waits.as_deref() == Some("0") { 0 } else { seen + 1 };
            if seen == SEEN {
                return Ok(Stand::Waits);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err("it neither ends nor waits".into())
    }

    /// The answer of a command that is done. A verb that was carried out more than once says so.
    pub(super) async fn finish(&mut self, main: &mut Runner<PostgresSubject>) -> Result<Vec<String>, String> {
        let work = self.work.take().ok_or("it is at nothing")?;
        let (runner, answer) = work.await.map_err(|error| error.to_string())?;
        main.learn(&runner, Some(self.worker.as_deref().unwrap_or("")));
        self.runner = Some(runner);
        let missed = self.gate.stop_at.lock().unwrap().take();
        let answer = answer.map_err(|error| error.to_string())?;
        let mut lines: Vec<String> = answer.iter().map(|line| main.in_words(line)).collect();
        for line in lines.iter_mut().filter(|line| line.starts_with("refused Unavailable")) {
            "is cut off".clone_into(line);
        }
        if self.is_one_verb && self.gate.begun.load(Ordering::SeqCst) > 1 {
            lines.push("replayed".into());
        }
        if let Some((moment, name)) = missed {
            lines.push(format!("was never {moment:?} {name}").to_lowercase());
        }
        Ok(lines)
    }
}

impl Gate {
    async fn pass(&self, moment: Moment, name: &str) {
        if (moment, name) == (Moment::Before, "begin") {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        let is_here = {
            let mut stop_at = self.stop_at.lock().unwrap();
            stop_at.take_if(|(at, statement)| (*at, statement.as_str()) == (moment, name)).is_some()
        };
        if is_here {
            *self.is_reached.lock().unwrap() = true;
            self.opened.notified().await;
        }
    }
}
