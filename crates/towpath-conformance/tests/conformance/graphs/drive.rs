//! One graph on a store and in the model, step by step.

use std::time::Duration;

use towpath_conformance::Chance;
use towpath_core::store::{
    Assigned, Beat, Change, Changed, Claim, Enqueue, Head, HostId, Intent, Item, Order, Placed, QueueClaim, Served,
    Settle, Settled, Turn, Undecided, WorkerIdentity,
};
use towpath_core::{
    Cause, Compensation, GraphEnd, GraphId, GraphName, GraphRetry, GraphRules, Incarnation, Kind, NewAppend, NewGraph,
    NodeName, Payload, Queue, Report, Retry, RetryMode, RetryPlan, State, StopReason, Store, Why, begin_retry,
    cancel_graph, check_undone, end_retry, limits, plan_retry, rearm, settle_decision, settle_report, settle_rescued,
    settle_stopped,
};

use super::draw;
use super::model::{How, Model, Stands, end_of};

/// A worker that goes on from graph to graph.
pub(super) struct Driver<'s> {
    pub(super) store: &'s dyn Store,
    pub(super) worker: Incarnation,
    pub(super) turn: u64,
}

/// What a graph has shown, so that a run can say what it has proved.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) nodes: usize,
    pub(super) succeeded: usize,
    pub(super) failed: usize,
    pub(super) cancelled: usize,
    pub(super) untaken: usize,
    pub(super) upstream: usize,
    pub(super) appends: usize,
    pub(super) spared: usize,
    pub(super) failed_fast: usize,
    pub(super) undone: usize,
    pub(super) left_undone: usize,
    pub(super) retries: usize,
    pub(super) tried_again: usize,
    pub(super) done_again: usize,
}

/// A graph under way.
struct Course<'d, 's> {
    driver: &'d mut Driver<'s>,
    chance: Chance,
    id: GraphId,
    model: Model,
    /// How many percent of the attempts do not simply succeed.
    trouble: usize,
    jobs: Vec<(usize, Head)>,
    decisions: Vec<Undecided>,
    tried_again: usize,
}

impl<'s> Driver<'s> {
    pub(super) async fn new(store: &'s dyn Store, worker: u8) -> Self {
        let worker = Incarnation::from_bytes([worker; 16]);
        let host = HostId::default();
        let queues = vec!["default".into()];
        let identity = WorkerIdentity { name: "w".into(), host, build: 1, queues, kinds: Default::default() };
        let lease = Duration::from_secs(1_000_000);
        let beat = Beat { worker, identity, lease, acknowledged: 0, holds: vec![], intent: Intent::Stay };
        store.extend(beat).await.unwrap();
        Self { store, worker, turn: 0 }
    }

    /// Runs the graph of a seed on both; says where they differ.
    pub(super) async fn compare(&mut self, seed: u64, shown: &mut Shown) -> Result<(), String> {
        let mut chance = Chance::new(seed);
        let mut id = [0; 16];
        id[..8].copy_from_slice(&seed.to_be_bytes());
        let id = GraphId::from_bytes(id);
        let count = if chance.percent(5) { 10 + chance.below(40) } else { 1 + chance.below(12) };
        let nodes = draw::nodes(&mut chance, &[], count);
        let (new, edges) = draw::stored(id, &nodes, 0);
        let name = GraphName::new("random").unwrap();
        let fail_fast = chance.percent(30);
        let attempts = if chance.percent(30) { 1 + chance.below(3) as u32 } else { 0 };
        let retry = (attempts > 0).then(|| GraphRetry::new(attempts, Duration::ZERO));
        let rules = GraphRules { fail_fast, retry, ..GraphRules::default() };
        let graph = NewGraph { id, name, rules, input: None, unique: None, nodes: new, edges };
        let item = Item::Graph(Box::new(graph.prepare().map_err(|e| e.to_string())?));
        let placed = self.store.enqueue(Enqueue { items: vec![item] }).await.map_err(|e| e.to_string())?;
        same("placed", &placed.items[0], &Ok(Placed::Inserted))?;
        let mut model = Model { fail_fast, attempts, ..Model::default() };
        model.add(nodes);
        let trouble = [2, 15, 45][chance.below(3)];
        let (jobs, decisions) = (vec![], vec![]);
        let mut course = Course { driver: self, chance, id, model, trouble, jobs, decisions, tried_again: 0 };
        let went = course.run(shown).await;
        shown.tried_again += course.tried_again;
        went.map_err(|problem| format!("{problem}\n{}", course.told()))
    }
}

