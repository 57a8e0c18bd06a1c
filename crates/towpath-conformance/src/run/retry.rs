//! `requeue` and `retry`: what an operator does about work that ended badly.

use std::time::Duration;

use towpath_core::store::{Change, Enqueue, Item, Order, Placed};
use towpath_core::{
    End, GraphId, NodeName, Requeue, RetryMode, RetryView, Retrying, begin_retry, check_undone, end_retry, limits,
    plan_retry, rearm, requeue_job, restart,
};

use crate::args::Args;
use crate::error::ScriptError;
use crate::run::enqueue::{parsed, read_kept, read_payload};
use crate::run::{Answer, Runner};
use crate::span;
use crate::subject::Subject;

/// Looks at a graph that one retry takes at most.
const LOOKS_MAX: usize = 100;

impl<S: Subject> Runner<S> {
    /// `requeue a`, `requeue a even succeeded input=2`.
    pub(super) async fn requeue(&mut self, mut args: Args) -> Answer {
        let name = args.word("a job")?;
        let which = if args.flag("even") && args.flag("succeeded") { Requeue::EvenSucceeded } else { Requeue::Failed };
        let input = args.read("input", |text| Ok(read_payload(text)))?;
        let (actor, reason) = who(&mut args)?;
        args.finish()?;
        let job = self.names.job(&name);
        self.apply(requeue_job(job, which, input, &actor, &reason), &[name]).await
    }

    /// `rewind r below=3 without=1 first=0 chapter=1`, `rewind r even succeeded`: lets a run that has ended go on from lines of its
    /// journal.
    pub(super) async fn rewind(&mut self, mut args: Args) -> Answer {
        let name = args.word("a run's job")?;
        let even = args.flag("even") && args.flag("succeeded");
        let chapter = args.number("chapter")?.unwrap_or(1);
        let (first, kept) = read_kept(&mut args)?;
        let (actor, reason) = who(&mut args)?;
        args.finish()?;
        let from = End::ALL.into_iter().filter(|end| even || *end != End::Succeeded).collect();
        let change = Change::RetryRun { job: self.names.job(&name), from, chapter, first, kept };
        self.apply(Order { actor, reason, changes: vec![change] }, &[name]).await
    }

    /// `retry g`, `retry g from a`, `retry g all`: the whole plan, as a client carries it out. `retry g looks=0` only begins it,
    /// `retry g even incomplete` asks also where an undo is dead.
    pub(super) async fn retry(&mut self, mut args: Args) -> Answer {
        let graph = args.word("a graph")?;
        let mode = read_mode(&mut args)?;
        let looks = args.number("looks")?.unwrap_or(LOOKS_MAX);
        let accepts = args.flag("even") && args.flag("incomplete");
        let (actor, reason) = who(&mut args)?;
        args.finish()?;
        let id = self.names.graph(&graph);
        let Some(shape) = self.retry_view(id).await? else { return Ok(vec![format!("{graph} unknown")]) };
        if shape.retrying.is_none() {
            let checked = if accepts { Ok(()) } else { check_undone(&shape) };
            match checked.and_then(|()| plan_retry(&shape, &mode, None)) {
                Ok(plan) if plan.is_empty() => return Ok(vec![format!("{graph} has nothing to retry")]),
                Ok(_) => {}
                Err(refusal) => return Ok(vec![format!("{graph} is not retried: {refusal}")]),
            }
        }
        let mut lines = self.apply(begin_retry(id, mode, None, &actor, &reason), std::slice::from_ref(&graph)).await?;
        for _ in 0..looks {
            let Some(shape) = self.retry_view(id).await? else { break };
            let Some(Retrying { mode, since }) = &shape.retrying else { break };
            let generation = shape.generation;
            let plan = match plan_retry(&shape, mode, Some(*since)) {
                Ok(plan) => plan,
                Err(refusal) => {
                    lines.push(format!("{graph} is not retried: {refusal}"));
                    break;
                }
            };
            if plan.nodes.is_empty() {
                lines.extend(
                    self.apply(end_retry(id, generation, &actor, &reason), std::slice::from_ref(&graph)).await?,
                );
                break;
            }
            for order in rearm(id, generation, &plan, &actor, &reason) {
                lines.extend(self.apply(order, std::slice::from_ref(&graph)).await?);
            }
        }
        Ok(lines)
    }

