//! A script that cannot be carried out, as opposed to a store that answers otherwise than expected.

use std::fmt;

/// What is wrong with a script, or with the surroundings that it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// What is wrong and what was expected.
    pub message: String,
}

impl ScriptError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}
