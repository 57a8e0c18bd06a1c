//! Randomness and the host's clock: what the core takes as parameters.

use std::time::{SystemTime, UNIX_EPOCH};

use towpath_core::{GraphId, Incarnation, JobId, Timestamp};

/// Random bytes from the operating system; if it has none, bytes that differ from call to call.
fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if getrandom::fill(&mut bytes).is_err() {
        use std::hash::{BuildHasher, RandomState};
        for chunk in bytes.chunks_mut(8) {
            let word = RandomState::new().hash_one(now().as_micros()).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
    bytes
}

/// The host's clock. Only ids are made from it; the store's clock decides what is due.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(towpath_core::micros(since))
}

/// At least zero, and less than one.
pub(crate) fn fraction() -> f64 {
    f64::from(u32::from_le_bytes(bytes())) / (f64::from(u32::MAX) + 1.0)
}

pub(crate) fn job_id() -> JobId {
    JobId::from_parts(now(), bytes())
}

pub(crate) fn graph_id() -> GraphId {
    GraphId::from_parts(now(), bytes())
}

pub(crate) fn incarnation() -> Incarnation {
    Incarnation::from_bytes(bytes())
}
