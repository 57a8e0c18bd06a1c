//! What an application puts around every attempt of its jobs: measuring, tracing, a change of what a failure means.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, mpsc};

use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use towpath_core::{DecodeError, Label, Payload, Report};
use tracing::Instrument;

use crate::context::Context;
use crate::failure::Failure;
use crate::handler::{Erased, ReportFuture};
use crate::worker::panicked;

/// What an attempt that succeeded leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    pub(crate) output: Option<Payload>,
    pub(crate) branches: Vec<Label>,
}

impl Left {
    /// Reads the output, if the attempt left one.
    ///
    /// # Errors
    /// It is of another shape.
    pub fn output<T: DeserializeOwned>(&self) -> Result<Option<T>, DecodeError> {
        self.output.as_ref().map(Payload::decode).transpose()
    }
}

/// The rest of an attempt, in the hands of a middleware: further middlewares, then the handler.
///
/// Dropped without [`run`](Self::run), the handler is not called.
#[must_use = "without `run` the handler is not called"]
pub struct Next {
    work: ReportFuture,
}

impl Next {
    /// Runs it. A panic of the handler is a failure here, and stays one that panicked.
    ///
    /// # Errors
    /// How the attempt failed.
    ///
    /// # Cancel safety
    /// Dropped, the handler is dropped where it waits.
    pub async fn run(self) -> Result<Left, Failure> {
        let caught = AssertUnwindSafe(self.work).catch_unwind().await;
        Failure::or_left(caught.unwrap_or_else(panicked))
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

type Attempting = Pin<Box<dyn Future<Output = Result<Left, Failure>> + Send>>;
type Around = dyn Fn(Context, Next) -> Attempting + Send + Sync;

/// The middlewares of a worker, the outermost first.
#[derive(Clone, Default)]
pub(crate) struct Middlewares {
    around: Vec<Arc<Around>>,
}

impl Middlewares {
    pub(crate) fn push<F, Fut>(&mut self, middleware: F)
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Left, Failure>> + Send + 'static,
    {
        self.around.push(Arc::new(move |cx, next| Box::pin(middleware(cx, next))));
    }

    /// Puts them around a handler. A durable function is not an attempt with one beginning and one end, and stays as it is.
    pub(crate) fn wrap(&self, handler: Erased, build: u64) -> Erased {
        if self.around.is_empty() {
            return handler;
        }
        let chain = self.clone();
        match handler {
            Erased::Async(handler) => Erased::Async(Arc::new(move |input, cx: Context| {
                let (handler, inside) = (Arc::clone(&handler), cx.clone());
                let work = chain.begin(cx, build, Box::pin(async move { handler(input, inside).await }));
                Box::pin(async move { Failure::report(work.await, build) })
            })),
            Erased::Blocking(handler) => Erased::Blocking(Arc::new(move |input, cx: Context| {
                let inside = cx.clone();
                Failure::report(chain.around_blocking(cx, build, || handler(input, inside)), build)
            })),
            run @ Erased::Run(_) => run,
        }
    }

    /// Begins an attempt with all of them around this work.
    fn begin(&self, cx: Context, build: u64, work: ReportFuture) -> Attempting {
        let (outer, inner) = match self.around.split_first() {
            Some((outer, inner)) => (Arc::clone(outer), inner),
            None => return Box::pin(Next { work }.run()),
        };
        let inner = inner.iter().rev().fold(work, |work, around| {
            let (around, cx) = (Arc::clone(around), cx.clone());
            Box::pin(async move { Failure::report(around(cx, Next { work }).await, build) })
        });
        outer(cx, Next { work: inner })
    }

    /// The same around work that blocks this thread, which is one for blocking work: the middlewares run on the runtime, and
    /// hand over to this thread for the work itself, where it may block as it likes.
    fn around_blocking(&self, cx: Context, build: u64, work: impl FnOnce() -> Report) -> Result<Left, Failure> {
        let (go, begins) = mpsc::channel::<oneshot::Sender<Report>>();
        let handed_over = async move {
            let (report, reported) = oneshot::channel();
            match go.send(report) {
                Ok(()) => reported.await.unwrap_or(Report::Stopped),
                Err(_) => Report::Stopped,
            }
        };
        let runtime = Handle::current();
        let attempt = runtime.spawn(self.begin(cx, build, Box::pin(handed_over)).in_current_span());
        // Without a word the work is not wanted.
        if let Ok(to) = begins.recv() {
            let report = std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked);
            // A middleware may have stopped waiting.
            let _ = to.send(report);
        }
        match runtime.block_on(attempt) {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is being shut down.
                Err(_) => Err(Failure::stopped()),
            },
        }
    }
}
