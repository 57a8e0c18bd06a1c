//! `--follow`: what becomes of a job, a run or a graph, a line for each change as it comes, until it has ended.
//!
//! The store is asked whether anything was written, twice a second; only then is the thing itself looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use towpath::core::replay::Entry;
use towpath::core::store::{AttemptLine, GraphDetail, JobDetail, NodeLine, RunLine};
use towpath::core::{Role, State};
use towpath::{Client, End, GraphId, JobId};

use super::journal;
use crate::error::CliError;
use crate::{exit, say, words};

/// How often the store is asked whether anything has changed.
const LOOK: Duration = Duration::from_millis(500);
/// Lines of a journal that are read at once.
const LINES: u32 = 1_000;

/// Follows a job, or the run that it is; answers the exit code that says how it ended.
pub(super) async fn job(client: &Client, job: JobId, as_json: bool) -> Result<u8, CliError> {
    let mut told = ToldOfJob::default();
    let mut watch = Watch::new(client);
    loop {
        let Some(detail) = client.inspect().job(job).await? else {
            return gone(&format!("job {job}"));
        };
        let attempts = client.inspect().attempts(job).await?;
        let mut news = told.attempts(&attempts);
        if let Some(run) = &detail.run {
            news.extend(told.journal(client, &detail, run).await?);
        }
        news.extend(told.state(&detail));
        news.iter().try_for_each(|news| news.tell(as_json))?;
        if let State::Ended(end) = detail.line.state {
            return Ok(code(end));
        }
        watch.changed().await;
    }
}

/// Follows a graph; answers the exit code that says how it ended.
pub(super) async fn graph(client: &Client, graph: GraphId, as_json: bool) -> Result<u8, CliError> {
    let mut told = BTreeMap::new();
    let mut watch = Watch::new(client);
    loop {
        let Some(detail) = client.inspect().graph(graph).await? else {
            return gone(&format!("graph {graph}"));
        };
        let width = detail.nodes.iter().map(|node| node.name.as_str().chars().count()).max().unwrap_or(0).min(32);
        for node in &detail.nodes {
            let stands = (node.state, node.counters.attempt, detail.line.generation);
            let before = told.insert(node.job, stands);
            // What only waits is news to nobody, until it has been more than that.
            let is_news = before != Some(stands) && (before.is_some() || node.state != State::Waiting);
            if is_news && !is_passed_over(node) {
                of_node(&detail, node, width).tell(as_json)?;
            }
        }
        if let Some(end) = detail.line.end {
            News::new(format!("{} {end}", detail.line.name), json!({ "graph": graph, "end": end })).tell(as_json)?;
            return Ok(exit::of(end));
        }
        watch.changed().await;
    }
}

/// An undo that was not needed is nothing to tell of.
fn is_passed_over(node: &NodeLine) -> bool {
    node.guards.is_some() && matches!(node.state, State::Ended(End::Skipped(_)))
}

fn gone(what: &str) -> Result<u8, CliError> {
    say::remark(format_args!("{what} has been deleted"));
    Ok(exit::FAILED)
}

fn code(end: End) -> u8 {
    match end {
        End::Succeeded | End::Skipped(_) => exit::SUCCEEDED,
        End::Cancelled => exit::CANCELLED,
        End::Dead | End::Quarantined => exit::FAILED,
    }
}

/// Something that has happened.
struct News {
    text: String,
    json: Value,
}

impl News {
    fn new(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json }
    }

    fn tell(&self, as_json: bool) -> Result<(), CliError> {
        if as_json {
            let line = serde_json::to_string(&self.json).map_err(|e| CliError::failed("write JSON", e))?;
            say::line(line);
        } else {
            say::line(format_args!("{} {}", words::time_of_day(), self.text));
        }
        Ok(())
    }
}

/// What has been told of a job.
#[derive(Default)]
struct ToldOfJob {
    state: Option<String>,
    attempts: usize,
    /// The chapter of a run, and how many of its lines.
    journal: (u32, u32),
}

