//! `cancel`, `terminate`, `pause`, `unpause`, `order`, `settleable`, `settle-stopped`, `stops`, `recount`, `prune` and `corrupt`: what people and maintenance do.

use std::time::Duration;

use towpath_core::store::{Change, Changed, DueStop, Edit, Order, Pruned, WhileRunning, Wish};
use towpath_core::{
    GraphId, JobId, Queue, RunId, StopReason, abandon_job, cancel_graph, cancel_job, settle_stopped, terminate_job,
};

use crate::args::Args;
use crate::error::ScriptError;
use crate::run::enqueue::{parsed, read_payload};
use crate::run::{Answer, Runner};
use crate::say;
use crate::span;
use crate::subject::{Corruption, START, Subject};

/// Nodes that one step of a cancel settles.
const STEP: u32 = 512;

impl<S: Subject> Runner<S> {
    pub(super) async fn operate(&mut self, verb: &str, args: Args, body: &[String]) -> Answer {
        match verb {
            "cancel" => self.cancel(args).await,
            "terminate" | "abandon" => self.terminate(verb, args).await,
            "pause" | "unpause" => self.pause(verb, args).await,
            "edit" => self.edit(args).await,
            "ask" => self.ask(args).await,
            "order" => self.order(args, body).await,
            "settleable" => self.settleable(args).await,
            "settle-stopped" => self.settle_stopped_by_order(args).await,
            "stops" => self.stops(args).await,
            "recount" => self.recount(args).await,
            "prune" => self.prune(args).await,
            _ => self.corrupt(args).await,
        }
    }

    /// `cancel a` is one order; `cancel graph g` is the whole plan, stop and every step after it.
    async fn cancel(&mut self, mut args: Args) -> Answer {
        let first = args.word("a job or `graph`")?;
        let graph = if first == "graph" { Some(args.word("a graph")?) } else { None };
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        args.finish()?;
        let Some(graph) = graph else {
            let job = self.names.job(&first);
            return self.apply(cancel_job(job, &actor, &reason), &[first]).await;
        };
        let id = self.names.graph(&graph);
        let mut lines = self.apply(cancel_graph(id, &actor, &reason), std::slice::from_ref(&graph)).await?;
        if !lines.iter().any(|line| line.ends_with("unknown")) {
            let by = (actor.as_str(), reason.as_str());
            lines.extend(self.settle_stopped((id, &graph), StopReason::Cancel, Duration::ZERO, by).await?);
        }
        Ok(lines)
    }

    /// `terminate a`: ends it whatever it does; `abandon a`: because it ignores its cancel.
    async fn terminate(&mut self, verb: &str, mut args: Args) -> Answer {
        let name = args.word("a job")?;
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        args.finish()?;
        let job = self.names.job(&name);
        let plan = if verb == "abandon" { abandon_job } else { terminate_job };
        self.apply(plan(job, &actor, &reason), &[name]).await
    }

    /// `edit a input=… priority=3 due=1h`.
    async fn edit(&mut self, mut args: Args) -> Answer {
        let name = args.word("a job")?;
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        let edit = Box::new(read_edit(&mut args)?);
        args.finish()?;
        let change = Change::Edit { job: self.names.job(&name), edit };
        self.apply(Order { actor, reason, changes: vec![change] }, &[name]).await
    }

    /// `pause mail` and `unpause mail`, or `pause run order-1`.
    async fn pause(&mut self, verb: &str, mut args: Args) -> Answer {
        let first = args.word("a queue or `run`")?;
        let run = if first == "run" { Some(args.word("a run")?) } else { None };
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        args.finish()?;
        let pauses = verb == "pause";
        let change = match &run {
            Some(run) if pauses => Change::PauseRun { run: parsed(RunId::new(run))? },
            Some(run) => Change::ResumeRun { run: parsed(RunId::new(run))? },
            None if pauses => Change::Pause { queue: parsed(Queue::new(&first))? },
            None => Change::Unpause { queue: parsed(Queue::new(&first))? },
        };
        let name = run.unwrap_or(first);
        self.apply(Order { actor, reason, changes: vec![change] }, &[name]).await
    }

    /// `settle-stopped g cancel`: ends what of a stopped graph has not started, step by step, and says when it is looked at again;
    /// `age=2m` is how long it has been stopped. `settle-stopped g fail g/a g/b` is one step, for these nodes.
    async fn settle_stopped_by_order(&mut self, mut args: Args) -> Answer {
        let graph = args.word("a graph")?;
        let stop = read_stop(&mut args)?;
        let age = args.read("age", span::parse)?.unwrap_or_default();
        let mut names = Vec::new();
        while let Some(name) = args.word_maybe()? {
            names.push(name);
        }
        args.finish()?;
        let id = self.names.graph(&graph);
        if names.is_empty() {
            return self.settle_stopped((id, &graph), stop, age, ("towpath", "it is stopped")).await;
        }
        let nodes: Vec<JobId> = names.iter().map(|name| self.names.job(name)).collect();
        let order = settle_stopped(id, stop, &nodes, age, ("towpath", "it is stopped"));
        self.apply(order, &[graph]).await
    }

