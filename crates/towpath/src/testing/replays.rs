//! Old histories against new code.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{History, Interrupt, Live};
use towpath_core::{Payload, RunId};

use super::run::START;
use super::shell::JOB;
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
    if let Err(interrupt) = replay(function, history) {
        panic!("run {} does not replay: {interrupt}", history.header.run);
    }
}

pub(super) fn replay<I, O, E>(function: Durable<I, O, E>, history: &History) -> Result<Live<RunEnd>, Interrupt>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    let erased = Erased::new(function);
    let header = &history.header;
    let run = Run { job: JOB, id: RunId::from_stored(&header.run), chapter: 1 };
    let input = Payload::json_bytes(header.input.json().to_owned());
    let make = |ops| match erased.body(&input, ops, &run) {
        Ok(body) => body,
        Err(problem) => panic!("{problem}"),
    };
    Live::rebuild(history.entries.clone(), header.version, header.seed, START, make)
}
