//! One attempt: the handler in a task of its own, its panic caught, its report always sent.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::AbortHandle;
use towpath_core::dispatch::CancelWhy;
use towpath_core::store::Claimed;
use towpath_core::{Fence, Report, Retry, RunId, StoreError, StoreErrorKind, Timestamp};
use tracing::{Instrument, Span};

use super::failed::{FailedAttempt, Subject};
use super::pump::Message;
use crate::client::Client;
use crate::context::{Context, Signs};
use crate::durable::{Commits, Drive};
use crate::handler::Erased;
use crate::notes::{self, Notebook};
use crate::states::States;
use crate::trace;

/// What every attempt of a worker is given.
pub(crate) struct Around {
    pub(crate) client: Client,
    pub(crate) states: States,
    pub(crate) build: u64,
    /// The store's clock as last seen, and when.
    pub(crate) clock: (Timestamp, Instant),
    pub(crate) draining: watch::Receiver<bool>,
    /// Where handlers say how far they are.
    pub(crate) notebook: Notebook,
    /// Rung when a signal comes for the run.
    pub(crate) bell: Arc<Notify>,
}

/// A handler at work.
pub(crate) struct Attempt {
    /// The run, if it is one.
    pub(crate) run: Option<RunId>,
    subject: Subject,
    cancel: watch::Sender<Option<CancelWhy>>,
    abort: AbortHandle,
}

impl Attempt {
    pub(crate) fn start(
        handler: &Erased,
        claimed: Claimed,
        around: Around,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        let Around { client, states, build, clock, draining, notebook, bell } = around;
        let (cancel, cancelled) = watch::channel(None);
        let notes = notebook.page(claimed.head.fence);
        let signs = Signs { cancel: cancelled, draining, notes: notes.clone() };
        let cx = Context::new(&claimed, signs, client.clone(), states.clone());
        let run = claimed.run.as_ref().map(|run| run.id.clone());
        let subject = Subject::of(&claimed.head);
        let logged = cx.clone();
        let done = Done { fence: claimed.head.fence, messages, report: None };
        let span = trace::attempt(&claimed);
        let input = claimed.input.clone();
        // What a run awaits is told to it whole.
        let may_be_large = claimed.head.rules.parent.is_none();
        let abort = match handler {
            Erased::Async(handler) => {
                let handler = handler.clone();
                let attempt = async move {
                    let client = logged.client();
                    let report = match client.fetch(input).await {
                        Err(error) => unfetched(&error, build),
                        Ok(input) => match std::panic::catch_unwind(AssertUnwindSafe(|| handler(input, cx))) {
                            Ok(work) => AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked),
                            Err(panic) => panicked(panic),
                        },
                    };
                    let report = client.put_output_away(logged.job(), may_be_large, report).await;
                    notes::last_words(&**logged.client().store(), logged.notes(), has_failed(&report)).await;
                    done.finish(report, &logged);
                };
                tokio::spawn(attempt.instrument(span)).abort_handle()
            }
            Erased::Run(functions) => {
                let version = claimed.head.version;
                let Some(function) = functions.get(&version).cloned() else {
                    let problem = format!(
                        "this worker has no version {version} of {}: give it that one too by .durable(…), until its runs have \
                         ended",
                        claimed.head.kind
                    );
                    done.finish(Report::Undecodable { problem, build }, &logged);
                    return Self { run, subject, cancel, abort: tokio::spawn(async {}).abort_handle() };
                };
                let commits = Commits { fence: claimed.head.fence, outbox: done.messages.clone(), notes };
                let cancelled = cancel.subscribe();
                let claimed = Claimed { input, ..claimed };
                let drive = Drive { function, claimed, client, states, build, cancel: cancelled, commits, clock, bell };
                let attempt = async move {
                    let report = AssertUnwindSafe(drive.run()).catch_unwind().await.unwrap_or_else(panicked);
                    done.finish(report, &logged);
                };
                tokio::spawn(attempt.instrument(span)).abort_handle()
            }
            Erased::Blocking(handler) => {
                let handler = handler.clone();
                let attempt = move || {
                    let _entered = span.entered();
                    // On a thread of its own, where waiting holds up nobody.
                    let here = tokio::runtime::Handle::current();
                    let client = logged.client();
                    let report = match here.block_on(client.fetch(input)) {
                        Err(error) => unfetched(&error, build),
                        Ok(input) => {
                            let work = std::panic::catch_unwind(AssertUnwindSafe(|| handler(input, cx)));
                            work.unwrap_or_else(panicked)
                        }
                    };
                    let report = here.block_on(client.put_output_away(logged.job(), may_be_large, report));
                    here.block_on(notes::last_words(&**client.store(), logged.notes(), has_failed(&report)));
                    done.finish(report, &logged);
                };
                tokio::task::spawn_blocking(attempt).abort_handle()
            }
        };
        Self { run, subject, cancel, abort }
    }

    pub(crate) fn cancel(&self, why: CancelWhy) {
        self.cancel.send_replace(Some(why));
    }

    /// What to tell the application of this report, if it is one of a failure.
    pub(super) fn failed(&self, report: &Report) -> Option<FailedAttempt> {
        let is_late = matches!(*self.cancel.borrow(), Some(CancelWhy::Timeout));
        self.subject.failed(self.run.as_ref(), report, is_late)
    }

    pub(crate) fn abort(&self) {
        self.abort.abort();
    }
}

/// The report of an attempt whose input is kept elsewhere, and was not to be had.
fn unfetched(error: &StoreError, build: u64) -> Report {
    let problem = format!("the input cannot be fetched: {error}");
    match error.kind {
        StoreErrorKind::Unsupported => Report::Undecodable { problem, build },
        _ => Report::Failed { error: problem, retry: Retry::ByPolicy, log: None },
    }
}

/// Whether it is worth a write to show how far the attempt came.
fn has_failed(report: &Report) -> bool {
    !matches!(report, Report::Succeeded { .. })
}

/// The report of a handler that panicked.
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Report {
    Report::Panicked { error: format!("the handler panicked: {}", panic_text(&*panic)) }
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".into())
}

/// Sends the report when the attempt is over, be it because its task was dropped.
struct Done {
    fence: Fence,
    messages: mpsc::UnboundedSender<Message>,
    report: Option<Report>,
}

impl Done {
    fn finish(mut self, report: Report, cx: &Context) {
        let report = match (cx.take_append(), report) {
            (Some(nodes), report @ Report::Succeeded { .. }) => {
                Report::Appended { report: Box::new(report), nodes: Box::new(nodes) }
            }
            (_, report) => report,
        };
        trace::ended(&Span::current(), &report);
        self.report = Some(match cx.take_log() {
            Some(log) => Report::Logged { report: Box::new(report), log },
            None => report,
        });
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        let report = self.report.take().unwrap_or(Report::Stopped);
        // Without a pump nobody waits for it; the lease hands the job over.
        let _ = self.messages.send(Message::Finished { fence: self.fence, report });
    }
}
