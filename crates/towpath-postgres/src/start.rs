//! Starts of runs whose ids may be taken, as the schema's function takes them, and what it answers besides.

use serde_json::{Map, Value, json};
use towpath_core::limits;
use towpath_core::store::{Arrival, Fork, Placed, Refusal, Start, Taken};

use crate::error::Fault;
use crate::items::{job_value, payload_value};
use crate::rows;
use crate::store::Inner;

/// A start as the function takes it.
pub(crate) fn start_value(inner: &Inner, start: &Start) -> Result<Value, Fault> {
    let Start { job, taken, signal, fork } = start;
    let taken = match taken {
        Taken::Refuse => "refuse",
        Taken::Join => "join",
        Taken::ReplaceEnded => "replace",
    };
    let mut fields = Map::new();
    fields.insert("start".into(), Value::Object(job_value(inner, job)?));
    fields.insert("taken".into(), taken.into());
    if let Some(signal) = signal {
        fields.insert("signal".into(), signal_value(signal));
    }
    if let Some(fork) = fork {
        fields.insert("fork".into(), fork_value(fork));
    }
    Ok(Value::Object(fields))
}

/// A signal as the functions take it.
pub(crate) fn signal_value(arrival: &Arrival) -> Value {
    let mut fields = payload_value(&arrival.payload);
    fields.insert("run".into(), arrival.run.as_str().into());
    fields.insert("name".into(), arrival.name.as_str().into());
    fields.insert("dedup".into(), json!(arrival.dedup));
    Value::Object(fields)
}

fn fork_value(fork: &Fork) -> Value {
    json!({
        "of": fork.of.to_string(), "chapter": fork.origin.chapter, "below": fork.kept.below, "without": fork.kept.without,
        "lines": fork.kept.lines(), "first": payload_value(&fork.first), "origin": rows::json(&fork.origin),
    })
}

/// What the function says of a start alone; `None` if it is what it says of any job.
pub(crate) fn answered(start: &Start, word: &str, job: towpath_core::JobId) -> Option<Result<Placed, Refusal>> {
    let run = || start.job.run.clone();
    match word {
        "run" => Some(Ok(Placed::Run(job))),
        "inbox_full" => run().map(|run| Err(Refusal::InboxFull { run, max: limits::INBOX_MAX })),
        "journal_gone" => start.fork.as_ref().map(|fork| Err(Refusal::JournalGone { run: fork.origin.run.clone() })),
        _ => None,
    }
}
