//! `towpath resume`: a stored graph that has not ended, carried on.

use std::collections::HashMap;

use clap::Args;
use towpath::core::store::{GraphDetail, GraphLine, GraphStanding, Page};
use towpath::{Client, GraphId};

use super::{DriveArgs, LimitArgs, StoreArgs};
use crate::drive::Start;
use crate::error::CliError;
use crate::flow::{FlowFile, FlowSource};
use crate::{exit, say, summary, words};

/// Carry on with a flow that was interrupted or killed
///
/// What has succeeded does not run again; what was running does, after what is left of it was stopped. It is the stored
/// flow that goes on, also if the file has changed since.
///
/// Exit code: as of `towpath run`.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The graph; not needed while only one of the store has not ended.
    #[arg(value_name = "GRAPH-ID")]
    graph: Option<GraphId>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl Resume {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.store.found()?;
        let client = self.limits.apply(location.open().await?)?;
        let graph = match self.graph {
            Some(graph) => graph,
            None => match the_only_unfinished(&client, &location.shown()).await? {
                Choice::Unfinished(graph) => graph,
                Choice::AllEnded(newest) => {
                    say::line(
                        "nothing to resume: every graph has ended; this was the last one (`towpath run FILE` runs a flow anew)",
                    );
                    newest
                }
            },
        };
        let detail = client.inspect().graph(graph).await?;
        let detail = detail.ok_or_else(|| {
            let help = format!("list the graphs with `towpath graph list{}`", location.option());
            CliError::usage(format!("there is no graph {graph} in {}", location.shown()), help)
        })?;
        let source = source(&detail)?;
        if let Some(end) = detail.line.end {
            let (took, store_option) = (&HashMap::new(), location.option());
            summary::About { graph, end, resumed: None, took, store_option: &store_option }.print(&client).await?;
            return Ok(exit::of(end));
        }
        tell_of_change(&source);
        say::line(format_args!("resuming {} ({}): {}", detail.line.name, graph, summary::counts(&detail.nodes)));
        super::run::drive(&client, &location, graph, &source, self.drive.parallel(), Start::Resumed).await
    }
}

enum Choice {
    Unfinished(GraphId),
    AllEnded(GraphId),
}

async fn the_only_unfinished(client: &Client, store: &str) -> Result<Choice, CliError> {
    let open = by_themselves(client, GraphStanding::Open, SHOWN_MAX).await?;
    match open.as_slice() {
        [only] => Ok(Choice::Unfinished(only.id)),
        [] => match by_themselves(client, GraphStanding::Any, 1).await?.first() {
            Some(line) => Ok(Choice::AllEnded(line.id)),
            None => Err(CliError::usage(
                format!("there is no graph in {store}"),
                "the flow was not stored before it was killed: start it with `towpath run FLOW.toml`",
            )),
        },
        several => Err(CliError::usage(
            format!("{} have not ended:\n{}", words::count(several.len(), "graph", "graphs"), list(several)),
            "name the one to resume: towpath resume GRAPH-ID",
        )),
    }
}

/// The newest graphs that stand so and inside no other, as far as some hundred of all are looked at.
pub(super) async fn by_themselves(
    client: &Client,
    standing: GraphStanding,
    most: usize,
) -> Result<Vec<GraphLine>, CliError> {
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = Page { after, ..Page::default() };
        let lines = client.inspect().graphs(standing.into(), page).await?;
        let is_last = lines.len() < page.limit as usize;
        after = lines.last().map(|line| line.key);
        for line in lines {
            let holder = client.holder(line.id).await.map_err(|e| CliError::failed("look for its holder", e))?;
            if holder.is_none() {
                found.push(line);
            }
            if found.len() >= most {
                return Ok(found);
            }
        }
        if is_last {
            break;
        }
    }
    Ok(found)
}

fn list(graphs: &[GraphLine]) -> String {
    let lines = graphs.iter().map(|g| format!("  {}  {}  since {}", g.id, g.name, words::instant(g.created_at)));
    lines.collect::<Vec<_>>().join("\n")
}

fn source(detail: &GraphDetail) -> Result<FlowSource, CliError> {
    let source = detail.input.as_ref().and_then(|input| input.decode().ok());
    source.ok_or_else(|| {
        CliError::usage(
            format!("the graph {} was not started by `towpath run`", detail.line.id),
            "it is carried on by the workers of the application that enqueued it",
        )
    })
}

/// The stored flow goes on; a changed file is not looked into, but its author should know.
fn tell_of_change(source: &FlowSource) {
    let shown = source.file.display();
    match FlowFile::read(&source.file) {
        Ok(file) if file.hash() == source.hash => {}
        Ok(_) => say::remark(format_args!("note: {shown} has changed since; the flow goes on as it was stored")),
        Err(_) => say::remark(format_args!("note: {shown} cannot be read any more; the flow goes on as it was stored")),
    }
}

pub(super) const SHOWN_MAX: usize = 20;
/// A node that runs a flow for each element of a list has at most 1,000 of them at work at once.
const PAGES_MAX: usize = 11;
