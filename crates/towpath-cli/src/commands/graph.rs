//! `towpath graph list`, `towpath graph show` and what else is done with graphs.

mod diff;
mod enqueue;

use std::collections::HashMap;

use clap::{Args, Subcommand};
use towpath::core::store::{GraphFilter, GraphStanding, Page};
use towpath::core::{GraphName, GraphRetry, Picture, StopReason};
use towpath::{GraphEnd, GraphId};

use super::{ViewArgs, follow, json, tell_of_more};
use crate::error::CliError;
use crate::held::Held;
use crate::table::Table;
use crate::{exit, say, summary, words};

/// Show, enqueue and compare graphs
#[derive(Debug, Args)]
pub(crate) struct Graph {
    #[command(subcommand)]
    command: GraphCommand,
}

#[derive(Debug, Subcommand)]
enum GraphCommand {
    List(List),
    Show(Show),
    Enqueue(enqueue::EnqueueGraph),
    Diff(diff::Diff),
}

/// List graphs, newest first
#[derive(Debug, Args)]
struct List {
    /// Only those of this name.
    #[arg(long, value_name = "NAME", value_parser = GraphName::new)]
    name: Option<GraphName>,
    /// Only those that have not ended.
    #[arg(long, conflicts_with = "end")]
    open: bool,
    /// Only those that ended so.
    #[arg(long, value_enum, value_name = "END")]
    end: Option<End>,
    /// Most lines, 1 to 1000.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    #[command(flatten)]
    view: ViewArgs,
}

/// How a graph ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum End {
    /// Nothing that counts failed, and nothing was cancelled
    Succeeded,
    /// A node that counts is dead or quarantined
    Failed,
    /// Nothing that counts failed, and something was cancelled
    Cancelled,
}

impl End {
    fn graph_end(self) -> GraphEnd {
        match self {
            Self::Succeeded => GraphEnd::Succeeded,
            Self::Failed => GraphEnd::Failed,
            Self::Cancelled => GraphEnd::Cancelled,
        }
    }
}

/// Show a graph with its nodes
#[derive(Debug, Args)]
struct Show {
    /// The graph.
    #[arg(value_name = "GRAPH-ID")]
    graph: GraphId,
    /// How to show it: drawn for a terminal, with a table of its nodes; as text that other programs draw; or as JSON,
    /// which is what `--json` gives.
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    /// Tells of each node's changes as they come, until the graph has ended. The exit code says how: 0 succeeded, 1 failed,
    /// 3 cancelled. With `--json` one object a line.
    #[arg(long, conflicts_with = "format")]
    follow: bool,
    #[command(flatten)]
    view: ViewArgs,
}

/// A form of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Drawn with lanes, and a table
    Text,
    /// A Mermaid flowchart
    Mermaid,
    /// Graphviz
    Dot,
    /// Everything, by field
    Json,
}

impl Graph {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        match self.command {
            GraphCommand::List(command) => command.run().await,
            GraphCommand::Show(command) => command.run().await,
            GraphCommand::Enqueue(command) => command.run().await,
            GraphCommand::Diff(command) => command.run().await,
        }
    }
}

impl List {
    async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open_to_read().await?;
        let standing = match self.end {
            Some(end) => GraphStanding::Ended(end.graph_end()),
            None if self.open => GraphStanding::Open,
            None => GraphStanding::Any,
        };
        let filter = GraphFilter { name: self.name, standing };
        let graphs = client.inspect().graphs(filter, Page { after: None, limit: self.limit }).await?;
        if self.view.json {
            say::json(&graphs.iter().map(json::graph_line).collect::<Vec<_>>())?;
            return Ok(exit::SUCCEEDED);
        }
        let mut table = Table::new(&["graph", "name", "end", "nodes", "created", "ended"]);
        for line in &graphs {
            let end = match (line.end, line.stop) {
                (Some(end), _) => end.to_string(),
                (None, Some(stop)) => format!("stopped to {stop}"),
                (None, None) => "-".to_owned(),
            };
            table.row(vec![
                line.id.to_string(),
                line.name.to_string(),
                end,
                line.nodes.to_string(),
                words::instant(line.created_at),
                line.ended_at.map_or_else(|| "-".into(), words::instant),
            ]);
        }
        table.print_or("no graphs");
        tell_of_more(graphs.len(), self.limit);
        Ok(exit::SUCCEEDED)
    }
}

impl Show {
    async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let detail = client.inspect().graph(self.graph).await?.ok_or_else(|| {
            let help = format!("list the graphs with `towpath graph list{}`", location.option());
            CliError::usage(format!("there is no graph {} in {}", self.graph, location.shown()), help)
        })?;
        if self.follow {
            return follow::graph(&client, self.graph, self.view.json).await;
        }
        let format = if self.view.json { Format::Json } else { self.format };
        let picture = Picture::of_stored(&detail, words::here_and_now());
        match format {
            Format::Text => {}
            Format::Mermaid => say::text(&picture.mermaid()),
            Format::Dot => say::text(&picture.dot()),
            Format::Json => {
                let mut graph = json::graph(&detail);
                Held::look(&client, &detail).await?.add_to(&mut graph, &detail);
                say::json(&graph)?;
            }
        }
        if format != Format::Text {
            return Ok(exit::SUCCEEDED);
        }
        let errors = summary::errors(&client, &detail).await?;
        let line = &detail.line;
        let state = line.end.map_or_else(|| "not ended".to_owned(), |end| end.to_string());
        say::line(format_args!("{} {state}: {}", line.name, summary::counts(&detail.nodes)));
        say::line(format_args!("created {}", words::instant(line.created_at)));
        if let Some(stop) = &detail.stopped {
            let what = if stop.reason == StopReason::Cancel {
                "cancelled".into()
            } else {
                format!("stopped to {}", stop.reason)
            };
            let why = if stop.why.is_empty() { String::new() } else { format!(": {}", stop.why) };
            say::line(format_args!("{what} by {} at {}{why}", stop.actor, words::instant(stop.at)));
            if let Some(due) = stop.due {
                say::line(format_args!("goes on at {}, or at once by `towpath retry`", words::instant(due)));
            }
        }
        if let Some(compensation) = line.compensation {
            say::line(format_args!("undos   {compensation}"));
        }
        match detail.rules.retry {
            Some(GraphRetry { attempts, .. }) if attempts > 1 => {
                say::line(format_args!("in generation {} of {attempts}", line.generation));
            }
            _ if line.generation > 1 => say::line(format_args!("retried, in generation {}", line.generation)),
            _ => {}
        }
        if let Some(of) = line.restart_of {
            say::line(format_args!("a restart of {of}"));
        }
        let held = Held::look(&client, &detail).await?;
        if let Some(inside) = held.inside() {
            say::line(inside);
        }
        for restart in &detail.restarts {
            say::line(format_args!("restarted as {restart}"));
        }
        if let Some(at) = line.ended_at {
            say::line(format_args!("ended   {}", words::instant(at)));
        }
        say::line("");
        let drawing = picture.text();
        if drawing.lines().count() <= DRAWN_LINES_MAX {
            say::line(drawing);
        }
        summary::nodes(&detail, &detail.nodes.iter().collect::<Vec<_>>(), &errors, &HashMap::new()).print();
        held.lines(&detail).iter().for_each(say::line);
        Ok(exit::SUCCEEDED)
    }
}

/// A longer drawing only pushes the table away.
const DRAWN_LINES_MAX: usize = 120;
