//! Children of runs: where a child tells its end, and what it says.

use serde::{Deserialize, Serialize};

use crate::graph::GraphEnd;
use crate::id::{GraphId, JobId};
use crate::lifecycle::{Cause, End};
use crate::name::{Label, RunId};
use crate::payload::{Codec, Payload};
use crate::replay::Outcome;

use super::signal::Arrival;
use super::turn::{Closing, Ending};

/// The run that has started a job, and how that run waits for its end. It is a rule of the job (of a graph: of its `end`),
/// so that other jobs pay nothing for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parent {
    /// The run.
    pub run: RunId,
    /// The name of the arrival that tells it of the end; `None` if the child is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Label>,
}

impl Parent {
    /// The name of the arrival that ends the wait at a place in a chapter of a run. No signal of a user's has it.
    pub fn label(chapter: u32, place: u32) -> Label {
        Label::from_stored(&format!("{}{chapter}.{place}", Self::PREFIX))
    }

    /// What the names of all such arrivals begin with.
    pub const PREFIX: &'static str = "towpath.child.";
}

/// What a run has started: whom to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Child {
    /// A job, or a run.
    Job(JobId),
    /// A graph.
    Graph(GraphId),
}

/// To whom an end is told, in the commit that writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// The run.
    pub run: RunId,
    /// The name and the dedup key of the arrival.
    pub name: Label,
    /// What the function of a child that is a run has returned as its error.
    pub error: Option<Outcome>,
}

/// How a child ended: the payload of the arrival that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildEnd {
    /// A job or a run.
    Job {
        /// The end.
        end: End,
        /// Why, unless it is a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// What it left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Outcome>,
        /// What a durable function returned as its error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Outcome>,
        /// The error of the last attempt, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A graph.
    Graph {
        /// The end.
        end: GraphEnd,
    },
    /// It never began: the store has refused it.
    Refused {
        /// Why.
        problem: String,
    },
}

/// An error that is larger is told by its text only, so that all of it fits into one line of a journal.
const ERROR_BYTES_MAX: usize = 512 << 10;

impl ChildEnd {
    fn arrival(&self, to: &Telling) -> Arrival {
        // Its parts were checked when they were made; what would have no stored form says at least that it is over.
        let payload = Payload::json(self).unwrap_or_default();
        Arrival::new(to.run.clone(), to.name.clone(), payload).dedup(to.name.as_str())
    }
}

impl Ending {
    /// The arrival that tells of this end, if somebody waits for it. It is written past the limit of an inbox.
    pub fn arrival(&self) -> Option<Arrival> {
        let to = self.tells.as_deref()?;
        let json = |payload: &Payload| match payload.codec {
            Codec::Json => Outcome::from_json(&payload.bytes).ok(),
            Codec::Raw | Codec::Blob => None,
        };
        let end = ChildEnd::Job {
            end: self.end,
            cause: self.cause.clone(),
            output: self.output.as_ref().and_then(json),
            error: to.error.clone().filter(|error| error.json().len() <= ERROR_BYTES_MAX),
            message: self
                .record
                .as_ref()
                .and_then(|record| record.error.clone())
                .map(|text| text.replace('\0', "\u{2400}")),
        };
        Some(end.arrival(to))
    }
}

impl Closing {
    /// The same of a graph.
    pub fn arrival(&self) -> Option<Arrival> {
        let to = self.tells.as_deref()?;
        Some(ChildEnd::Graph { end: self.end }.arrival(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{AttemptOutcome, AttemptRecord, Counters};
    use std::time::Duration;

    fn ending(error: Option<Outcome>) -> Ending {
        let tells = Telling { run: RunId::from_stored("r"), name: Parent::label(1, 4), error };
        let counters = Counters::default();
        Ending {
            tells: Some(Box::new(tells)),
            ..Ending::plain(End::Dead, Some(Cause::Permanent), Duration::ZERO, counters)
        }
    }

    #[test]
    fn an_end_is_told_once_and_whole() {
        let error = Outcome::of("no").unwrap();
        let (attempt, outcome) = (1, AttemptOutcome::Failed);
        let record = AttemptRecord { attempt, outcome, error: Some("no\0".into()), log: None };
        let arrival = Ending { record: Some(record), ..ending(Some(error.clone())) }.arrival().unwrap();
        assert_eq!((arrival.name.as_str(), arrival.dedup.as_deref()), ("towpath.child.1.4", Some("towpath.child.1.4")));
        let told: ChildEnd = arrival.payload.decode().unwrap();
        let ChildEnd::Job { end, error: told, message, .. } = told else { panic!("{told:?}") };
        assert_eq!((end, told, message.as_deref()), (End::Dead, Some(error), Some("no\u{2400}")));
        assert_eq!(Ending { tells: None, ..ending(None) }.arrival(), None);
    }

    #[test]
    fn an_error_that_fits_no_journal_is_left_out() {
        let large = Outcome::of(&"x".repeat(ERROR_BYTES_MAX)).unwrap();
        let told: ChildEnd = ending(Some(large)).arrival().unwrap().payload.decode().unwrap();
        assert!(matches!(told, ChildEnd::Job { error: None, .. }));
    }
}
