//! Operators' commands as plans: which changes to ask of a store, and when to go on.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::defaults;
use crate::graph::{Behind, RetryMode, RetryPlan};
use crate::id::{GraphId, JobId};
use crate::lifecycle::{Cause, End, StopReason};
use crate::limits;
use crate::payload::Payload;
use crate::store::{Change, Counters, Ending, Order, WhileRunning};

/// Cancels one job: at once if it has not started, by request if it runs.
pub fn cancel_job(job: JobId, actor: &str, reason: &str) -> Order {
    cancel_jobs([job], actor, reason)
}

/// Cancels several jobs in one transaction.
pub fn cancel_jobs(jobs: impl IntoIterator<Item = JobId>, actor: &str, reason: &str) -> Order {
    let cause = Cause::Asked { actor: actor.into(), reason: reason.into() };
    let ending = Ending::plain(End::Cancelled, Some(cause), defaults::KEEP_FAILED, Counters::default());
    let end = |job| Change::End { job, ending: Box::new(ending.clone()), running: WhileRunning::Ask };
    Order { actor: actor.into(), reason: reason.into(), changes: jobs.into_iter().map(end).collect() }
}

/// Ends a job whatever it does: a handler's work counts no more, and a run's undos do not run.
pub fn terminate_job(job: JobId, actor: &str, reason: &str) -> Order {
    let mut order = cancel_job(job, actor, reason);
    for change in &mut order.changes {
        if let Change::End { running, .. } = change {
            *running = WhileRunning::Fence;
        }
    }
    order
}

/// Gives up a job that runs and does not stop though it was asked to: it ends, and what its handler does from then on
/// counts for nothing. One that does not run is cancelled.
pub fn abandon_job(job: JobId, actor: &str, reason: &str) -> Order {
    let mut order = terminate_job(job, actor, reason);
    for change in &mut order.changes {
        if let Change::End { ending, .. } = change {
            ending.cause = Some(Cause::Abandoned { actor: actor.into(), reason: reason.into() });
        }
    }
    order
}

/// Begins to cancel a graph: writes the stop. [`settle_stopped`] carries it on.
pub fn cancel_graph(graph: GraphId, actor: &str, reason: &str) -> Order {
    let changes = vec![Change::Stop { graph, reason: StopReason::Cancel }];
    Order { actor: actor.into(), reason: reason.into(), changes }
}

/// One step of settling a graph that is stopped to cancel it or by a failure: ends the nodes that the store says can be
/// settled now. There is nothing more to do when it names none; what runs is settled by its worker, and its children after it.
///
/// The step without nodes says when somebody looks once more, since a worker may have put a node off just when the graph was
/// stopped: `age` is how long the stop has stood.
pub fn settle_stopped(
    graph: GraphId,
    stop: StopReason,
    nodes: &[JobId],
    age: Duration,
    (actor, reason): (&str, &str),
) -> Order {
    let cause = Some(Cause::GraphStopped { stop });
    let ending = Ending::plain(End::Cancelled, cause, defaults::KEEP_FAILED, Counters::default());
    let look = if nodes.is_empty() {
        (age < defaults::STOP_LOOK_AGAIN).then_some(defaults::STOP_LOOK_AGAIN)
    } else {
        Some(defaults::STOP_GRACE)
    };
    let (nodes, ending) = (nodes.to_vec(), Box::new(ending));
    let changes = vec![Change::SettleStopped { graph, reason: stop, nodes, ending, look }];
    Order { actor: actor.into(), reason: reason.into(), changes }
}

/// Which ends a requeue is meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requeue {
    /// Every end but a success.
    #[default]
    Failed,
    /// A success too: the job is done once more.
    EvenSucceeded,
}

/// Puts a job back that has ended or is blocked, perhaps with another input.
pub fn requeue_job(job: JobId, which: Requeue, input: Option<Payload>, actor: &str, reason: &str) -> Order {
    let from = End::ALL.into_iter().filter(|end| which == Requeue::EvenSucceeded || *end != End::Succeeded).collect();
    Order { actor: actor.into(), reason: reason.into(), changes: vec![Change::Requeue { job, from, input }] }
}

/// Begins the retry of a graph in place, perhaps with another input for one of its nodes.
///
/// The way on: read the graph's [`RetryView`](crate::RetryView), plan by [`plan_retry`](crate::plan_retry), carry out [`rearm`], and
/// again, until nothing is planned; then [`end_retry`]. Whoever is interrupted, or comes upon an interrupted one, begins
/// again in the same way.
pub fn begin_retry(
    graph: GraphId,
    mode: RetryMode,
    edit: Option<(JobId, Payload)>,
    actor: &str,
    reason: &str,
) -> Order {
    let mut changes = vec![Change::BeginRetry { graph, mode, grace: defaults::RETRY_GRACE }];
    changes.extend(edit.map(|(job, input)| Change::Replace { job, input }));
    Order { actor: actor.into(), reason: reason.into(), changes }
}

/// Re-arms what was planned, a bounded number of nodes an order.
pub fn rearm(graph: GraphId, generation: u32, plan: &RetryPlan, actor: &str, reason: &str) -> Vec<Order> {
    let batches = plan.nodes.chunks(limits::REARM_MAX);
    let mut behind: HashMap<JobId, Vec<&Behind>> = HashMap::new();
    plan.behind.iter().for_each(|wait| behind.entry(wait.child).or_default().push(wait));
    let order = |nodes: &[JobId]| {
        let among = |set: &HashSet<JobId>| nodes.iter().filter(|job| set.contains(job)).copied().collect();
        let (holding, undone) = (among(&plan.holding), among(&plan.undone));
        let behind =
            nodes.iter().flat_map(|job| behind.get(job).into_iter().flatten()).map(|b| Behind::clone(b)).collect();
        let change = Change::Rearm { graph, generation, nodes: nodes.to_vec(), holding, undone, behind };
        Order { actor: actor.into(), reason: reason.into(), changes: vec![change] }
    };
    batches.map(order).collect()
}

/// Ends the retry of a graph: its next generation begins.
pub fn end_retry(graph: GraphId, generation: u32, actor: &str, reason: &str) -> Order {
    let changes = vec![Change::EndRetry { graph, generation }];
    Order { actor: actor.into(), reason: reason.into(), changes }
}
