//! Signals: what is sent to a run, and what the store answers.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::name::{Label, RunId};
use crate::payload::Payload;
use crate::time::Timestamp;

use super::enqueue::Refusal;
use super::error::{StoreError, StoreErrorKind};

/// Who has asked a run to cancel, and why: the payload of the arrival that says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelNote {
    /// Who.
    pub actor: String,
    /// Why, in their words.
    pub reason: String,
}

impl CancelNote {
    /// The name and the dedup key of the arrival. No signal of a user's has it.
    pub const NAME: &'static str = "towpath.cancel";
}

/// A signal to a run, which need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The run.
    pub run: RunId,
    /// What the run waits for it by.
    pub name: Label,
    /// A second signal to the same run with this key is none. At most 256 bytes; it lives as long as the run.
    pub dedup: Option<String>,
    /// What it carries.
    pub payload: Payload,
}

impl Arrival {
    /// The name of an arrival of which only the dedup key is left: no wait takes it.
    pub const TAKEN: &'static str = "towpath.taken";

    /// A signal without a dedup key.
    pub fn new(run: RunId, name: Label, payload: Payload) -> Self {
        Self { run, name, dedup: None, payload }
    }

    /// Sets the dedup key.
    pub fn dedup(mut self, key: impl Into<String>) -> Self {
        self.dedup = Some(key.into());
        self
    }

    /// What asks a run to cancel: its undos are then part of its history. A second one is none.
    pub fn cancel(run: RunId, note: &CancelNote) -> Self {
        // No text of this shape lacks a JSON form but one with a NUL, which no store keeps.
        let text = |text: &str| text.replace('\0', "\u{2400}");
        let note = CancelNote { actor: text(&note.actor), reason: text(&note.reason) };
        let payload =
            Payload::json(&note).unwrap_or_else(|_| Payload::json_bytes(&b"{\"actor\":\"\",\"reason\":\"\"}"[..]));
        Self::new(run, Label::from_stored(CancelNote::NAME), payload).dedup(CancelNote::NAME)
    }

    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        let dedup = self.dedup.as_ref().map_or(0, String::len);
        self.payload.bytes.len() + self.run.as_str().len() + self.name.as_str().len() + dedup + 64
    }

    /// Checks the limits of one signal.
    ///
    /// # Errors
    /// The first that it breaks, with both numbers.
    pub fn check(&self) -> Result<(), Refusal> {
        let over = |what: &str, bytes: usize, max: usize| {
            Err(Refusal::TooLarge { what: format!("{what} of signal {} to run {}", self.name, self.run), bytes, max })
        };
        if self.payload.bytes.len() > limits::PAYLOAD_BYTES_MAX {
            return over("the payload", self.payload.bytes.len(), limits::PAYLOAD_BYTES_MAX);
        }
        if let Err(e) = self.payload.check_text() {
            let problem = format!("the payload of signal {} to run {}: {e}", self.name, self.run);
            return Err(Refusal::Invalid { problem });
        }
        let Some(key) = &self.dedup else { return Ok(()) };
        if key.len() > limits::DEDUP_KEY_BYTES_MAX {
            return over("the dedup key", key.len(), limits::DEDUP_KEY_BYTES_MAX);
        }
        if key.contains('\0') {
            let problem = format!("the dedup key of signal {} to run {} holds a NUL character", self.name, self.run);
            return Err(Refusal::Invalid { problem });
        }
        Ok(())
    }

    /// Refuses a batch that is too large as a whole, before anything is written.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] with both sizes: split the batch.
    pub fn check_batch(batch: &[Self]) -> Result<(), StoreError> {
        let bytes: usize = batch.iter().map(Self::bytes).sum();
        if bytes > limits::BATCH_BYTES_MAX {
            let message = format!("the batch has {bytes} bytes, at most {} are allowed", limits::BATCH_BYTES_MAX);
            return Err(StoreError::new(StoreErrorKind::Invalid, "signal", message));
        }
        Ok(())
    }
}

/// What became of a batch of signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// The store's clock in that transaction.
    pub now: Timestamp,
    /// An answer for each signal, in order.
    pub items: Vec<Result<Delivery, Refusal>>,
}

/// What became of a signal that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is in the inbox of a run that has not ended, for the first wait of its name.
    Delivered,
    /// No run has this id. It is kept for [`KEEP_ARRIVAL`](crate::defaults::KEEP_ARRIVAL), and is there if one starts.
    Kept,
    /// One with its dedup key was there already.
    Duplicate,
    /// The run has ended: nobody would take it, and nothing was written.
    Ended,
}

impl Delivery {
    /// Its word, in a store's text and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Kept => "kept",
            Self::Duplicate => "duplicate",
            Self::Ended => "ended",
        }
    }

    /// What a word says.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Delivered, Self::Kept, Self::Duplicate, Self::Ended].into_iter().find(|known| known.word() == word)
    }
}
