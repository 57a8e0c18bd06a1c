//! `towpath check`: a flow file, without running it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::run::read_flow;
use super::{LimitArgs, ParamArgs};
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
    #[command(flatten)]
    limits: LimitArgs,
    /// Answers in JSON.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self) -> Result<u8, CliError> {
        let given = Given { missing: Missing::Null, ..self.params.given()? };
        let flow = match read_flow(&self.file)?.parse(&given, &self.limits.limits()) {
            Err(problems) if self.json => {
                say::json(&json!({ "problems": problems.to_json() }))?;
                return Ok(exit::USAGE);
            }
            flow => flow?,
        };
        let edges: usize = flow.nodes.iter().map(|node| node.after.len()).sum();
        let undos = flow.nodes.iter().filter(|node| node.guards.is_some()).count();
        let nodes = flow.nodes.len() - undos;
        // Each is a node of its own in the graph, before the node that it is of.
        let conditions = flow.nodes.iter().filter(|node| node.guard.is_some()).count();
        if self.json {
            let (name, problems): (_, [(); 0]) = (&flow.name, []);
            say::json(&json!({
                "name": name, "nodes": nodes, "edges": edges, "conditions": conditions, "undos": undos, "problems": problems
            }))?;
        } else {
            let some = |count: usize, one: &str, many: &str| match count {
                0 => String::new(),
                count => format!(", {}", words::count(count, one, many)),
            };
            let (nodes, edges) = (words::count(nodes, "node", "nodes"), words::count(edges, "edge", "edges"));
            let conditions = some(conditions, "condition `if`", "conditions `if`");
            let undos = some(undos, "undo", "undos");
            say::line(format_args!("{} is right: {nodes}, {edges}{conditions}{undos}", flow.name));
        }
        Ok(exit::SUCCEEDED)
    }
}
