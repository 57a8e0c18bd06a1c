//! A graph once more, from its start, as a graph of its own.

mod held;

use super::prepare::PreparedGraph;
use super::{GraphLimits, InvalidGraph, NewGraph};
use crate::fingerprint::mix;
use crate::id::{GraphId, JobId};
use crate::name::{Queue, RunId};

/// Of which graph another one is a restart, and whose order it was: the line of the audit that is written with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The graph that is done once more.
    pub of: GraphId,
    /// Who wants it.
    pub actor: String,
    /// Why, in their words.
    pub reason: String,
}

impl Restart {
    /// What an audit line calls it. Its target is the graph that is done once more.
    pub const ACTION: &'static str = "restart";

    /// What an audit line says that came of it.
    pub fn outcome(new: GraphId) -> String {
        format!("as {new}")
    }
}

/// Makes a graph that does once more what another one was to do: the same shape, kinds, inputs and rules, what appends have
/// added included, under ids that follow from its own.
///
/// A queue that is named after the old graph is named after the new one, and so is the id of a run.
///
/// # Errors
/// What was stored is no valid graph: it was written by a build with other rules.
pub fn restart(content: NewGraph, id: GraphId, actor: &str, reason: &str) -> Result<PreparedGraph, InvalidGraph> {
    let old = content.id;
    let mut graph = NewGraph { id, ..content };
    for node in &mut graph.nodes {
        let job = &mut node.job;
        job.id = once_more(id, job.id);
        job.queue = queue_of(&job.queue, old, id);
        held::rename_queues(job, old, id);
        job.run = job.run.as_ref().map(|run| renamed(run, id));
        // It is set anew for the nodes that it is true of.
        job.rules.fail_fast = false;
    }
    let restart = Restart { of: old, actor: actor.to_owned(), reason: reason.to_owned() };
    Ok(graph.prepare_within(&GraphLimits::HIGHEST)?.with_restart(restart))
}

/// The queue in a restart: one that is named after the old graph is named after the new one.
fn queue_of(queue: &Queue, old: GraphId, new: GraphId) -> Queue {
    let old = old.to_string();
    if queue.as_str().contains(&old) {
        Queue::from_stored(&queue.as_str().replace(&old, &new.to_string()))
    } else {
        queue.clone()
    }
}

/// The id of a job in a restart: the time of the new graph's id, then a mix of both ids.
fn once_more(graph: GraphId, job: JobId) -> JobId {
    let (graph, job) = (graph.as_bytes(), job.as_bytes());
    let half = |id: &[u8; 16], at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&id[at..at + 8]);
        u64::from_be_bytes(word)
    };
    let mixed = mix(mix(half(graph, 0), half(graph, 8)), mix(half(job, 0), half(job, 8)));
    let mut bytes = *graph;
    bytes[8..].copy_from_slice(&mixed.to_be_bytes());
    let more = mix(mixed, half(job, 8)).to_be_bytes();
    // The version of the id, in the upper half of the seventh byte, stays.
    bytes[6] = bytes[6] & 0xf0 | more[0] & 0x0f;
    bytes[7] = more[1];
    // So does its variant.
    bytes[8] = bytes[8] & 0x3f | 0x80;
    JobId::from_bytes(bytes)
}

/// The id of a run in a restart: its old one, with the end of the new graph's id.
fn renamed(run: &RunId, graph: GraphId) -> RunId {
    let text = graph.to_string();
    let mark = &text[text.len() - 12..];
    let base = run.as_str().rsplit_once('~').map_or(run.as_str(), |(base, _)| base);
    let mut end = base.len().min(200 - 1 - mark.len());
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    RunId::from_stored(&format!("{}~{mark}", &base[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{NewEdge, NewNode};
    use crate::job::NewJob;
    use crate::name::{GraphName, Kind, NodeName};
    use crate::payload::Payload;

    fn graph(number: u8) -> GraphId {
        GraphId::from_bytes([number; 16])
    }

    fn content() -> NewGraph {
        let node = |at: u8, name: &str| {
            let job = NewJob::new(JobId::from_bytes([at; 16]), Kind::from_stored("echo"));
            let queue = Queue::from_stored(&format!("flow.{}", graph(9)));
            let job = job.input(Payload::json(&at).unwrap()).queue(queue).run(RunId::from_stored(&format!("r-{at}")));
            NewNode::new(NodeName::from_stored(name), job)
        };
        let edges = vec![NewEdge::new(NodeName::from_stored("a"), NodeName::from_stored("b"))];
        let name = GraphName::from_stored("nightly");
        NewGraph {
            id: graph(9),
            name,
            rules: Default::default(),
            input: None,
            unique: None,
            nodes: vec![node(1, "a"), node(2, "b")],
            edges,
        }
    }

    #[test]
    fn a_restart_has_ids_of_its_own_that_follow_from_its_id() {
        let made = restart(content(), graph(7), "ann", "").unwrap();
        let again = restart(content(), graph(7), "ann", "").unwrap();
        let other = restart(content(), graph(8), "ann", "").unwrap();
        let ids = |graph: &PreparedGraph| graph.nodes().iter().map(|node| node.job.id).collect::<Vec<_>>();
        assert_eq!(ids(&made), ids(&again));
        let mut all: Vec<JobId> = [&made, &other].into_iter().flat_map(ids).collect();
        all.extend(content().nodes.iter().map(|node| node.job.id));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8, "two nodes and an end each, and the two of the old one");
        assert_eq!((made.restart().unwrap().of, made.name().as_str()), (graph(9), "nightly"));
    }

    #[test]
    fn what_is_named_after_the_graph_or_is_a_run_has_another_name() {
        let made = restart(content(), graph(7), "ann", "").unwrap();
        let job = &made.nodes()[0].job;
        assert_eq!(job.queue.as_str(), format!("flow.{}", graph(7)));
        assert_eq!(job.input, Payload::json(&1).unwrap());
        let of_its_own = Queue::from_stored(&format!("flow.{}.disk", graph(9)));
        assert_eq!(queue_of(&of_its_own, graph(9), graph(7)).as_str(), format!("flow.{}.disk", graph(7)));
        let run = job.run.clone().unwrap();
        assert_eq!(run.as_str(), "r-1~070707070707");
        assert_eq!(renamed(&run, graph(8)).as_str(), "r-1~080808080808");
        let long = RunId::from_stored(&"ü".repeat(100));
        assert!(renamed(&long, graph(8)).as_str().len() <= 200);
    }
}
