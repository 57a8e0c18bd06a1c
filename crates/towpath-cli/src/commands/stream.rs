//! `towpath stream`: read what a run writes into a stream.

use clap::Args;
use serde_json::json;
use serde_json::value::RawValue;
use towpath::StreamError;
use towpath::durable::Line;

use super::ViewArgs;
use crate::error::CliError;
use crate::{exit, say, words};

/// Print the lines of a stream of a run
///
/// One JSON value a line: those that are there, or with `--follow` those to come too, until the run ends.
#[derive(Debug, Args)]
pub(crate) struct StreamCommand {
    /// The run.
    #[arg(value_name = "RUN-ID")]
    run: String,
    /// The stream's name.
    #[arg(value_name = "NAME")]
    name: String,
    /// Only lines after the one of this number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Waits for further lines until the run has ended.
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    view: ViewArgs,
}

impl StreamCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open().await?;
        let mut lines = client.stream_named::<Box<RawValue>>(&self.run, &self.name).after(self.after);
        loop {
            let next = if self.follow { lines.next().await } else { lines.try_next().await };
            match next {
                Ok(Some(Line { number, at, value, .. })) if self.view.json => {
                    say::line(json!({ "number": number, "at": words::instant(at), "value": value }));
                }
                Ok(Some(line)) => say::line(line.value.get()),
                Ok(None) => return Ok(exit::SUCCEEDED),
                Err(error @ (StreamError::Unknown { .. } | StreamError::Name(_))) => {
                    return Err(CliError::usage(error.to_string(), "see the runs with `towpath jobs --runs`"));
                }
                Err(error) => return Err(CliError::failed("read the stream", error)),
            }
        }
    }
}
