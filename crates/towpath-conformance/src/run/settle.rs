//! The lines within a turn: what a handler reports, and what the core makes of it.

use std::time::Duration;

use towpath_core::store::{Closing, Counters, Durability, Ending, Head, Move, Settle, Showing, Undecided};
use towpath_core::{
    End, Fence, GraphEnd, Label, NewAppend, Payload, PreparedAppend, Report, Retry, RunCommit, Timestamp,
    settle_decision, settle_report, settle_rescued, settle_run,
};

use crate::args::Args;
use crate::error::ScriptError;
use crate::names::Names;
use crate::run::WorkerBook;
use crate::run::enqueue::{blocks, parsed, read_nodes, read_payload};
use crate::span;

/// Something under a worker's claim.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    /// A job for its handler.
    Job(Box<Head>),
    /// A job that came for a decision.
    Decision(Box<Undecided>),
    /// A job of a dead worker.
    Rescued(Box<Head>),
}

impl Held {
    /// The claim.
    pub(crate) fn fence(&self) -> Fence {
        match self {
            Self::Job(head) | Self::Rescued(head) => head.fence,
            Self::Decision(undecided) => undecided.fence,
        }
    }
}

/// What a turn settles: the job's name beside it.
pub(super) fn read_settles(
    names: &mut Names,
    book: &WorkerBook,
    body: &[String],
    now: Timestamp,
) -> Result<Vec<(String, Settle)>, ScriptError> {
    let mut out: Vec<(String, Settle)> = Vec::new();
    for (line, nested) in blocks(body) {
        match line {
            "decide" => out.extend(all(book, now, |held| matches!(held, Held::Decision(_)))),
            "crashed" => out.extend(all(book, now, |held| matches!(held, Held::Rescued(_)))),
            "ok" => {
                let jobs = book.holds().filter(|(_, held)| matches!(held, Held::Job(_)));
                out.extend(jobs.map(|(name, held)| (name.to_owned(), plain_success(held))));
            }
            _ => {
                let mut args = Args::parse(line)?;
                let name = args.word("a job")?;
                let Some(held) = book.held.get(&name) else {
                    return Err(ScriptError::new(format!("the worker never held {name}")));
                };
                let nodes = read_appended(names, &name, &nested)?;
                let mut settle = read_settle(held, &mut args, now, nodes)?;
                settle.journal = args.read("journal", read_journal)?.unwrap_or_default();
                settle.shows = read_shows(&mut args)?;
                settle.read = args.number("read")?;
                args.finish()?;
                out.push((name, settle));
            }
        }
    }
    Ok(out)
}

/// Everything held of one sort, settled as the core says.
fn all<'a>(
    book: &'a WorkerBook,
    now: Timestamp,
    which: impl Fn(&Held) -> bool + 'a,
) -> impl Iterator<Item = (String, Settle)> + 'a {
    book.holds().filter(move |(_, held)| which(held)).map(move |(name, held)| {
        let settle = match held {
            Held::Decision(undecided) => settle_decision(undecided),
            Held::Job(head) | Held::Rescued(head) => settle_rescued(head, now),
        };
        (name.to_owned(), settle)
    })
}

fn plain_success(held: &Held) -> Settle {
    match held {
        Held::Job(head) | Held::Rescued(head) => {
            settle_report(head, Report::Succeeded { output: None, branches: Vec::new() })
        }
        // No core says so: a store must refuse it where it is out of place.
        Held::Decision(undecided) => {
            raw(undecided.fence, Move::End(Ending::plain(End::Succeeded, None, Duration::ZERO, Counters::default())))
        }
    }
}

fn raw(fence: Fence, then: Move) -> Settle {
    Settle::new(fence, then, Durability::Lazy)
}

/// What a node adds to its graph, from the lines below its outcome.
fn read_appended(names: &mut Names, job: &str, nested: &[String]) -> Result<Option<PreparedAppend>, ScriptError> {
    if nested.is_empty() {
        return Ok(None);
    }
    let graph = job.split_once('/').map_or(job, |(graph, _)| graph);
    let (nodes, edges) = read_nodes(names, graph, nested)?;
    Ok(Some(parsed(NewAppend { graph: names.graph(graph), nodes, edges }.prepare())?))
}

