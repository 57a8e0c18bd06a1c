//! `towpath schema`: the JSON Schemas of what is written by hand.

use clap::{Args, ValueEnum};

use crate::error::CliError;
use crate::{exit, say};

/// Print the JSON Schema of a flow file or of a graph, for editors and other programs
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what.
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A flow file, whose TOML has the same shape
    Flow,
    /// A graph that is written as JSON: what `towpath graph enqueue` reads
    Graph,
}

impl Schema {
    pub(super) fn run(self) -> Result<u8, CliError> {
        match self.what {
            What::Flow => say::json(&crate::flow::schema())?,
            What::Graph => say::json(&towpath::core::graph_schema())?,
        }
        Ok(exit::SUCCEEDED)
    }
}
