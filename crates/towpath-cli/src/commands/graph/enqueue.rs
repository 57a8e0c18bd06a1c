//! `towpath graph enqueue`: a graph that is written as JSON, into a store.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use towpath::{Error, Graph, Placed};

use super::super::{LimitArgs, ViewArgs};
use crate::error::CliError;
use crate::{exit, say};

/// Enqueue a graph that is written as JSON
///
/// The whole text is checked first, and everything that is wrong with it is said. Its nodes are run by the workers that
/// serve their kinds. `towpath schema graph` prints what the text may hold.
///
/// Exit code: 0 enqueued, 1 the store did not take it, 2 bad file or usage.
#[derive(Debug, Args)]
pub(super) struct EnqueueGraph {
    /// The graph, in JSON; `-` reads stdin.
    #[arg(value_name = "FILE.json")]
    file: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    view: ViewArgs,
}

impl EnqueueGraph {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let graph = Graph::from_json_within(&read(&self.file)?, &self.limits.limits())
            .map_err(|invalid| CliError::graph(&self.file, &invalid))?;
        let location = self.view.store.found_or_made()?;
        let client = self.limits.apply(location.open().await?)?;
        let name = graph.name().clone();
        let handle = graph.enqueue(&client).await.map_err(|error| match error {
            Error::Graph(invalid) => CliError::graph(&self.file, &invalid),
            error => error.into(),
        })?;
        let is_new = handle.placed() == Placed::Inserted;
        if self.view.json {
            say::json(&json!({ "id": handle.id(), "name": name, "enqueued": is_new }))?;
        } else if is_new {
            say::line(format_args!("{name} is enqueued: towpath graph show{} {}", location.option(), handle.id()));
        } else {
            say::line(format_args!(
                "{name} was there already: towpath graph show{} {}",
                location.option(),
                handle.id()
            ));
        }
        Ok(exit::SUCCEEDED)
    }
}

/// The text of a file, or of stdin.
pub(super) fn read(file: &Path) -> Result<String, CliError> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|e| {
        CliError::usage(format!("cannot read the graph {}: {e}", file.display()), "name a file, or `-` for stdin")
    })
}