fn read_settle(
    held: &Held,
    args: &mut Args,
    now: Timestamp,
    nodes: Option<PreparedAppend>,
) -> Result<Settle, ScriptError> {
    let word = args.word("a report")?;
    match (word.as_str(), held) {
        ("decide", Held::Decision(undecided)) => return Ok(settle_decision(undecided)),
        ("crashed", Held::Rescued(head) | Held::Job(head)) => return Ok(settle_rescued(head, now)),
        ("close", held) => {
            let closing = Closing { end: GraphEnd::Succeeded, counts: Vec::new(), keep: Duration::ZERO, tells: None };
            return Ok(raw(held.fence(), Move::Close(closing)));
        }
        ("stay", Held::Job(head)) => {
            return Ok(settle_run(head, RunCommit::default()));
        }
        ("stay", held) => return Ok(Settle::stay(held.fence(), Vec::new())),
        ("ok", Held::Decision(_)) => return Ok(plain_success(held)),
        ("again", Held::Decision(undecided)) => {
            let again = Move::Again { after: Duration::ZERO, counters: undecided.counters, record: None };
            return Ok(raw(undecided.fence, again));
        }
        _ => {}
    }
    match held {
        Held::Job(head) | Held::Rescued(head) => {
            let report = read_report(&word, args)?;
            Ok(settle_report(
                head,
                match nodes {
                    Some(nodes) => Report::Appended { report: Box::new(report), nodes: Box::new(nodes) },
                    None => report,
                },
            ))
        }
        Held::Decision(_) => Err(ScriptError::new(format!("{word:?} is no decision"))),
    }
}

fn read_report(word: &str, args: &mut Args) -> Result<Report, ScriptError> {
    Ok(match word {
        "ok" => {
            let output = args.read("output", |text| Ok(read_payload(text)))?;
            let branches = args.list("branches").unwrap_or_default();
            let branches = branches.iter().map(|label| parsed(Label::new(label))).collect::<Result<_, _>>()?;
            Report::Succeeded { output, branches }
        }
        "fail" => {
            let retry = match args.raw("retry").as_deref() {
                None => Retry::ByPolicy,
                Some("never") => Retry::Never,
                Some(text) => Retry::After(span::parse(text)?),
            };
            Report::Failed { error: args.word("an error")?, retry, log: args.text("log")? }
        }
        "panic" => Report::Panicked { error: args.word("an error")? },
        "timeout" => Report::TimedOut { log: args.text("log")? },
        "overdue" => Report::Overdue,
        "snooze" => Report::Snoozed { wait: span::parse(&args.word("a duration")?)? },
        // Its numbers are the store's: the runner looks them up.
        "renew" => Report::Renewed {
            first: read_payload(&args.word("the first line")?),
            taken: (1..=args.number("taken")?.unwrap_or(0)).map(|at: i64| -at).collect(),
        },
        "park" => Report::Parked { until: args.word_maybe()?.map(|text| span::parse(&text)).transpose()? },
        "hold" => Report::Held,
        "revoke" => Report::Revoked { reason: args.word("a reason")? },
        "skip" => Report::Skipped { reason: args.word("a reason")? },
        "stop" => Report::Stopped,
        "hand-back" => Report::HandedBack,
        "block" => Report::Undecodable {
            problem: args.word("a problem")?,
            build: args.number("build")?.unwrap_or(super::work::BUILD),
        },
        other => return Err(ScriptError::new(format!("{other:?} is no report of a handler"))),
    })
}

/// `publish={"at":3}`, `answer=u1:7`, `lines=log:[1,2]`.
fn read_shows(args: &mut Args) -> Result<Vec<Showing>, ScriptError> {
    let showing = |name: &str, text: &str| Showing::value(name, read_payload(text));
    let lines = match args.raw("lines") {
        None => Vec::new(),
        Some(text) => match text.split_once(':') {
            Some((name, lines)) => read_journal(lines)?.into_iter().map(|line| Showing::line(name, line)).collect(),
            None => return Err(ScriptError::new(format!("{text:?} are no lines: say lines=STREAM:[VALUE,VALUE]"))),
        },
    };
    let published = args.raw("publish").map(|text| showing(Showing::PUBLISHED, &text));
    let answer = match args.raw("answer") {
        None => None,
        Some(text) => match text.split_once(':') {
            Some((name, answer)) => Some(showing(name, answer)),
            None => return Err(ScriptError::new(format!("{text:?} is no answer: say answer=UPDATE:VALUE"))),
        },
    };
    Ok(published.into_iter().chain(answer).chain(lines).collect())
}

/// `[1,{"n":2}]` is two entries; anything else is one.
fn read_journal(text: &str) -> Result<Vec<Payload>, ScriptError> {
    if !text.starts_with('[') {
        return Ok(vec![read_payload(text)]);
    }
    let entries: Vec<serde_json::Value> =
        serde_json::from_str(text).map_err(|e| ScriptError::new(format!("{text} is no list of entries: {e}")))?;
    Ok(entries.iter().map(|entry| Payload::json_bytes(entry.to_string())).collect())
}