impl Course<'_, '_> {
    async fn run(&mut self, shown: &mut Shown) -> Result<(), String> {
        let cancel_at = if self.chance.percent(25) { self.chance.below(12) } else { usize::MAX };
        let mut step = 0;
        loop {
            if step == cancel_at && self.model.is_open() {
                self.cancel().await?;
            }
            if self.chance.percent(8) {
                self.append(shown).await?;
            }
            if self.chance.percent(4) {
                self.retry(shown).await?;
            }
            if self.chance.percent(4) {
                let suspects =
                    self.driver.store.suspects(None, limits::SWEEP_SIZE_MAX).await.map_err(|e| e.to_string())?;
                same("what is miscounted", &suspects.graphs, &vec![])?;
            }
            let limit = self.chance.below(4) as u16;
            let came = self.turn(limit, 2, 60).await?;
            step += 1;
            if came || !self.jobs.is_empty() || !self.decisions.is_empty() {
                continue;
            }
            if self.turn(50, 50, 100).await? {
                continue;
            }
            if self.jobs.is_empty() && self.decisions.is_empty() {
                self.at_rest(shown).await?;
                // A graph that has ended can run again, and grow.
                if self.chance.percent(30) && self.retry(shown).await? {
                    continue;
                }
                if !self.chance.percent(15) || self.model.cancelled || self.model.failed || self.model.undone {
                    return Ok(());
                }
                self.append(shown).await?;
            }
        }
    }

    /// Settles each thing that the worker holds with this many percent, and claims. Says whether anything came.
    async fn turn(&mut self, jobs: u16, decisions: u16, percent: usize) -> Result<bool, String> {
        let (mut settle, mut effects, mut ends_decided) = (Vec::new(), Vec::new(), Vec::new());
        for (node, head) in std::mem::take(&mut self.jobs) {
            if self.chance.percent(percent) {
                let (one, effect) = outcome(&mut self.chance, self.trouble, &self.model, node, &head);
                settle.push(one);
                effects.push((node, effect));
            } else {
                self.jobs.push((node, head));
            }
        }
        for decision in std::mem::take(&mut self.decisions) {
            if self.chance.percent(percent) {
                if matches!(decision.why, Why::End { .. }) {
                    ends_decided.push(settle.len());
                }
                settle.push(settle_decision(&decision));
            } else {
                self.decisions.push(decision);
            }
        }
        self.driver.turn += 1;
        let serves = [Served::up_to(Kind::new("k").unwrap(), 1)].into();
        let queues = vec![QueueClaim { queue: Queue::default(), serves, limit: jobs }];
        let claim = Some(Claim { queues, most: u16::MAX, decisions_max: decisions });
        let turn = Turn { worker: self.driver.worker, number: self.driver.turn, settle, claim };
        let reply = self.driver.store.turn(turn).await.map_err(|e| e.to_string())?;
        let mut is_tried_again = false;
        for at in ends_decided.into_iter().filter(|at| reply.settled[*at] == Settled::Done) {
            is_tried_again = self.model.is_tried_again();
            if !is_tried_again {
                self.model.decided().map_err(|problem| format!("turn {at}: {problem}"))?;
            }
        }
        let mut ends = Vec::new();
        for ((node, effect), settled) in effects.into_iter().zip(&reply.settled) {
            if *settled == Settled::Stale {
                return Err(format!("{} was lost", self.model.nodes[node].name));
            }
            match effect {
                Some((how, cause)) => ends.push((node, how, cause)),
                None => self.model.nodes[node].stands = Stands::Ready,
            }
        }
        self.model.end(ends);
        let came = !reply.assigned.is_empty();
        for assigned in reply.assigned {
            match assigned {
                Assigned::Decision(decision) => {
                    // The decision of an end that an append has taken back is stale; here is the new one.
                    self.decisions.retain(|held| held.fence.key != decision.fence.key);
                    self.decisions.push(*decision);
                }
                Assigned::Job(claimed) => self.started(claimed.head)?,
            }
        }
        if is_tried_again {
            self.try_again().await?;
        }
        Ok(came || is_tried_again)
    }

