//! `enqueue`, `append` and `batch`: from lines to prepared items.

use std::collections::BTreeMap;
use std::time::Duration;

use towpath_core::replay::Kept;
use towpath_core::store::{Arrival, Enqueue, Fork, ForkedFrom, Item, Parent, Placed, Start, Taken};
use towpath_core::{
    Condition, Conflict, Due, FailureMode, Fields, GraphName, GraphRetry, GraphRules, Hold, JobRules, Kind, Label,
    Need, NewAppend, NewEdge, NewGraph, NewJob, NewNode, NodeName, Payload, PreparedGraph, Queue, RetryPolicy, RunId,
    Unique, UniqueKey,
};

use crate::args::Args;
use crate::error::ScriptError;
use crate::names::Names;
use crate::run::{Answer, Runner};
use crate::span;
use crate::subject::{START, Subject};

/// An item that the core has let through, or the core's refusal.
struct Named {
    name: String,
    item: Result<Item, String>,
}

impl<S: Subject> Runner<S> {
    pub(super) async fn enqueue(&mut self, text: &str, body: &[String]) -> Answer {
        let mut named = Vec::new();
        if text == "batch" {
            for (line, nested) in blocks(body) {
                read_items(&mut self.names, line, &nested, &mut named)?;
            }
        } else {
            let line = text.strip_prefix("enqueue ").unwrap_or(text);
            read_items(&mut self.names, line, body, &mut named)?;
        }
        self.send(named).await
    }

