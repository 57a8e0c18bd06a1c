//! How far a job has come, in the words of its handler.

use serde::{Deserialize, Serialize};

use crate::limits;

/// How far a job has come. The newest one counts; older ones are forgotten.
///
/// ```
/// use towpath_core::Progress;
/// let progress = Progress::of(30, 120).say("rows of orders.csv");
/// assert_eq!((progress.fraction(), progress.to_string()), (Some(0.25), "30 of 120 (25 %): rows of orders.csv".into()));
/// assert_eq!(Progress::from(0.5).to_string(), "50 %");
/// assert_eq!(Progress::counted(7).to_string(), "7");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done, in the handler's own unit.
    #[serde(default)]
    pub done: u64,
    /// How much there is in all; `None` while nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What the handler says of it, for people; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether the numbers are parts of a whole only, and say nothing to people.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_part: bool,
}

/// Parts of a whole that a fraction is kept in.
const PARTS: u64 = 10_000;

impl Progress {
    /// So many of so many.
    pub fn of(done: u64, total: u64) -> Self {
        Self { done, total: Some(total), ..Self::default() }
    }

    /// So many, of nobody knows how many.
    pub fn counted(done: u64) -> Self {
        Self { done, ..Self::default() }
    }

    /// Only words.
    pub fn said(message: impl Into<String>) -> Self {
        Self::default().say(message)
    }

    /// Says something of it; more than 512 bytes are cut.
    pub fn say(mut self, message: impl Into<String>) -> Self {
        let message: String = message.into();
        // NUL cannot be kept by every store.
        self.message = limits::cut(&message.replace('\0', "\u{FFFD}"), limits::PROGRESS_BYTES_MAX);
        self
    }

    /// How much of the whole is done, from 0 to 1; `None` if there is no total.
    pub fn fraction(&self) -> Option<f64> {
        let total = self.total.filter(|total| *total > 0)?;
        #[allow(clippy::cast_precision_loss, reason = "a bar needs no more")]
        Some((self.done as f64 / total as f64).clamp(0.0, 1.0))
    }

    /// What the stores keep.
    pub fn to_stored(&self) -> String {
        // A map of numbers and texts always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote.
    ///
    /// # Errors
    /// It is of another shape: a newer release wrote it.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl From<f64> for Progress {
    /// A fraction, from 0 to 1; anything else counts as the nearer of the two, and no number as 0.
    fn from(fraction: f64) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10,000; NaN becomes 0")]
        let done = (fraction.clamp(0.0, 1.0) * PARTS as f64).round() as u64;
        Self { done, total: Some(PARTS), is_part: true, ..Self::default() }
    }
}

impl From<(u64, u64)> for Progress {
    /// So many of so many.
    fn from((done, total): (u64, u64)) -> Self {
        Self::of(done, total)
    }
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = self.fraction().map(|fraction| format!("{:.0} %", (fraction * 100.0).floor()));
        let numbers = match (self.total, percent) {
            (Some(_), Some(percent)) if self.is_part => percent,
            (Some(total), Some(percent)) => format!("{} of {total} ({percent})", self.done),
            (Some(total), None) => format!("{} of {total}", self.done),
            (None, _) if self.done == 0 && !self.message.is_empty() => return f.write_str(&self.message),
            (None, _) => self.done.to_string(),
        };
        if self.message.is_empty() { f.write_str(&numbers) } else { write!(f, "{numbers}: {}", self.message) }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(is: &bool) -> bool {
    !is
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_stay_between_nothing_and_all() {
        let fractions = [-1.0, 0.0, 0.333_33, 1.0, 7.0, f64::NAN].map(|f| Progress::from(f).fraction());
        assert_eq!(fractions, [Some(0.0), Some(0.0), Some(0.3333), Some(1.0), Some(1.0), Some(0.0)]);
        assert_eq!(Progress::of(9, 3).fraction(), Some(1.0));
        assert_eq!((Progress::of(1, 0).fraction(), Progress::counted(1).fraction()), (None, None));
    }

    #[test]
    fn what_is_stored_is_read_again_and_what_is_almost_done_is_not_shown_as_done() {
        let progress = Progress::of(999, 1_000).say("x".repeat(1_000));
        assert_eq!(Progress::from_stored(&progress.to_stored()).unwrap(), progress);
        assert!(progress.message.len() <= 512);
        assert!(progress.to_string().starts_with("999 of 1000 (99 %): xxx"));
        assert_eq!(Progress::said("looks for a host").to_string(), "looks for a host");
    }
}
