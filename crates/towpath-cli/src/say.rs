//! Words to stdout. A reader that has seen enough and went away is no error.

use std::fmt;
use std::io::Write;

use serde::Serialize;

use crate::error::CliError;

/// Writes a line.
pub(crate) fn line(text: impl fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Writes a remark about what stdout says to stderr, where a program that reads stdout does not meet it.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a text as it is.
pub(crate) fn text(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Writes a value as JSON, with a line end.
///
/// # Errors
/// It has no JSON form.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let json = serde_json::to_string_pretty(value).map_err(|e| CliError::failed("write JSON", e))?;
    line(json);
    Ok(())
}
