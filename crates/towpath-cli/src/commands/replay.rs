//! `towpath replay`: histories of the product's own functions against this build, without a store.

use std::path::PathBuf;

use clap::Args;
use towpath::testing::{History, replay_builtin};

use crate::error::CliError;
use crate::{exit, say, words};

/// Check whether this release can go on with a run, by its history
///
/// A history is what `towpath history RUN-ID` prints. The function is rebuilt from it, as a worker would, without a store: an update
/// is tried in this way before it is rolled out. Only functions of towpath's own are known here: waits for signals, nodes
/// that hold a graph, and nodes with a list. Those of your own are replayed in a test, by `towpath::testing::assert_replays`.
///
/// Exit code: 0 all can go on, 1 one cannot, 2 a file is no such history.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The histories, in lines of JSON.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Replay {
    pub(super) fn run(self) -> Result<u8, CliError> {
        let mut code = exit::SUCCEEDED;
        for file in &self.files {
            let shown = file.display();
            let usage = |what: String| CliError::usage(what, "print one with `towpath history RUN-ID`");
            let text = std::fs::read_to_string(file).map_err(|e| usage(format!("{shown} cannot be read: {e}")))?;
            let history = History::from_json_lines(&text).map_err(|e| usage(format!("{shown} is no history: {e}")))?;
            if history.entries.is_empty() {
                return Err(usage(format!("{shown} has no entry: it shows nothing")));
            }
            let header = &history.header;
            let of = format!("{shown}: run {} of {} v{}", header.run, header.function, header.version);
            match replay_builtin(&history) {
                Some(Ok(())) => {
                    let lines = words::count(history.entries.len(), "line", "lines");
                    say::line(format_args!("{of} goes on: {lines}"));
                }
                Some(Err(problem)) => {
                    say::line(format_args!("{of} does not replay: {problem}"));
                    code = exit::FAILED;
                }
                None => {
                    let help = "replay a function of your own in a test, with `towpath::testing::assert_replays`";
                    return Err(CliError::usage(format!("{of} is of no function that towpath knows"), help));
                }
            }
        }
        Ok(code)
    }
}
