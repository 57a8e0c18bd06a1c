//! What nodes of a graph hold, and what the graph stands in.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use towpath::core::builtin::Progress;
use towpath::core::store::{GraphDetail, JobLine};
use towpath::{Client, Holds, JobId};

use crate::error::CliError;

/// What is known of both.
pub(crate) struct Held {
    nodes: BTreeMap<JobId, Holds>,
    holder: Option<JobLine>,
}

impl Held {
    pub(crate) async fn look(client: &Client, detail: &GraphDetail) -> Result<Self, CliError> {
        let failed = |error: towpath::Error| CliError::failed("look into the nodes", error.to_string());
        let nodes = client.held_in(detail).await.map_err(failed)?;
        let holder = client.holder(detail.line.id).await.map_err(failed)?;
        Ok(Self { nodes, holder })
    }

    /// Where the graph stands, if it stands inside something.
    pub(crate) fn inside(&self) -> Option<String> {
        let holder = self.holder.as_ref()?;
        Some(match &holder.node {
            Some(node) => format!("inside node {} of graph {}", node.name, node.graph),
            None => format!("started by the run of job {}", holder.id),
        })
    }

    /// A line for each node that holds something.
    pub(crate) fn lines(&self, detail: &GraphDetail) -> Vec<String> {
        let nodes = detail.nodes.iter().filter_map(|node| Some((&node.name, self.nodes.get(&node.job)?)));
        let lines = nodes.filter_map(|(name, holds)| match holds {
            Holds::Graph(graph) => Some(format!("{name} runs the graph {graph}")),
            Holds::Elements(progress) => Some(format!("{name}: {}", progress.words())),
            _ => None,
        });
        lines.collect()
    }

    /// Adds both to a graph as `--json` has it.
    pub(crate) fn add_to(&self, graph: &mut Value, detail: &GraphDetail) {
        if let Some(nodes) = graph["nodes"].as_array_mut() {
            for (node, line) in nodes.iter_mut().zip(&detail.nodes) {
                node["holds"] = match self.nodes.get(&line.job) {
                    Some(Holds::Graph(graph)) => json!({ "graph": graph }),
                    Some(Holds::Elements(Progress { of, done, failed, .. })) => {
                        json!({ "elements": { "of": of, "done": done, "failed": failed } })
                    }
                    _ => Value::Null,
                };
            }
        }
        graph["inside"] = json!(self.holder.as_ref().map(|holder| {
            let node = holder.node.as_ref();
            json!({ "job": holder.id, "graph": node.map(|node| node.graph), "node": node.map(|node| &node.name) })
        }));
    }
}