    async fn send(&mut self, named: Vec<Named>) -> Answer {
        let (mut accepted, mut names, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for item in named {
            match item.item {
                Ok(prepared) => {
                    accepted.push(prepared);
                    names.push(item.name);
                }
                Err(problem) => {
                    // An answer is one line.
                    let problem = self.names.within(&problem).replace(":\n  ", ": ").replace("\n  ", "; ");
                    lines.push(format!("{} invalid: {problem}", item.name));
                }
            }
        }
        if accepted.is_empty() {
            return Ok(lines);
        }
        match self.subject.store().enqueue(Enqueue { items: accepted }).await {
            Err(error) => Ok(self.refused(&error)),
            Ok(reply) => {
                self.check_now(reply.now, &mut lines);
                if reply.items.len() != names.len() {
                    lines.push(format!("{} answers for {} items", reply.items.len(), names.len()));
                }
                for (name, placed) in names.iter().zip(&reply.items) {
                    lines.push(match placed {
                        Ok(Placed::Inserted) => format!("{name} inserted"),
                        Ok(Placed::Existing) => format!("{name} existing"),
                        Ok(Placed::Held(by)) => self.names.within(&format!("{name} held by {by}")),
                        Ok(Placed::Run(job)) => self.names.within(&format!("{name} is the run of job {job}")),
                        Ok(Placed::Replaced(job)) => self.names.within(&format!("{name} replaced in job {job}")),
                        Err(refusal) => format!("{name} refused: {}", self.names.within(&refusal.to_string())),
                    });
                }
                Ok(lines)
            }
        }
    }
}

/// Groups lines with the more indented ones below them.
pub(super) fn blocks(body: &[String]) -> Vec<(&str, Vec<String>)> {
    let mut blocks: Vec<(&str, Vec<String>)> = Vec::new();
    for line in body {
        match (line.strip_prefix("  "), blocks.last_mut()) {
            (Some(nested), Some((_, lines))) => lines.push(nested.to_owned()),
            _ => blocks.push((line, Vec::new())),
        }
    }
    blocks
}

fn read_items(names: &mut Names, line: &str, body: &[String], out: &mut Vec<Named>) -> Result<(), ScriptError> {
    let mut args = Args::parse(line)?;
    match args.word("job, graph, append or start")?.as_str() {
        "job" => {
            let range = args.word("a name")?;
            for name in expand(&range)? {
                let mut args = args.clone();
                let job = read_job(names, &name, &mut args)?;
                args.finish()?;
                out.push(Named { name, item: Ok(Item::job(job)) });
            }
        }
        "start" => out.push(read_start(names, args)?),
        "graph" => out.push(read_graph(names, args, body)?),
        "append" => out.push(read_append(names, args, body)?),
        other => return Err(ScriptError::new(format!("cannot enqueue {other:?}: job, graph, append or start"))),
    }
    Ok(())
}

/// `start r run=order-1 taken=refuse|join|replace signal=paid payload={"n":1} dedup=x`.
fn read_start(names: &mut Names, mut args: Args) -> Result<Named, ScriptError> {
    let name = args.word("a name")?;
    let taken = match args.text("taken")?.as_deref() {
        None | Some("join") => Taken::Join,
        Some("refuse") => Taken::Refuse,
        Some("replace") => Taken::ReplaceEnded,
        Some(other) => return Err(ScriptError::new(format!("{other:?} is none of refuse, join, replace"))),
    };
    let fork = read_fork(names, &mut args)?;
    let payload = args.read("payload", |text| Ok(read_payload(text)))?.unwrap_or_default();
    let (signal, dedup) = (args.text("signal")?, args.text("dedup")?);
    let job = read_job(names, &name, &mut args)?;
    args.finish()?;
    let signal = match (signal, &job.run) {
        (Some(signal), Some(run)) => {
            Some(Arrival { run: run.clone(), name: parsed(Label::new(&signal))?, dedup, payload })
        }
        _ => None,
    };
    Ok(Named { name, item: Ok(Item::Start(Box::new(Start { job, taken, signal, fork }))) })
}

/// `fork=r below=3 without=1,2 first={"n":1} chapter=1 at=2`: goes on from lines of the journal of the job `r`, whose run is named so too.
fn read_fork(names: &mut Names, args: &mut Args) -> Result<Option<Box<Fork>>, ScriptError> {
    let Some(of) = args.text("fork")? else { return Ok(None) };
    let (chapter, at) = (args.number("chapter")?.unwrap_or(1), args.number("at")?.unwrap_or(1));
    let (first, kept) = read_kept(args)?;
    let origin = ForkedFrom { run: parsed(RunId::new(&of))?, chapter, at };
    Ok(Some(Box::new(Fork { of: names.job(&of), origin, first, kept })))
}

/// `below=3 without=1,2 first={"n":1}`: which lines of a journal are kept, and what comes before them.
pub(super) fn read_kept(args: &mut Args) -> Result<(Payload, Kept), ScriptError> {
    let first = args.read("first", |text| Ok(read_payload(text)))?.unwrap_or_default();
    let without = match args.text("without")? {
        None => Vec::new(),
        Some(text) => text.split(',').map(parsed_number).collect::<Result<_, _>>()?,
    };
    Ok((first, Kept { below: args.number("below")?.unwrap_or(1), without }))
}

fn parsed_number(text: &str) -> Result<u32, ScriptError> {
    text.parse().map_err(|_| ScriptError::new(format!("{text:?} is no number of a line")))
}

/// `n1..3` is `n1`, `n2`, `n3`; any other name is itself.
fn expand(name: &str) -> Result<Vec<String>, ScriptError> {
    let Some((first, last)) = name.split_once("..") else { return Ok(vec![name.to_owned()]) };
    let bad = || ScriptError::new(format!("{name:?} is not a range: write such as n1..600"));
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let from: u32 = first[stem.len()..].parse().map_err(|_| bad())?;
    let to: u32 = last.parse().map_err(|_| bad())?;
    Ok((from..=to).map(|n| format!("{stem}{n}")).collect())
}

fn read_graph(names: &mut Names, mut args: Args, body: &[String]) -> Result<Named, ScriptError> {
    let name = args.word("a name")?;
    let shown = args.text("name")?.unwrap_or_else(|| name.clone());
    let rules = GraphRules {
        keep_us: args.read("keep", span::parse)?.map(whole_micros),
        keep_failed_us: args.read("keep_failed", span::parse)?.map(whole_micros),
        fail_fast: args.flag("fail_fast"),
        retry: args.read("retry", read_retry)?,
    };
    let input = args.read("input", |text| Ok(read_payload(text)))?;
    let unique = read_unique(&mut args)?;
    let parent = args.read("parent", read_parent)?;
    args.finish()?;
    let (nodes, edges) = read_nodes(names, &name, body)?;
    let graph =
        NewGraph { id: names.graph(&name), name: parsed(GraphName::new(&shown))?, rules, input, unique, nodes, edges };
    let of_parent = |graph: PreparedGraph| match parent {
        Some(parent) => graph.with_parent(parent),
        None => graph,
    };
    let item = graph.prepare().map(|g| Item::Graph(Box::new(of_parent(g)))).map_err(|e| e.to_string());
    Ok(Named { name, item })
}

/// `3,10s`: attempts and the wait between them.
fn read_retry(text: &str) -> Result<GraphRetry, ScriptError> {
    let bad = || ScriptError::new(format!("{text:?} is no policy: write such as retry=3,10s"));
    let (attempts, delay) = text.split_once(',').ok_or_else(bad)?;
    Ok(GraphRetry::new(attempts.parse().map_err(|_| bad())?, span::parse(delay)?))
}

fn read_append(names: &mut Names, mut args: Args, body: &[String]) -> Result<Named, ScriptError> {
    let name = args.word("a graph")?;
    args.finish()?;
    let (nodes, edges) = read_nodes(names, &name, body)?;
    let append = NewAppend { graph: names.graph(&name), nodes, edges };
    let item = append.prepare().map(|a| Item::Append(Box::new(a))).map_err(|e| e.to_string());
    Ok(Named { name, item })
}

pub(super) fn read_nodes(
    names: &mut Names,
    graph: &str,
    body: &[String],
) -> Result<(Vec<NewNode>, Vec<NewEdge>), ScriptError> {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for line in body {
        let mut args = Args::parse(line)?;
        if args.word("node")? != "node" {
            return Err(ScriptError::new(format!("{line:?} is not a node")));
        }
        let range = args.word("a name")?;
        let may_fail = args.flag("may_fail");
        let guards = args.text("undoes")?.map(|range| expand(&range)).transpose()?.unwrap_or_default();
        let need = args.number("need")?.map_or(Need::All, Need::AtLeast);
        let mut parents = Vec::new();
        if args.flag("after") {
            while let Some(parent) = args.word_maybe()? {
                parents.push(read_edge(&parent)?);
            }
        }
        for (at, node) in expand(&range)?.into_iter().enumerate() {
            let mut args = args.clone();
            let job = read_job(names, &format!("{graph}/{node}"), &mut args)?;
            args.finish()?;
            let name = parsed(NodeName::new(&node))?;
            for (range, condition) in &parents {
                for parent in expand(range)? {
                    let condition = condition.clone();
                    edges.push(NewEdge { parent: parsed(NodeName::new(&parent))?, child: name.clone(), condition });
                }
            }
            let failure = if may_fail { FailureMode::MayFail } else { FailureMode::Counts };
            let guards = guards.get(at).map(|name| parsed(NodeName::new(name))).transpose()?;
            nodes.push(NewNode { need, failure, guards, ..NewNode::new(name, job) });
        }
    }
    Ok((nodes, edges))
}

/// `a`, `a:failed`, `a:branch(yes)`; the parent may be a range.
fn read_edge(text: &str) -> Result<(String, Condition), ScriptError> {
    let (parent, condition) = text.split_once(':').unwrap_or((text, "succeeded"));
    let condition = match condition {
        "succeeded" => Condition::Succeeded,
        "finished" => Condition::Finished,
        "failed" => Condition::Failed,
        "joined" => Condition::Joined,
        other => match other.strip_prefix("branch(").and_then(|rest| rest.strip_suffix(')')) {
            Some(label) => Condition::Branch(parsed(Label::new(label))?),
            None => return Err(ScriptError::new(format!("{other:?} is not an edge's condition"))),
        },
    };
    Ok((parent.to_owned(), condition))
}

fn read_job(names: &mut Names, name: &str, args: &mut Args) -> Result<NewJob, ScriptError> {
    let kind = args.text("kind")?.unwrap_or_else(|| "echo".into());
    let id = args.text("id")?.unwrap_or_else(|| name.to_owned());
    let mut job = NewJob::new(names.job(&id), parsed(Kind::new(&kind))?);
    if let Some(queue) = args.text("queue")? {
        job.queue = parsed(Queue::new(&queue))?;
    }
    job.version = args.number("version")?.unwrap_or(job.version);
    job.priority = args.number("priority")?.unwrap_or(job.priority);
    job.input = args.read("input", |text| Ok(read_payload(text)))?.unwrap_or_default();
    job.due = match args.raw("due") {
        None => Due::Now,
        Some(text) if text.starts_with('+') => Due::At(span::parse_instant(&text, START)?),
        Some(text) => Due::After(span::parse(&text)?),
    };
    job.deadline = args.read("deadline", |text| span::parse_instant(text, START))?;
    job.rules = read_rules(args)?;
    job.tags = args.list("tags").unwrap_or_default();
    job.headers = read_headers(args)?;
    job.unique = read_unique(args)?;
    job.keep_id = args.read("keep_id", span::parse)?;
    job.run = args.text("run")?.map(|id| parsed(RunId::new(&id))).transpose()?;
    Ok(job)
}

/// `unique=key hold=started|ended|5s conflict=reject|return|replace:input,due|debounce|debounce:10s`.
fn read_unique(args: &mut Args) -> Result<Option<Box<Unique>>, ScriptError> {
    let Some(key) = args.text("unique")? else { return Ok(None) };
    let mut unique = Unique::new(parsed(UniqueKey::new(&key))?);
    unique.hold = match args.text("hold")?.as_deref() {
        None | Some("ended") => Hold::Ended,
        Some("started") => Hold::Started,
        Some(window) => Hold::For(span::parse(window)?),
    };
    unique.conflict = match args.text("conflict")?.as_deref() {
        None | Some("return") => Conflict::ReturnExisting,
        Some("reject") => Conflict::Reject,
        Some("debounce") => Conflict::Debounce { at_most: None },
        Some(text) => match text.split_once(':') {
            Some(("debounce", at_most)) => Conflict::Debounce { at_most: Some(span::parse(at_most)?) },
            Some(("replace", fields)) => Conflict::Replace(read_fields(fields)?),
            _ => return Err(ScriptError::new(format!("{text:?} is no conflict policy"))),
        },
    };
    Ok(Some(Box::new(unique)))
}

fn read_fields(text: &str) -> Result<Fields, ScriptError> {
    let mut fields = Fields::default();
    for name in text.split(',') {
        fields = fields.with(match name {
            "all" => Fields::ALL,
            "input" => Fields::INPUT,
            "queue" => Fields::QUEUE,
            "priority" => Fields::PRIORITY,
            "due" => Fields::DUE,
            "deadline" => Fields::DEADLINE,
            "rules" => Fields::RULES,
            "tags" => Fields::TAGS,
            "headers" => Fields::HEADERS,
            other => return Err(ScriptError::new(format!("{other:?} is no field of a job"))),
        });
    }
    Ok(fields)
}

fn read_headers(args: &mut Args) -> Result<BTreeMap<String, String>, ScriptError> {
    let pairs = args.list("headers").unwrap_or_default();
    let pairs = pairs.iter().map(|pair| match pair.split_once(':') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(ScriptError::new(format!("{pair:?} is not a header: write key:value"))),
    });
    pairs.collect()
}

