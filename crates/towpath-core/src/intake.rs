//! What arrives from other languages as one JSON text, and is judged by the core before anything of it is written.
//! A graph is written as [`NewGraph::from_json`](crate::NewGraph::from_json) reads it.
//!
//! A text that was accepted by SQL is a job of the kind [`Kind::INTAKE`](crate::Kind::INTAKE); the worker that claims it reads it
//! here, and what is wrong with it is that job's error.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::graph::{GraphLimits, GraphProblem, GraphText, PreparedGraph};
use crate::id::{GraphId, JobId};
use crate::payload::Payload;

/// What an intake job asks for.
#[derive(Clone, Debug)]
pub enum Intake {
    /// A graph to enqueue.
    Graph(Box<PreparedGraph>),
    /// A job to cancel.
    Cancel {
        /// The job.
        job: JobId,
        /// Who asks.
        actor: String,
        /// Why.
        reason: String,
    },
}

impl Intake {
    /// Reads and checks what an intake job was given. The same text gives the same ids, so that it may be taken twice.
    /// `besides` says what else is wrong with a graph: of expressions the core knows nothing.
    ///
    /// # Errors
    /// What is wrong with it, for whoever sent it: it will not get better.
    pub fn read(
        input: &Payload,
        limits: &GraphLimits,
        besides: impl FnOnce(&GraphText) -> Vec<GraphProblem>,
    ) -> Result<Self, String> {
        match serde_json::from_slice::<Sent<'_>>(&input.bytes).map_err(|e| e.to_string())? {
            Sent::Graph { id, graph } => {
                let graph = GraphText::read(graph.get(), id).and_then(|text| {
                    let besides = besides(&text);
                    text.prepare_within(limits, besides)
                });
                Ok(Self::Graph(Box::new(graph.map_err(|e| e.to_string())?)))
            }
            Sent::Cancel { job, actor, reason } => Ok(Self::Cancel { job, actor, reason }),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Sent<'a> {
    Graph {
        id: GraphId,
        #[serde(borrow)]
        graph: &'a RawValue,
    },
    Cancel {
        job: JobId,
        actor: String,
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Intake, String> {
        Intake::read(&Payload::json_bytes(text.as_bytes().to_vec()), &GraphLimits::default(), |_| Vec::new())
    }

    const ID: &str = "018bcfe5-6800-7000-8000-000000000007";

    #[test]
    fn a_graph_is_read_with_its_edges_and_the_same_ids_each_time() {
        let text = format!(
            r#"{{"graph":{{"id":"{ID}","graph":{{"name":"etl","nodes":[
                {{"name":"a","kind":"extract","input":{{"n":1}},"retry":3}},
                {{"name":"b","kind":"load","after":["a"],"queue":"slow"}},
                {{"name":"c","kind":"alarm","after":[{{"node":"a","on":"failed"}},{{"node":"b","on":"finished"}}]}}]}}}}}}"#
        );
        let (Ok(Intake::Graph(graph)), Ok(Intake::Graph(again))) = (read(&text), read(&text)) else { panic!() };
        assert_eq!(graph.id().to_string(), ID);
        let ids = |graph: &PreparedGraph| graph.nodes().iter().map(|node| node.job.id).collect::<Vec<_>>();
        assert_eq!(ids(&graph), ids(&again));
        assert_eq!(graph.nodes()[1].job.queue.as_str(), "slow");
        assert_eq!(graph.nodes()[0].job.rules.retry.attempts_max, 3);
        let to_c = graph.edges().iter().filter(|edge| edge.child == 2).count();
        assert_eq!(to_c, 2);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let nodes = |nodes: &str| format!(r#"{{"graph":{{"id":"{ID}","graph":{{"name":"g","nodes":[{nodes}]}}}}}}"#);
        let problem = |text: &str| read(text).unwrap_err();
        assert!(problem(&nodes(r#"{"name":"a","kind":"x","after":["z"]}"#)).contains("no node is named so"));
        assert!(problem(&nodes(r#"{"name":"a","kind":"x","quue":"mail"}"#)).contains("quue"));
        assert!(problem(&nodes(r#"{"name":"a","kind":"Bad Kind"}"#)).contains("kind"));
        assert!(problem(&nodes(r#"{"name":"a","kind":"towpath.intake"}"#)).contains("kept for the product"));
        assert!(problem(r#"{"delete":{}}"#).contains("unknown variant"));
    }
}