    /// A job came for its handler: by the model it must be ready.
    fn started(&mut self, head: Head) -> Result<(), String> {
        let name = head.node.as_ref().map(|node| node.name.to_string()).unwrap_or_default();
        let node = self.model.nodes.iter().position(|node| node.name == name).ok_or("a node of another graph came")?;
        same(&format!("{name} starts, and"), &self.model.nodes[node].stands, &Stands::Ready)?;
        self.model.nodes[node].stands = Stands::Running;
        self.model.nodes[node].started = true;
        self.jobs.push((node, head));
        Ok(())
    }

    /// Cancels as a client does. What waits for a decision is decided first, and what a failure has stopped is claimed for
    /// one: the design says nothing of which comes first.
    async fn cancel(&mut self) -> Result<(), String> {
        self.decide_all().await?;
        if !self.model.is_open() {
            return Ok(());
        }
        let store = self.driver.store;
        let applied = store.apply(cancel_graph(self.id, "ann", "")).await.map_err(|e| e.to_string())?;
        if !matches!(applied.changes[..], [Changed::Stopped(_)]) {
            return Err(format!("the stop answered {:?}", applied.changes));
        }
        self.model.cancel();
        loop {
            let settleable = store.settleable(self.id, 3).await.map_err(|e| e.to_string())?;
            let order = settle_stopped(self.id, StopReason::Cancel, &settleable, Duration::ZERO, ("ann", ""));
            store.apply(order).await.map_err(|e| e.to_string())?;
            if settleable.is_empty() {
                return Ok(());
            }
        }
    }

    /// Decides what can be decided, without the handlers.
    async fn decide_all(&mut self) -> Result<(), String> {
        loop {
            let held = std::mem::take(&mut self.jobs);
            let came = self.turn(if self.model.failed { 50 } else { 0 }, 500, 100).await?;
            self.jobs.extend(held);
            if !came && self.decisions.is_empty() {
                return Ok(());
            }
        }
    }

    /// Retries as a client does, for one of the modes. Whether there was anything to retry.
    async fn retry(&mut self, shown: &mut Shown) -> Result<bool, String> {
        self.decide_all().await?;
        let (store, id) = (self.driver.store, self.id);
        let node = self.chance.below(self.model.nodes.len());
        let (mode, from) = match self.chance.below(4) {
            0 => (RetryMode::All, None),
            1 => (RetryMode::From(NodeName::new(&self.model.nodes[node].name).unwrap()), Some(node)),
            _ => (RetryMode::Failed, None),
        };
        let shape = store.retry_view(id).await.map_err(|e| e.to_string())?.ok_or("the graph is gone")?;
        let again = self.model.clone().retry(from, mode == RetryMode::Failed);
        let planned = plan_retry(&shape, &mode, None);
        same(&format!("whether it may be retried ({mode}, {planned:?})"), &planned.is_ok(), &again.is_some())?;
        let (Ok(planned), Some(again)) = (planned, again) else { return Ok(false) };
        let left = self.model.is_left_undone();
        same("whether it is left undone", &check_undone(&shape).is_err(), &left)?;
        let lifts = self.model.is_open() && (self.model.cancelled || self.model.failed);
        same("whether a retry lifts a stop", &planned.lifts, &lifts)?;
        if planned.is_empty() {
            same("what a retry runs again", &0, &again)?;
            return Ok(false);
        }
        let generation = shape.generation;
        apply(store, begin_retry(id, mode.clone(), None, "ann", "")).await?;
        self.carry_on(mode, from, generation).await?;
        shown.retries += 1;
        shown.done_again += usize::from(!planned.undone.is_empty());
        Ok(true)
    }