/// Rules of a script's job have no jitter, so that its instants can be read.
fn read_rules(args: &mut Args) -> Result<JobRules, ScriptError> {
    let mut rules = JobRules::default();
    let plain = rules.retry;
    let still = RetryPolicy { jitter_percent: 0, ..plain };
    if let Some(attempts_max) = args.number("attempts")? {
        rules.retry = RetryPolicy { attempts_max, ..still };
    }
    if let Some(base) = args.read("base", span::parse)? {
        rules.retry = RetryPolicy { base_us: whole_micros(base), jitter_percent: 0, ..rules.retry };
    }
    if let Some(cap) = args.read("cap", span::parse)? {
        rules.retry = RetryPolicy { cap_us: whole_micros(cap), jitter_percent: 0, ..rules.retry };
    }
    rules.timeout_us = args.read("timeout", span::parse)?.map(whole_micros);
    rules.crash_limit = args.number("crash_limit")?.unwrap_or(rules.crash_limit);
    rules.keep_us = args.read("keep", span::parse)?.map(whole_micros);
    rules.keep_failed_us = args.read("keep_failed", span::parse)?.map(whole_micros);
    for label in args.list("labels").unwrap_or_default() {
        rules.labels.push(parsed(Label::new(&label))?);
    }
    rules.parent = args.read("parent", read_parent)?;
    Ok(rules)
}

