//! `towpath completions`: what a shell needs to complete this command.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::error::CliError;
use crate::{exit, say};

/// Print a script that completes `towpath` in a shell
///
/// Such as `towpath completions bash > ~/.local/share/bash-completion/completions/towpath`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<u8, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "towpath", &mut script);
        say::text(&String::from_utf8_lossy(&script));
        Ok(exit::SUCCEEDED)
    }
}