impl ToldOfJob {
    fn attempts(&mut self, attempts: &[AttemptLine]) -> Vec<News> {
        let new = attempts.iter().skip(self.attempts).map(|attempt| {
            let took = words::duration(attempt.ended_at.since(attempt.started_at));
            let error = attempt.error.as_deref().map_or_else(String::new, |error| format!(": {}", first_line(error)));
            let (number, outcome) = (attempt.attempt, attempt.outcome.word());
            News::new(
                format!("attempt {number} {outcome} after {took}{error}"),
                json!({ "attempt": number, "outcome": outcome, "ended_at": words::instant(attempt.ended_at), "error": attempt.error }),
            )
        });
        let new: Vec<_> = new.collect();
        self.attempts = attempts.len().max(self.attempts);
        new
    }

    async fn journal(&mut self, client: &Client, detail: &JobDetail, run: &RunLine) -> Result<Vec<News>, CliError> {
        if self.journal.0 != run.chapter {
            self.journal = (run.chapter, 0);
        }
        let mut news = Vec::new();
        loop {
            let lines = client.store().entries(detail.line.id, run.chapter, self.journal.1, LINES).await?;
            for line in &lines {
                let text = match Entry::read(line) {
                    Ok(entry) => journal::in_words(&entry),
                    Err(_) => "a line of a newer release".to_owned(),
                };
                let json = json!({ "chapter": run.chapter, "line": line.seq, "says": text });
                news.push(News::new(format!("  {text}"), json));
            }
            self.journal.1 += u32::try_from(lines.len()).unwrap_or(LINES);
            if lines.len() < LINES as usize {
                return Ok(news);
            }
        }
    }

    fn state(&mut self, detail: &JobDetail) -> Option<News> {
        let line = &detail.line;
        let word = line.word(words::here_and_now());
        let told = format!("{word} {}", line.counters.attempt);
        if self.state.replace(told.clone()) == Some(told) {
            return None;
        }
        let until = line.due.filter(|_| line.state == State::Ready && word != "ready");
        let until = until.map_or_else(String::new, |due| format!(" until {}", words::instant(due)));
        let why = detail.cause.as_ref().map(ToString::to_string).or_else(|| detail.blocked.clone());
        let why = why.map_or_else(String::new, |why| format!(": {}", first_line(&why)));
        let json = json!({ "job": line.id, "state": word, "attempt": line.counters.attempt, "at": words::instant(words::here_and_now()) });
        Some(News::new(format!("{word}{until}{why}"), json))
    }
}

fn of_node(detail: &GraphDetail, node: &NodeLine, width: usize) -> News {
    let word = node.word(words::here_and_now());
    let tries = if node.counters.attempt > 1 { format!(", attempt {}", node.counters.attempt) } else { String::new() };
    let took = match (node.started_at, node.ended_at) {
        (Some(from), Some(to)) => words::duration(to.since(from)),
        _ => String::new(),
    };
    let why = node.cause.as_ref().map(|cause| detail.in_words(&node.name, cause)).unwrap_or_default();
    let role = if node.role.has(Role::GATE) { "gate " } else { "" };
    let text = format!("{:<width$}  {role}{word:<11} {took:>6}{tries}  {why}", node.name.as_str());
    let json = json!({
        "node": node.name, "job": node.job, "state": word, "attempt": node.counters.attempt, "at": words::instant(words::here_and_now()),
    });
    News::new(text.trim_end(), json)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Waits for something to be written.
struct Watch<'c> {
    client: &'c Client,
    seen: Option<u64>,
}

impl<'c> Watch<'c> {
    fn new(client: &'c Client) -> Self {
        Self { client, seen: None }
    }

    /// Returns once something may have been written since the last call; the first time, after one look.
    async fn changed(&mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            // A store that does not answer may have changed: who looks then says what is wrong with it.
            let now = self.client.inspect().revision().await.ok();
            if now.is_none() || self.seen != now {
                self.seen = now;
                return;
            }
        }
    }
}