    /// Its policy has put the graph off, for no time.
    async fn try_again(&mut self) -> Result<(), String> {
        let store = self.driver.store;
        let due = store.retries(limits::RETRIES_LOOK_MAX).await.map_err(|e| e.to_string())?;
        same("whether its retry is due", &due.graphs.contains(&self.id), &true)?;
        let shape = store.retry_view(self.id).await.map_err(|e| e.to_string())?.ok_or("the graph is gone")?;
        let mode = shape.retrying.map(|retrying| retrying.mode);
        same("how it is tried again", &mode, &Some(RetryMode::Failed))?;
        same("its generation", &shape.generation, &(self.model.retries + 1))?;
        self.tried_again += 1;
        self.carry_on(RetryMode::Failed, None, shape.generation).await
    }

    /// Carries out a retry that has begun.
    async fn carry_on(&mut self, mode: RetryMode, from: Option<usize>, generation: u32) -> Result<(), String> {
        let (store, id) = (self.driver.store, self.id);
        let again = self.model.retry(from, mode == RetryMode::Failed).ok_or("the model cannot retry it")?;
        let mut rearmed = 0;
        loop {
            let shape = store.retry_view(id).await.map_err(|e| e.to_string())?.ok_or("the graph is gone")?;
            let since = shape.retrying.as_ref().map(|retrying| retrying.since);
            let plan = plan_retry(&shape, &mode, since).map_err(|e| e.to_string())?;
            if plan.nodes.is_empty() {
                break;
            }
            // One at a time: each order leaves the graph as an interruption would.
            for job in &plan.nodes {
                let plan = RetryPlan { nodes: vec![*job], ..plan.clone() };
                for order in rearm(id, generation, &plan, "ann", "") {
                    if let Changed::Rearmed { nodes } = apply(store, order).await? {
                        rearmed += nodes as usize;
                    }
                }
            }
        }
        same(&format!("nodes re-armed by {mode}"), &rearmed, &again)?;
        let ended = apply(store, end_retry(id, generation, "ann", "")).await?;
        same("the retry", &ended, &Changed::Retried { generation: generation + 1 })
    }

    async fn append(&mut self, shown: &mut Shown) -> Result<(), String> {
        let known = self.model.nodes.len();
        let count = 1 + self.chance.below(3);
        let new = draw::nodes(&mut self.chance, &self.model.nodes, count);
        let mut all = self.model.nodes.clone();
        all.extend(new.iter().cloned());
        let (nodes, edges) = draw::stored(self.id, &all, known);
        let append = NewAppend { graph: self.id, nodes, edges }.prepare().map_err(|e| e.to_string())?;
        let batch = Enqueue { items: vec![Item::Append(Box::new(append))] };
        let answer = self.driver.store.enqueue(batch).await.map_err(|e| e.to_string())?;
        if self.model.cancelled || self.model.failed || self.model.undone {
            return if answer.items[0].is_err() {
                Ok(())
            } else {
                Err("a graph has grown that is cancelled or undone".into())
            };
        }
        same("appended", &answer.items[0], &Ok(Placed::Inserted))?;
        shown.appends += 1;
        self.model.add(new);
        Ok(())
    }

    /// Nothing is held and nothing comes: every node must have ended as in the model, and the graph with them.
    async fn at_rest(&mut self, shown: &mut Shown) -> Result<(), String> {
        let store = self.driver.store;
        let detail = store.inspect().graph(self.id).await.map_err(|e| e.to_string())?.ok_or("the graph is gone")?;
        same("nodes", &detail.nodes.len(), &self.model.nodes.len())?;
        for (line, node) in detail.nodes.iter().zip(&self.model.nodes) {
            let Stands::Ended(how, cause) = &node.stands else {
                return Err(format!("{} hangs: it is {} and by the model {:?}", node.name, line.state, node.stands));
            };
            same(&node.name, &(line.state, line.cause.as_ref()), &(State::Ended(end_of(*how)), cause.as_ref()))?;
            shown.nodes += 1;
            match how {
                How::Untaken => shown.untaken += 1,
                How::Upstream => shown.upstream += 1,
                _ => {}
            }
        }
        let end = self.model.graph_end();
        same("the graph's end", &detail.line.end, &Some(end))?;
        let left = self.model.is_left_undone();
        let came = if left { Compensation::Incomplete } else { Compensation::Complete };
        same("its compensation", &detail.line.compensation, &self.model.undone.then_some(came))?;
        shown.undone += usize::from(self.model.undone);
        shown.left_undone += usize::from(self.model.undone && left);
        match end {
            GraphEnd::Succeeded => shown.succeeded += 1,
            GraphEnd::Failed => shown.failed += 1,
            GraphEnd::Cancelled => shown.cancelled += 1,
        }
        let dead =
            self.model.nodes.iter().any(|node| matches!(node.stands, Stands::Ended(How::Dead, _)) && !node.may_fail);
        shown.failed_fast += usize::from(self.model.failed);
        shown.spared += usize::from(dead && end != GraphEnd::Failed);
        let recount =
            Order { actor: "t".into(), reason: String::new(), changes: vec![Change::Recount { graph: self.id }] };
        let counted = store.apply(recount).await.map_err(|e| e.to_string())?.changes;
        same("recount", &counted, &vec![Changed::Recounted { repaired: 0 }])
    }

