//! What happens in a run, drawn from its seed: the work that is enqueued, and how handlers behave.

use std::time::Duration;

use towpath_conformance::Chance;
use towpath_core::store::Item;
use towpath_core::{
    Condition, Due, FailureMode, GraphId, GraphName, GraphRules, JobId, JobRules, Kind, Need, NewAppend, NewEdge,
    NewGraph, NewJob, NewNode, NodeName, Report, Retry, RetryPolicy, RunId, Timestamp,
};

/// What a handler will report, after how long, and whether it stops when it is told to.
#[derive(Debug)]
pub(super) struct Behaviour {
    pub(super) report: Report,
    pub(super) takes: Duration,
    pub(super) heeds: Heeds,
}

/// What a handler heeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heeds {
    Cancel,
    Abort,
    /// It goes on for a while even when it is aborted.
    Nothing,
}

/// A moment up to so many milliseconds long.
pub(super) fn up_to(chance: &mut Chance, ms: usize) -> Duration {
    Duration::from_micros(1 + chance.below(ms * 1_000) as u64)
}

/// How a handler behaves. `build` can run anything in calm times.
pub(super) fn behaviour(chance: &mut Chance, build: u64, is_calm: bool) -> Behaviour {
    let success = Report::Succeeded { output: None, branches: Vec::new() };
    let failed = |retry| Report::Failed { error: "no route".into(), retry, log: None };
    let report = match chance.below(100) {
        0..70 => success,
        70..80 => failed(Retry::ByPolicy),
        80..83 => failed(Retry::Never),
        83..86 => failed(Retry::After(up_to(chance, 3_000))),
        86..89 => Report::Panicked { error: "index out of bounds".into() },
        89..92 => Report::Snoozed { wait: up_to(chance, 9_000) },
        92..94 => Report::Revoked { reason: "no use".into() },
        94..96 => Report::Skipped { reason: "no use".into() },
        96..98 if !is_calm => Report::Undecodable { problem: "no field `to`".into(), build },
        _ => success,
    };
    let takes = match chance.below(100) {
        0..60 => up_to(chance, 50),
        60..90 => up_to(chance, 2_000),
        _ => up_to(chance, 40_000),
    };
    let heeds = match chance.below(10) {
        0..6 => Heeds::Cancel,
        6..9 => Heeds::Abort,
        _ => Heeds::Nothing,
    };
    Behaviour { report, takes, heeds }
}

/// An id that no other call gives.
pub(super) fn id(chance: &mut Chance) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&chance.number().to_be_bytes());
    bytes[8..].copy_from_slice(&chance.number().to_be_bytes());
    bytes
}

fn job(chance: &mut Chance, now: Timestamp) -> NewJob {
    let mut rules = JobRules { retry: RetryPolicy::attempts(1 + chance.below(4) as u32), ..JobRules::default() };
    if chance.percent(15) {
        rules.timeout_us = Some(1_000_000 + chance.below(9_000_000) as u64);
    }
    let mut job = NewJob::new(JobId::from_bytes(id(chance)), Kind::from_stored("echo")).rules(rules);
    if chance.percent(15) {
        job = job.due(Due::After(up_to(chance, 20_000)));
    }
    if chance.percent(8) {
        job.deadline = Some(now + up_to(chance, 60_000));
    }
    if chance.percent(25) {
        job = job.run(RunId::new(&format!("run-{}", chance.number())).unwrap());
    }
    job.priority(chance.below(3) as i16)
}

/// What a run does under one claim: how often it writes and goes on, and whether it parks after that.
pub(super) fn run(chance: &mut Chance) -> (u32, Option<Duration>) {
    let park = chance.percent(40).then(|| up_to(chance, 4_000));
    (chance.below(5) as u32, park)
}

/// Lone jobs or a graph.
pub(super) fn items(chance: &mut Chance, now: Timestamp) -> (Vec<Item>, Vec<JobId>, Option<GraphId>) {
    if chance.percent(40) {
        let jobs: Vec<NewJob> = (0..1 + chance.below(12)).map(|_| job(chance, now)).collect();
        let ids = jobs.iter().map(|job| job.id).collect();
        return (jobs.into_iter().map(Item::job).collect(), ids, None);
    }
    let size = 1 + chance.below(9);
    let (nodes, edges) = nodes(chance, now, "n", size, &[]);
    let ids = nodes.iter().map(|node| node.job.id).collect();
    let id = GraphId::from_bytes(id(chance));
    let name = GraphName::new("graph").unwrap();
    let graph = NewGraph { id, name, rules: GraphRules::default(), input: None, unique: None, nodes, edges };
    (vec![Item::Graph(Box::new(graph.prepare().unwrap()))], ids, Some(id))
}

/// More nodes for a graph whose first node is known.
pub(super) fn append(chance: &mut Chance, now: Timestamp, graph: GraphId) -> (Item, Vec<JobId>) {
    let stem = format!("a{}-", chance.number() % 1_000_000);
    let size = 1 + chance.below(3);
    let (nodes, edges) = nodes(chance, now, &stem, size, &["n0".into()]);
    let ids = nodes.iter().map(|node| node.job.id).collect();
    (Item::Append(Box::new(NewAppend { graph, nodes, edges }.prepare().unwrap())), ids)
}

/// Nodes in a row, with edges from earlier ones and from those that are there.
fn nodes(
    chance: &mut Chance,
    now: Timestamp,
    stem: &str,
    size: usize,
    there: &[String],
) -> (Vec<NewNode>, Vec<NewEdge>) {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = there.to_vec();
    for at in 0..size {
        let name = format!("{stem}{at}");
        let node_name = || NodeName::new(&name).unwrap();
        let mut node = NewNode::new(node_name(), job(chance, now));
        let mut parents = 0;
        for parent in &names {
            if chance.percent(35) {
                let condition = match chance.below(10) {
                    0..6 => Condition::Succeeded,
                    6..8 => Condition::Finished,
                    8 => Condition::Failed,
                    _ => Condition::Joined,
                };
                edges.push(NewEdge { parent: NodeName::new(parent).unwrap(), child: node_name(), condition });
                parents += 1;
            }
        }
        if parents > 1 && chance.percent(20) {
            node.need = Need::AtLeast(1 + chance.below(parents) as u32);
        }
        if chance.percent(20) {
            node.failure = FailureMode::MayFail;
        }
        nodes.push(node);
        names.push(name);
    }
    (nodes, edges)
}