/// `order-1` has started it and left it alone; `order-1:3` waits for it at the place 3.
fn read_parent(text: &str) -> Result<Parent, ScriptError> {
    let (run, place) = text.split_once(':').map_or((text, None), |(run, place)| (run, Some(place)));
    let bad = |_| ScriptError::new(format!("{text:?} is no parent: write such as order-1:3"));
    let place = place.map(|place| place.parse::<u32>().map_err(bad)).transpose()?;
    Ok(Parent { run: parsed(RunId::new(run))?, awaits: place.map(|place| Parent::label(1, place)) })
}

/// JSON text as it stands; `raw:text` is raw bytes, `big:N` JSON text of N bytes.
pub(super) fn read_payload(text: &str) -> Payload {
    if let Some(bytes) = text.strip_prefix("raw:") {
        return Payload::raw(bytes.as_bytes().to_vec());
    }
    match text.strip_prefix("big:").and_then(|n| n.parse().ok()) {
        Some(bytes) => Payload::json_bytes(vec![b'1'; bytes]),
        None => Payload::json_bytes(text.as_bytes().to_vec()),
    }
}

fn whole_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A core's refusal of a name is a mistake in the script.
pub(super) fn parsed<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, ScriptError> {
    result.map_err(|e| ScriptError::new(e.to_string()))
}