    async fn settle_stopped(
        &mut self,
        (graph, name): (GraphId, &str),
        stop: StopReason,
        age: Duration,
        by: (&str, &str),
    ) -> Answer {
        let mut lines = Vec::new();
        loop {
            let nodes = match self.subject.store().settleable(graph, STEP).await {
                Ok(nodes) => nodes,
                Err(error) => {
                    lines.extend(self.refused(&error));
                    return Ok(lines);
                }
            };
            let step = settle_stopped(graph, stop, &nodes, age, by);
            let answered = self.apply(step, &[name.to_owned()]).await?;
            if answered == [format!("{name} settled {}", nodes.len())] {
                lines.extend(nodes.iter().map(|job| format!("{} ended", self.names.of(job))));
            } else {
                lines.extend(answered);
                return Ok(lines);
            }
            if nodes.is_empty() {
                return Ok(lines);
            }
        }
    }

    /// `ask w1 quiet by=ann reason="…"`: of a worker.
    async fn ask(&mut self, mut args: Args) -> Answer {
        let name = args.word("a worker")?;
        let wish = match args.word("quiet, drain or resume")?.as_str() {
            "quiet" => Wish::Quiet,
            "drain" => Wish::Drain,
            "resume" => Wish::Resume,
            other => return Err(ScriptError::new(format!("{other:?} cannot be asked of a worker"))),
        };
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        args.finish()?;
        let changes = vec![Change::Command { worker: self.names.worker(&name), wish }];
        self.apply(Order { actor, reason, changes }, &[name]).await
    }

    /// `stops`: the stopped graphs that are to be looked at, and when the next one is.
    async fn stops(&mut self, args: Args) -> Answer {
        args.finish()?;
        match self.subject.store().stops(100).await {
            Ok(due) => {
                let next = due.next.map(|next| format!("next in {}", span::show(next)));
                let line = |stop: &DueStop| {
                    format!("{} {} since {}", self.names.of(stop.graph), stop.reason, span::show(stop.age))
                };
                Ok(due.graphs.iter().map(line).chain(next).collect())
            }
            Err(error) => Ok(self.refused(&error)),
        }
    }

    /// Several changes in one transaction, each on its own line.
    async fn order(&mut self, mut args: Args, body: &[String]) -> Answer {
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        args.finish()?;
        let (mut changes, mut names) = (Vec::new(), Vec::new());
        for line in body {
            let mut args = Args::parse(line)?;
            let verb = args.word("a change")?;
            let name = args.word("a job or graph")?;
            changes.push(match verb.as_str() {
                "end" => self.read_end(&name, &actor, &reason, &mut args)?,
                "stop" => Change::Stop { graph: self.names.graph(&name), reason: read_stop(&mut args)? },
                "unstop" => Change::Unstop { graph: self.names.graph(&name), reason: read_stop(&mut args)? },
                "edit" => Change::Edit { job: self.names.job(&name), edit: Box::new(read_edit(&mut args)?) },
                "recount" => Change::Recount { graph: self.names.graph(&name) },
                "begin" | "rearm" | "finish" | "replace" => self.read_retry(&verb, &name, &mut args)?,
                other => return Err(ScriptError::new(format!("{other:?} is not a change"))),
            });
            args.finish()?;
            names.push(name);
        }
        self.apply(Order { actor, reason, changes }, &names).await
    }

    fn read_end(&mut self, name: &str, actor: &str, reason: &str, args: &mut Args) -> Result<Change, ScriptError> {
        let job = self.names.job(name);
        let (leave, fence) = (args.flag("leave"), args.flag("fence"));
        match cancel_job(job, actor, reason).changes.pop() {
            Some(Change::End { job, ending, .. }) => {
                let running = match (leave, fence) {
                    (true, _) => WhileRunning::Leave,
                    (_, true) => WhileRunning::Fence,
                    _ => WhileRunning::Ask,
                };
                Ok(Change::End { job, ending, running })
            }
            _ => Err(ScriptError::new("the core's plan to cancel a job is no longer one end")),
        }
    }

