//! `towpath graph diff`: in what the shapes of two graphs differ.

use std::path::Path;

use clap::Args;
use serde_json::json;
use towpath::core::{Difference, Shape};
use towpath::{Client, Graph, GraphId, GraphLimits};

use super::super::ViewArgs;
use super::super::run::read_flow;
use super::enqueue::read;
use crate::error::CliError;
use crate::flow::{FlowSource, Given, Missing};
use crate::{exit, say};

/// Compare the shapes of two graphs
///
/// Their nodes by name, with kind, queue and what they are to the graph, and their edges. Ids, inputs and states are not
/// compared, so that a stored graph can be compared with the file that it is to become.
///
/// Exit code: 0 the same, 1 they differ, 2 usage.
#[derive(Debug, Args)]
pub(super) struct Diff {
    /// A stored graph by its id, a flow file (.toml), or a graph in JSON (.json, or `-` for stdin).
    #[arg(value_name = "A")]
    a: String,
    /// What it is compared with, named in the same way.
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    view: ViewArgs,
}

impl Diff {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let (a, b) = (self.shape(&self.a).await?, self.shape(&self.b).await?);
        let differences = a.differences(&b);
        if self.view.json {
            say::json(&differences.iter().map(as_json).collect::<Vec<_>>())?;
        } else if differences.is_empty() {
            say::line("the same shape");
        } else {
            differences.iter().for_each(say::line);
        }
        Ok(if differences.is_empty() { exit::SUCCEEDED } else { exit::FAILED })
    }

    async fn shape(&self, named: &str) -> Result<Shape, CliError> {
        if let Ok(graph) = named.parse::<GraphId>() {
            let location = self.view.store.found()?;
            let client = location.open_to_read().await?;
            let detail = client.inspect().graph(graph).await?.ok_or_else(|| {
                let help = format!("list the graphs with `towpath graph list{}`", location.option());
                CliError::usage(format!("there is no graph {graph} in {}", location.shown()), help)
            })?;
            return Ok(Shape::of_stored(&detail));
        }
        let path = Path::new(named);
        let graph = if path.extension().is_some_and(|ext| ext == "toml") {
            let file = read_flow(path)?;
            let flow = file.parse(&Given { missing: Missing::Null, ..Given::default() }, &GraphLimits::HIGHEST)?;
            let source = FlowSource::new(&file, &flow, "diff");
            let cannot = |why| CliError::failed("make a graph of the flow", why);
            Graph::of_new(flow.into_graph(Client::new_graph_id(), &source).map_err(cannot)?)
        } else {
            Graph::from_json(&read(path)?)
        };
        Ok(graph.map_err(|invalid| CliError::graph(path, &invalid))?.shape())
    }
}

fn as_json(difference: &Difference) -> serde_json::Value {
    match difference {
        Difference::NodeAdded { node, kind } => json!({ "change": "added", "node": node, "kind": kind }),
        Difference::NodeRemoved { node, kind } => json!({ "change": "removed", "node": node, "kind": kind }),
        Difference::NodeChanged { node, changes } => json!({ "change": "changed", "node": node, "changes": changes }),
        Difference::EdgeAdded { parent, child, asks } => {
            json!({ "change": "added", "parent": parent, "child": child, "asks": asked(asks) })
        }
        Difference::EdgeRemoved { parent, child, asks } => {
            json!({ "change": "removed", "parent": parent, "child": child, "asks": asked(asks) })
        }
        other => json!({ "change": other.to_string() }),
    }
}

fn asked(asks: &str) -> &str {
    if asks.is_empty() { "succeeded" } else { asks }
}