    /// `restart g as h by=ann reason=…`: the content of a graph, enqueued once more under another id.
    pub(super) async fn restart(&mut self, mut args: Args) -> Answer {
        let old = args.word("a graph")?;
        args.flag("as");
        let new = args.word("the name of the new graph")?;
        let (actor, reason) = who(&mut args)?;
        args.finish()?;
        let (of, id) = (self.names.graph(&old), self.names.graph(&new));
        let content = match self.subject.store().content(of).await {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(vec![format!("{old} unknown")]),
            Err(error) => return Ok(self.refused(&error)),
        };
        let graph = restart(content, id, &actor, &reason).map_err(|e| ScriptError::new(e.to_string()))?;
        for node in graph.nodes() {
            self.names.tell(node.job.id, &format!("{new}/{}", node.name));
        }
        let answer = self.subject.store().enqueue(Enqueue { items: vec![Item::Graph(Box::new(graph))] }).await;
        match answer {
            Ok(enqueued) => Ok(enqueued
                .items
                .iter()
                .map(|item| match item {
                    Ok(placed) => {
                        format!("{new} {}", if *placed == Placed::Inserted { "inserted" } else { "existing" })
                    }
                    Err(refusal) => format!("{new} refused: {}", self.names.within(&refusal.to_string())),
                })
                .collect()),
            Err(error) => Ok(self.refused(&error)),
        }
    }

    async fn retry_view(&self, graph: GraphId) -> Result<Option<RetryView>, ScriptError> {
        self.subject.store().retry_view(graph).await.map_err(|e| ScriptError::new(format!("no shape: {e}")))
    }

    /// `retries`: those that whoever looks carries on, and when the next one is due.
    pub(super) async fn retries(&mut self, args: Args) -> Answer {
        args.finish()?;
        match self.subject.store().retries(100).await {
            Ok(due) => {
                let next = due.next.map(|next| format!("next in {}", span::show(next)));
                Ok(due.graphs.iter().map(|graph| self.names.of(graph)).chain(next).collect())
            }
            Err(error) => Ok(self.refused(&error)),
        }
    }

    /// `suspects`: the graphs of which something is miscounted, by looks at so many nodes and edges (`size=1`).
    pub(super) async fn suspects(&mut self, mut args: Args) -> Answer {
        let size = args.number("size")?.unwrap_or(limits::SWEEP_SIZE_MAX);
        args.finish()?;
        let (mut after, mut lines) = (None, Vec::new());
        loop {
            match self.subject.store().suspects(after, size).await {
                Ok(looked) => {
                    lines.extend(looked.graphs.iter().map(|graph| self.names.of(graph)));
                    after = looked.next;
                }
                Err(error) => return Ok(self.refused(&error)),
            }
            if after.is_none() {
                return Ok(lines);
            }
        }
    }

    /// A change of a retry by itself: `begin g from a grace=1s`, `rearm g a b hold=a undone=b generation=1`, `finish g generation=1`,
    /// `replace g/a input=2`.
    pub(super) fn read_retry(&mut self, verb: &str, name: &str, args: &mut Args) -> Result<Change, ScriptError> {
        if verb == "replace" {
            let input = args.read("input", |text| Ok(read_payload(text)))?.unwrap_or_default();
            return Ok(Change::Replace { job: self.names.job(name), input });
        }
        let graph = self.names.graph(name);
        if verb == "begin" {
            let grace = args.read("grace", span::parse)?.unwrap_or(Duration::ZERO);
            return Ok(Change::BeginRetry { graph, mode: read_mode(args)?, grace });
        }
        let generation = args.number("generation")?.unwrap_or(1);
        if verb == "finish" {
            return Ok(Change::EndRetry { graph, generation });
        }
        let mut node = |node: &String| self.names.job(&format!("{name}/{node}"));
        let holding = args.list("hold").unwrap_or_default().iter().map(&mut node).collect();
        let undone = args.list("undone").unwrap_or_default().iter().map(&mut node).collect();
        let mut nodes = Vec::new();
        while let Some(word) = args.word_maybe()? {
            nodes.push(node(&word));
        }
        Ok(Change::Rearm { graph, generation, nodes, holding, undone, behind: Vec::new() })
    }
}

fn who(args: &mut Args) -> Result<(String, String), ScriptError> {
    Ok((args.text("by")?.unwrap_or_else(|| "ann".into()), args.text("reason")?.unwrap_or_default()))
}

fn read_mode(args: &mut Args) -> Result<RetryMode, ScriptError> {
    if args.flag("all") {
        return Ok(RetryMode::All);
    }
    if args.flag("from") {
        return Ok(RetryMode::From(parsed(NodeName::new(&args.word("a node")?))?));
    }
    Ok(RetryMode::Failed)
}