    /// The graph in the words of a script, and how its nodes stand by the model.
    fn told(&self) -> String {
        let line = |node: &super::model::Node| {
            let mut line = format!("  node {}", node.name);
            line += if node.may_fail { " may_fail" } else { "" };
            line += &node.guards.map(|at| format!(" undoes=n{at}")).unwrap_or_default();
            line += &node.at_least.map(|need| format!(" need={need}")).unwrap_or_default();
            line += if node.parents.is_empty() { "" } else { " after" };
            for (parent, on) in &node.parents {
                line += &format!(" n{parent}:{on:?}");
            }
            format!("{line}    # {:?}", node.stands)
        };
        self.model.nodes.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// How an attempt of a node ends, and what the design makes of it; `None` if the job goes back. `trouble`: how many percent of
/// the attempts do not simply succeed.
pub(super) fn outcome(
    chance: &mut Chance,
    trouble: usize,
    model: &Model,
    node: usize,
    head: &Head,
) -> (Settle, Option<(How, Option<Cause>)>) {
    let chosen = if chance.percent(80) { 1 << chance.below(3) } else { chance.below(8) as u8 };
    let branches = (0..3).filter(|label| chosen & (1 << label) != 0).map(draw::label_of).collect();
    let is_run = model.nodes[node].is_run;
    let stop = model.stop_of(node).filter(|_| !is_run);
    let stopped = stop.map(|stop| (How::Cancelled, Some(Cause::GraphStopped { stop })));
    let unless_cancelled = |effect| if stopped.is_some() { stopped.clone() } else { effect };
    let itself = || Some(Cause::Itself { reason: "why".into() });
    let what = if chance.percent(trouble) { chance.below(8) } else { 8 };
    let (report, effect) = match what {
        0..=3 => {
            let failed = Report::Failed { error: "no".into(), retry: Retry::ByPolicy, log: None };
            (failed, unless_cancelled(Some((How::Dead, Some(Cause::Exhausted)))))
        }
        4 => (Report::Skipped { reason: "why".into() }, unless_cancelled(Some((How::Untaken, itself())))),
        5 => (Report::Revoked { reason: "why".into() }, Some((How::Cancelled, itself()))),
        6 => (Report::HandedBack, unless_cancelled(None)),
        7 => {
            let crashed = settle_rescued(head, towpath_core::Timestamp::ZERO);
            return (crashed, unless_cancelled(Some((How::Quarantined, Some(Cause::Crashes { count: 1 })))));
        }
        _ => (Report::Succeeded { output: None, branches }, Some((How::Succeeded(chosen), None))),
    };
    let mut settle = settle_report(head, report);
    if is_run && effect.is_some() && chance.percent(70) {
        settle.journal.push(Payload::json(&1).unwrap());
    }
    (settle, effect)
}

pub(super) async fn apply(store: &dyn Store, order: Order) -> Result<Changed, String> {
    store.apply(order).await.map_err(|e| e.to_string())?.changes.pop().ok_or_else(|| "no answer".into())
}

pub(super) fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, must: &T) -> Result<(), String> {
    if is == must { Ok(()) } else { Err(format!("{what}: {is:?}, by the model {must:?}")) }
}
