//! `towpath check`: a flow file, without running it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::ParamArgs;
use super::run::read_flow;
use crate::error::CliError;
use crate::flow::{Given, Missing};
use crate::{exit, say, words};

/// Check a flow file without running it
///
/// Says everything that is wrong with it and with the files that it includes, each problem with its place. Parameters
/// without a value are taken to be given.
///
/// Exit code: 0 it can be run, 2 it cannot.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The flow file, in TOML.
    #[arg(value_name = "FLOW.toml")]
    file: PathBuf,
    #[command(flatten)]
    params: ParamArgs,
    /// Answers in JSON.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self) -> Result<u8, CliError> {
        let given = Given { missing: Missing::Null, ..self.params.given()? };
        let flow = read_flow(&self.file)?.parse(&given)?;
        let edges: usize = flow.nodes.iter().map(|node| node.after.len()).sum();
        let undos = flow.nodes.iter().filter(|node| node.guards.is_some()).count();
        let nodes = flow.nodes.len() - undos;
        if self.json {
            say::json(&json!({ "name": flow.name, "nodes": nodes, "edges": edges, "undos": undos }))?;
        } else {
            let undos = if undos == 0 { String::new() } else { format!(", {}", words::count(undos, "undo", "undos")) };
            let (nodes, edges) = (words::count(nodes, "node", "nodes"), words::count(edges, "edge", "edges"));
            say::line(format_args!("{} is right: {nodes}, {edges}{undos}", flow.name));
        }
        Ok(exit::SUCCEEDED)
    }
}
