//! One attempt: the handler in a task of its own, its panic caught, its report always sent.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use towpath_core::dispatch::CancelWhy;
use towpath_core::store::Claimed;
use towpath_core::{Fence, Report};

use super::pump::Message;
use crate::client::Client;
use crate::context::{Context, Signs};
use crate::handler::Erased;

/// A handler at work.
pub(super) struct Attempt {
    cancel: watch::Sender<Option<CancelWhy>>,
    abort: AbortHandle,
}

impl Attempt {
    pub(super) fn start(
        handler: &Erased,
        claimed: Claimed,
        client: Client,
        draining: watch::Receiver<bool>,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        let (cancel, cancelled) = watch::channel(None);
        let cx = Context::new(&claimed, Signs { cancel: cancelled, draining }, client);
        let logged = cx.clone();
        let done = Done { fence: claimed.head.fence, messages, report: None };
        let input = claimed.input;
        let abort = match handler {
            Erased::Async(handler) => {
                let handler = handler.clone();
                let attempt = async move {
                    let work = std::panic::catch_unwind(AssertUnwindSafe(|| handler(input, cx)));
                    let report = match work {
                        Ok(work) => AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked),
                        Err(panic) => panicked(panic),
                    };
                    done.finish(report, &logged);
                };
                tokio::spawn(attempt).abort_handle()
            }
            Erased::Blocking(handler) => {
                let handler = handler.clone();
                let attempt = move || {
                    let work = std::panic::catch_unwind(AssertUnwindSafe(|| handler(input, cx)));
                    done.finish(work.unwrap_or_else(panicked), &logged);
                };
                tokio::task::spawn_blocking(attempt).abort_handle()
            }
        };
        Self { cancel, abort }
    }

    pub(super) fn cancel(&self, why: CancelWhy) {
        self.cancel.send_replace(Some(why));
    }

    pub(super) fn abort(&self) {
        self.abort.abort();
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> Report {
    let text =
        panic.downcast_ref::<&str>().map(|s| (*s).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    Report::Panicked { error: format!("the handler panicked: {}", text.unwrap_or_else(|| "no text".into())) }
}

/// Sends the report when the attempt is over, be it because its task was dropped.
struct Done {
    fence: Fence,
    messages: mpsc::UnboundedSender<Message>,
    report: Option<Report>,
}

impl Done {
    fn finish(mut self, report: Report, cx: &Context) {
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
