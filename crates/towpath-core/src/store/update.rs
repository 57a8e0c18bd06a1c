//! Updates: signals that the function answers. The answer is shown to whoever has asked, under a name that only they share.

use serde::{Deserialize, Serialize};

use crate::name::{Label, RunId};
use crate::payload::{EncodeError, Payload};

use super::show::Showing;
use super::signal::Arrival;

/// Somebody who asks a run, and is to find the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    update: Label,
    /// The name under which the run shows its answer.
    answer: String,
    /// Whether a second one with the same id is none.
    is_named: bool,
}

/// What an update carries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked<I> {
    /// The name under which the answer is to be shown.
    pub answer: String,
    /// What is asked.
    pub input: I,
}

impl Asking {
    /// Asks once: `token` is drawn for it. The answer is kept for a while only
    /// ([`KEEP_ANSWER`](crate::defaults::KEEP_ANSWER)), if the run goes on for long.
    pub fn once(update: Label, token: &str) -> Self {
        let answer = format!("{}{update}/{token}", Showing::PASSING);
        Self { update, answer, is_named: false }
    }

    /// Asks under an id of the asker's: a second one with it is none, and finds the same answer as long as the run is there.
    pub fn named(update: Label, id: &str) -> Self {
        let answer = format!("{update}/{id}");
        Self { update, answer, is_named: true }
    }

    /// The name under which the run shows its answer.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// The name of the arrivals that bring such updates.
    pub fn label(update: &str) -> Label {
        Label::from_stored(&format!("towpath.update.{update}"))
    }

    /// What is sent to the run.
    ///
    /// # Errors
    /// The input has no stored form.
    pub fn arrival<I: Serialize>(&self, run: RunId, input: &I) -> Result<Arrival, EncodeError> {
        let payload = Payload::json(&Asked { answer: self.answer.clone(), input })?;
        let arrival = Arrival::new(run, Self::label(self.update.as_str()), payload);
        Ok(if self.is_named { arrival.dedup(format!("towpath.update.{}", self.answer)) } else { arrival })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_updates_under_one_id_are_two() {
        let label = |name: &str| Label::new(name).unwrap();
        let run = RunId::new("r").unwrap();
        let (add, set) = (Asking::named(label("add"), "7"), Asking::named(label("set"), "7"));
        assert_ne!(add.answer(), set.answer());
        let arrivals = [&add, &set].map(|asking| asking.arrival(run.clone(), &1).unwrap());
        assert_ne!(arrivals[0].dedup, arrivals[1].dedup);
        assert_eq!(arrivals[0].name.as_str(), "towpath.update.add");
        assert_eq!(&arrivals[0].payload.bytes[..], br#"{"answer":"add/7","input":1}"#);
    }

    #[test]
    fn what_is_asked_once_leaves_no_key() {
        let once = Asking::once(Label::new("add").unwrap(), "t");
        assert!(once.answer().starts_with(Showing::PASSING));
        assert_eq!(once.arrival(RunId::new("r").unwrap(), &1).unwrap().dedup, None);
    }
}
