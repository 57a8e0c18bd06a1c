//! Old histories against new code.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{History, Live};
use towpath_core::{Payload, RunId};

use super::run::START;
use crate::builtin;
use crate::durable::{Durable, Erased, Run, RunEnd};

/// Checks that code fits a history: what a running worker would find is found here.
///
/// # Panics
/// It does not fit; the text says where and how. Or the history is of another function.
pub fn assert_replays<I, O, E>(function: Durable<I, O, E>, history: &History)
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    let (name, version) = (&history.header.function, history.header.version);
    assert!(
        *name == function.name() && version == function.version(),
        "the history is of {name} v{version}, and the function is {} v{}",
        function.name(),
        function.version()
    );
    assert!(!history.entries.is_empty(), "the history has no entry: it shows nothing");
    if let Err(problem) = replay(function, history) {
        panic!("run {} does not replay: {problem}", history.header.run);
    }
}

/// Checks that this build fits a history of one of the product's own functions: a wait, a node that holds a graph, a map. `None` if it
/// is of another function.
///
/// # Errors
/// It does not fit; the text says where and how.
pub fn replay_builtin(history: &History) -> Option<Result<(), String>> {
    builtin::replay(history)
}

pub(crate) fn replay<I, O, E>(function: Durable<I, O, E>, history: &History) -> Result<Live<RunEnd>, String>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    let erased = Erased::new(function);
    let header = &history.header;
    let run = Run { job: header.job, id: RunId::from_stored(&header.run), chapter: header.chapter };
    let input = Payload::json_bytes(header.input.json().to_owned());
    let mut unread = None;
    let make = |ops| {
        erased.body(&input, ops, &run).unwrap_or_else(|problem| {
            unread = Some(problem);
            Box::pin(std::future::pending())
        })
    };
    let rebuilt = Live::rebuild(history.entries.clone(), header.version, header.seed, START, make);
    match unread {
        Some(problem) => Err(problem),
        None => rebuilt.map_err(|interrupt| interrupt.to_string()),
    }
}
