//! The jobs of the bench.

use serde::{Deserialize, Serialize};
use towpath::Job;

/// A job that does nothing, with about 200 bytes of input.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bench-noop")]
pub(crate) struct Noop {
    number: usize,
    text: String,
}

impl Noop {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, text: "the boat is drawn along the canal by a horse on the towpath, ".repeat(3) }
    }
}

/// A job that says when it started, in microseconds of the host's clock.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bench-wake", output = u64)]
pub(crate) struct Wake(pub(crate) u32);
