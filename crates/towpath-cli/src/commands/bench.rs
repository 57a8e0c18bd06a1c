//! `towpath bench`: what this machine and this store give.

use clap::Args;

use crate::bench::{self, BenchArgs, ChildArgs};
use crate::error::CliError;
use crate::exit;

/// Measure what a store gives on this machine, with the library's own defaults
///
/// Files or a schema of its own are made, filled and removed; work that is in a store is never touched.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    args: BenchArgs,
}

impl Bench {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        bench::run(self.args).await.map_err(failed)?;
        Ok(exit::SUCCEEDED)
    }
}

/// A process that the bench starts.
#[derive(Debug, Args)]
pub(crate) struct BenchChild {
    #[command(flatten)]
    args: ChildArgs,
}

impl BenchChild {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        bench::run_child(self.args).await.map_err(failed)?;
        Ok(exit::SUCCEEDED)
    }
}

fn failed(report: miette::Report) -> CliError {
    match report.help() {
        Some(help) => CliError::usage(report.to_string(), help.to_string()),
        None => CliError::failed("measure", format!("{report:#}")),
    }
}
