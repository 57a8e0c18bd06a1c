//! What runs write into streams, as the API has it.

use serde::Serialize;
use towpath::Kind;
use towpath::core::store;

use super::{Shown, instant};
use crate::app::Ctx;
use crate::options::Part;

/// A stream into which a run has written.
#[derive(Debug, Serialize)]
pub(crate) struct Stream {
    stream: String,
    lines: u64,
    at: Option<String>,
}

impl Stream {
    pub(crate) fn of(head: &store::StreamHead) -> Self {
        Self { stream: head.name.clone(), lines: head.lines, at: instant(head.at) }
    }
}

/// A line of one.
#[derive(Debug, Serialize)]
pub(crate) struct StreamLine {
    number: String,
    payload: Shown,
    at: Option<String>,
}

impl StreamLine {
    pub(crate) fn of(ctx: &Ctx, kind: &Kind, line: &store::StreamLine) -> Self {
        Self {
            number: line.number.to_string(),
            payload: Shown::of(ctx, kind, Part::Published, &line.payload),
            at: instant(line.at),
        }
    }
}