    pub(super) async fn apply(&mut self, order: Order, names: &[String]) -> Answer {
        let applied = match self.subject.store().apply(order).await {
            Ok(applied) => applied,
            Err(error) => return Ok(self.refused(&error)),
        };
        let mut lines = Vec::new();
        self.check_now(applied.now, &mut lines);
        if applied.changes.len() != names.len() {
            lines.push(format!("{} answers for {} changes", applied.changes.len(), names.len()));
        }
        for (name, changed) in names.iter().zip(&applied.changes) {
            lines.push(match changed {
                Changed::Ended => format!("{name} ended"),
                Changed::Asked => format!("{name} asked to stop"),
                Changed::Left(state) => format!("{name} left {}", say::state(*state)),
                Changed::Unknown => format!("{name} unknown"),
                Changed::Unstopped => format!("{name} unstopped"),
                Changed::Edited => format!("{name} edited"),
                Changed::Paused => format!("{name} paused"),
                Changed::Unpaused => format!("{name} unpaused"),
                Changed::Settled { nodes } => format!("{name} settled {nodes}"),
                Changed::NotStopped => format!("{name} left: not stopped"),
                Changed::Recounted { repaired } => format!("{name} repaired {repaired}"),
                Changed::Requeued => format!("{name} requeued"),
                Changed::OfGraph => format!("{name} left: a node of a graph"),
                Changed::KeyTaken { by } => self.names.within(&format!("{name} left: its key is held by {by}")),
                Changed::HasBegun => format!("{name} left: it has begun"),
                Changed::Retrying { retrying, generation } => {
                    format!(
                        "{name} retrying {} since {} generation={generation}",
                        retrying.mode,
                        self.say().at(retrying.since)
                    )
                }
                Changed::Undoing => format!("{name} left: its undos run"),
                Changed::Rearmed { nodes } => format!("{name} rearmed {nodes}"),
                Changed::Retried { generation } => format!("{name} retried generation={generation}"),
                Changed::NotRetrying => format!("{name} is not being retried"),
                Changed::Stopped(counts) => format!(
                    "{name} stopped ended={} running={} unstarted={}",
                    counts.ended, counts.running, counts.unstarted
                ),
            });
        }
        Ok(lines)
    }

    async fn settleable(&mut self, mut args: Args) -> Answer {
        let graph = args.word("a graph")?;
        let limit = args.number("limit")?.unwrap_or(STEP);
        args.finish()?;
        let graph = self.names.graph(&graph);
        match self.subject.store().settleable(graph, limit).await {
            Ok(jobs) => Ok(jobs.iter().map(|job| self.names.of(job)).collect()),
            Err(error) => Ok(self.refused(&error)),
        }
    }

    async fn recount(&mut self, mut args: Args) -> Answer {
        let graph = args.word("a graph")?;
        args.finish()?;
        let change = Change::Recount { graph: self.names.graph(&graph) };
        let order = Order { actor: "sweeper".into(), reason: String::new(), changes: vec![change] };
        self.apply(order, &[graph]).await
    }

    /// `prune 100` is one call; `prune all` calls until there is nothing left.
    async fn prune(&mut self, mut args: Args) -> Answer {
        let word = args.word("a limit or `all`")?;
        args.finish()?;
        let limit = match word.as_str() {
            "all" => 100,
            text => text.parse().map_err(|_| ScriptError::new(format!("{text:?} is not a limit")))?,
        };
        let mut total = Pruned::default();
        loop {
            let pruned = match self.subject.store().prune(limit).await {
                Ok(pruned) => pruned,
                Err(error) => return Ok(self.refused(&error)),
            };
            total.jobs += pruned.jobs;
            total.nodes += pruned.nodes;
            total.graphs += pruned.graphs;
            total.arrivals += pruned.arrivals;
            total.keys += pruned.keys;
            total.tombstones += pruned.tombstones;
            if word != "all" || pruned.is_empty() {
                break;
            }
        }
        let line = say::Line::default()
            .count("jobs", total.jobs)
            .count("nodes", total.nodes)
            .count("graphs", total.graphs)
            .count("arrivals", total.arrivals)
            .count("keys", total.keys)
            .count("tombstones", total.tombstones)
            .end();
        Ok(vec![if line.is_empty() { "nothing".into() } else { line }])
    }

    async fn corrupt(&mut self, mut args: Args) -> Answer {
        let node = args.word("a node")?;
        let left = args.number("left")?.map(Corruption::Left);
        let ok = args.number("ok")?.map(Corruption::Ok);
        args.finish()?;
        let job = self.names.job(&node);
        match left.or(ok) {
            Some(what) => self.subject.corrupt(job, what).await?,
            None => return Err(ScriptError::new("what is to be corrupted: left=+1 or ok=-1")),
        }
        Ok(Vec::new())
    }
}

fn read_edit(args: &mut Args) -> Result<Edit, ScriptError> {
    let mut edit = Edit::default();
    edit.input = args.read("input", |text| Ok(read_payload(text)))?;
    edit.priority = args.number("priority")?;
    edit.due = args.read("due", |text| span::parse_instant(text, START))?;
    Ok(edit)
}

fn read_stop(args: &mut Args) -> Result<StopReason, ScriptError> {
    match args.word("cancel, fail, retry or prune")?.as_str() {
        "cancel" => Ok(StopReason::Cancel),
        "fail" => Ok(StopReason::Fail),
        "retry" => Ok(StopReason::Retry),
        "prune" => Ok(StopReason::Prune),
        other => Err(ScriptError::new(format!("{other:?} is no reason for a stop"))),
    }
}
