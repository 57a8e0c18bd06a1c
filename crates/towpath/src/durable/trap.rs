//! Catches what a durable function may not do, at once: a runtime that never runs is entered around each poll of it, so
//! that the timers, sockets and tasks of the worker's own are out of its reach.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use tokio::runtime::{Handle, Runtime};
use tokio::task::coop::unconstrained;
use towpath_core::replay::{Interrupt, Misuse, Ops};

/// A future inside the trap.
pub(super) struct Trapped<F> {
    inner: Pin<Box<F>>,
    ops: Ops,
}

impl<F: Future> Trapped<F> {
    pub(super) fn new(inner: F, ops: Ops) -> Self {
        Self { inner: Box::pin(inner), ops }
    }
}

impl<F: Future> Future for Trapped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(trap) = trap() else { return self.inner.as_mut().poll(context) };
        let before = trap.metrics().num_alive_tasks();
        let entered = trap.enter();
        // A budget would make operations of tokio defer their wakes to a runtime that never runs.
        let inner = self.inner.as_mut();
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut unconstrained(inner)).poll(context)));
        drop(entered);
        if trap.metrics().num_alive_tasks() > before {
            self.ops.interrupt(Interrupt::Misuse(Misuse::Spawned));
        }
        match polled {
            Ok(polled) => polled,
            Err(panic) => {
                let Some(what) = missed(&*panic) else { resume_unwind(panic) };
                self.ops.interrupt(Interrupt::Misuse(Misuse::Runtime { what }));
                Poll::Pending
            }
        }
    }
}

/// What of tokio the function has reached for, if that is why it panicked. Tokio's own advice, to enable it, would lead
/// a person astray.
fn missed(panic: &(dyn Any + Send)) -> Option<&'static str> {
    let text = crate::worker::panic_text(panic);
    let is_tokio = text.contains("A Tokio 1.x context was found");
    match text {
        text if is_tokio && text.contains("timers are disabled") => Some("a timer of tokio"),
        text if is_tokio && text.contains("IO is disabled") => Some("a socket of tokio"),
        _ => None,
    }
}

/// One for each thread that polls functions would count tasks exactly; one for all may blame a neighbour's poll, which is
/// stopped as well.
fn trap() -> Option<Handle> {
    thread_local! {
        static TRAP: OnceLock<Option<Runtime>> = const { OnceLock::new() };
    }
    TRAP.with(|trap| {
        let runtime = trap.get_or_init(|| tokio::runtime::Builder::new_current_thread().build().ok());
        runtime.as_ref().map(|runtime| runtime.handle().clone())
    })
}
