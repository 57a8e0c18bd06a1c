//! Handlers: typed outside, erased inside.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use towpath_core::{Label, Payload, Report, Retry};

use crate::context::Context;
use crate::durable;
use crate::failure::Failure;
use crate::job::Job;
use crate::middleware::Left;

/// A job that knows how to perform itself.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use towpath::{Context, Failure, Job, Perform};
///
/// #[derive(Serialize, Deserialize, Job)]
/// #[job(kind = "double", output = u64)]
/// struct Double(u64);
///
/// impl Perform for Double {
///     async fn perform(self, _cx: Context) -> Result<u64, Failure> {
///         Ok(2 * self.0)
///     }
/// }
/// ```
pub trait Perform: Job {
    /// Does the work of one attempt. It may run more than once: a worker can die after the work and before its
    /// outcome is stored.
    fn perform(self, cx: Context) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

pub(crate) type ReportFuture = Pin<Box<dyn Future<Output = Report> + Send>>;

/// A handler without its types: payload in, report out.
pub(crate) enum Erased {
    /// Runs on the runtime.
    Async(Arc<dyn Fn(Payload, Context) -> ReportFuture + Send + Sync>),
    /// Runs on a thread of its own, since it blocks.
    Blocking(Arc<dyn Fn(Payload, Context) -> Report + Send + Sync>),
    /// A durable function, by version.
    Run(BTreeMap<u16, durable::Erased>),
}

pub(crate) fn erase<J, F, Fut, E>(build: u64, handler: F) -> Erased
where
    J: Job,
    F: Fn(J, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<J::Output, E>> + Send + 'static,
    E: Into<Failure>,
{
    Erased::Async(Arc::new(move |input, cx: Context| match decode::<J>(&input, cx.version()) {
        Ok(job) => {
            let work = handler(job, cx);
            Box::pin(async move { report::<J>(work.await.map_err(Into::into), build) })
        }
        Err(problem) => Box::pin(std::future::ready(Report::Undecodable { problem, build })),
    }))
}

/// A handler that says itself which branches it takes, such as a gate whose branches are not known by its type.
pub(crate) fn erase_left<J, F, Fut>(build: u64, handler: F) -> Erased
where
    J: Job,
    F: Fn(J, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Left, Failure>> + Send + 'static,
{
    Erased::Async(Arc::new(move |input, cx: Context| match decode::<J>(&input, cx.version()) {
        Ok(job) => {
            let work = handler(job, cx);
            Box::pin(async move { Failure::report(work.await, build) })
        }
        Err(problem) => Box::pin(std::future::ready(Report::Undecodable { problem, build })),
    }))
}

pub(crate) fn erase_blocking<J, F, E>(build: u64, handler: F) -> Erased
where
    J: Job,
    F: Fn(J, Context) -> Result<J::Output, E> + Send + Sync + 'static,
    E: Into<Failure>,
{
    Erased::Blocking(Arc::new(move |input, cx: Context| match decode::<J>(&input, cx.version()) {
        Ok(job) => report::<J>(handler(job, cx).map_err(Into::into), build),
        Err(problem) => Report::Undecodable { problem, build },
    }))
}

/// Reads an input of this version or an older one.
pub(crate) fn decode<J: Job>(input: &Payload, version: u16) -> Result<J, String> {
    let null;
    let input = if input.bytes.is_empty() {
        null = Payload::json_bytes(&b"null"[..]);
        &null
    } else {
        input
    };
    let unfit = |problem: &dyn std::fmt::Display| format!("the input does not fit {}: {problem}", J::KIND);
    if version >= J::VERSION {
        return input.decode().map_err(|e| unfit(&e));
    }
    let stored = input.decode().map_err(|e| unfit(&e))?;
    let read = (version..J::VERSION).try_fold(stored, |value, from| J::upcast(from, value));
    let value =
        read.map_err(|problem| format!("the input of version {version} has no form in {}: {problem}", J::KIND))?;
    serde_json::from_value(value).map_err(|e| unfit(&e))
}

pub(crate) fn report<J: Job>(result: Result<J::Output, Failure>, build: u64) -> Report {
    match result {
        Ok(output) => match encode(&output) {
            Ok(payload) => {
                let branches = J::chosen(&output).map(Label::from_stored).into_iter().collect();
                Report::Succeeded { output: payload, branches }
            }
            Err(error) => Report::Failed { error, retry: Retry::Never, log: None },
        },
        Err(failure) => failure.into_report(build),
    }
}

/// An output's payload. The unit leaves none. One that has no stored form fails the attempt for good: running again would only
/// make it again. How large it may be is judged where it is put away.
fn encode<O: serde::Serialize + 'static>(output: &O) -> Result<Option<Payload>, String> {
    if TypeId::of::<O>() == TypeId::of::<()>() {
        return Ok(None);
    }
    let payload = Payload::json(output).map_err(|e| format!("the output cannot be stored: {e}"))?;
    Ok(Some(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_cannot_be_kept_says_why() {
        assert_eq!(encode(&()), Ok(None));
        assert!(encode(&Some(1)).unwrap().is_some());
        assert!(encode(&"a\0b").unwrap_err().contains("NUL character"));
    }
}
