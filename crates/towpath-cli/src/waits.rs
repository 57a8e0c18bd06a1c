//! Nodes that wait for a signal go on only if somebody sends it: how, is told once for each, also of those in flows that the
//! flow's nodes run.

use std::collections::HashSet;

use towpath::core::State;
use towpath::core::builtin::{self, Map, Nested, Wait};
use towpath::core::store::{GraphDetail, GraphStanding, Page};
use towpath::{Client, GraphId};

use crate::error::CliError;

/// What was told, and of which graphs.
pub(crate) struct Waits {
    store_option: String,
    /// The flow's graph, and those inside it that were seen.
    graphs: HashSet<GraphId>,
    /// Graphs of others.
    others: HashSet<GraphId>,
    /// Whether a graph inside it waits for anything.
    holds_waits: bool,
    told: usize,
}

impl Waits {
    pub(crate) fn new(store_option: &str) -> Self {
        let (graphs, others) = (HashSet::new(), HashSet::new());
        Self { store_option: store_option.to_owned(), graphs, others, holds_waits: false, told: 0 }
    }

    /// What a graph waits for, as it stands now.
    ///
    /// # Errors
    /// The store could not be asked.
    pub(crate) async fn of_graph(&mut self, client: &Client, detail: &GraphDetail) -> Result<Vec<String>, CliError> {
        let graph = detail.line.id;
        self.graphs.insert(graph);
        let mut lines = Vec::new();
        for node in detail.nodes.iter().filter(|node| !matches!(node.state, State::Ended(_))) {
            let kind = node.kind.as_str();
            if ![builtin::SIGNAL, builtin::GRAPH, builtin::MAP].contains(&kind) || self.told >= TOLD_MAX {
                continue;
            }
            let Some(input) = client.inspect().job(node.job).await?.map(|job| job.input) else { continue };
            if kind != builtin::SIGNAL {
                let held = match kind {
                    builtin::GRAPH => input.decode::<Nested>().ok().map(|nested| nested.graph),
                    _ => input.decode::<Map>().ok().and_then(|map| match map.each {
                        builtin::Each::Graph(graph) => Some(graph),
                        builtin::Each::Job(_) => None,
                    }),
                };
                self.holds_waits |= held.is_some_and(|held| held.get().contains("\"signal\""));
                continue;
            }
            let Ok(Wait { signal, .. }) = input.decode::<Wait>() else { continue };
            let (name, store_option) = (&node.name, &self.store_option);
            lines.push(format!("{name} waits for: towpath signal{store_option} '{graph}/{name}' {signal}"));
            self.told += 1;
        }
        Ok(lines)
    }

    /// What graphs wait for that were begun inside it since this was asked last.
    ///
    /// # Errors
    /// The store could not be asked.
    pub(crate) async fn inside(&mut self, client: &Client) -> Result<Vec<String>, CliError> {
        let mut lines = Vec::new();
        if !self.holds_waits || self.told >= TOLD_MAX {
            return Ok(lines);
        }
        let open = client.inspect().graphs(GraphStanding::Open.into(), Page::default()).await?;
        // Those that stand in others were begun after them.
        for line in open.iter().rev() {
            if self.graphs.contains(&line.id) || self.others.contains(&line.id) {
                continue;
            }
            let holder = client.holder(line.id).await.map_err(|e| CliError::failed("look for its holder", e))?;
            let is_inside = holder.and_then(|job| job.node).is_some_and(|node| self.graphs.contains(&node.graph));
            match client.inspect().graph(line.id).await? {
                Some(detail) if is_inside => lines.extend(self.of_graph(client, &detail).await?),
                _ => drop(self.others.insert(line.id)),
            }
        }
        Ok(lines)
    }
}

/// More are found by `towpath graph show`.
const TOLD_MAX: usize = 10;
