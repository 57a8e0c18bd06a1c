//! One operation of a run: a future that claims its place when it is built and is told its outcome by the engine.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use towpath_core::replay::{Ident, Ops, Outcome, Pos, Request};

/// An operation of a run. Await it, or hand it to a combinator.
///
/// It has its place from when it is built, not from when it is first polled. Dropped before it is done, it is not waited
/// for any more: a step in flight is stopped, a signal stays in the inbox for the next wait.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Op<'r, T> {
    ops: Ops,
    pos: Pos,
    ident: Option<Ident>,
    request: Option<Request>,
    decode: fn(&Outcome) -> Result<T, String>,
    is_over: bool,
    run: PhantomData<fn(&'r ()) -> &'r ()>,
}

impl<T> Op<'_, T> {
    pub(super) fn new(ops: &Ops, pos: Pos, request: Request, decode: fn(&Outcome) -> Result<T, String>) -> Self {
        Self { ops: ops.clone(), pos, ident: None, request: Some(request), decode, is_over: false, run: PhantomData }
    }

    /// An operation that never resolves: the run was interrupted when it was built.
    pub(super) fn nowhere(ops: &Ops) -> Self {
        Self {
            ops: ops.clone(),
            pos: Pos::NOWHERE,
            ident: None,
            request: None,
            decode: |_| Err("nothing is told nowhere".into()),
            is_over: false,
            run: PhantomData,
        }
    }
}

impl<T> Future for Op<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        assert!(!this.is_over, "an operation of a run was polled after it was done");
        if let Some(request) = &this.request {
            this.ident = Some(request.ident.clone());
        }
        let Poll::Ready(outcome) = this.ops.poll(this.pos, &mut this.request, context.waker()) else {
            return Poll::Pending;
        };
        match (this.decode)(&outcome) {
            Ok(value) => {
                this.is_over = true;
                Poll::Ready(value)
            }
            Err(problem) => {
                if let Some(ident) = this.ident.clone() {
                    this.ops.undecodable(this.pos, ident, problem);
                }
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Op<'_, T> {
    fn drop(&mut self) {
        if !self.is_over && self.request.is_none() && self.pos != Pos::NOWHERE {
            self.ops.close(self.pos);
        }
    }
}

impl<T> Unpin for Op<'_, T> {}

impl<T> fmt::Debug for Op<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Op").field("place", &self.pos.to_string()).finish_non_exhaustive()
    }
}
