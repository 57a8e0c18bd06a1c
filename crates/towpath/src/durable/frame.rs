//! The frame around a function: its cancel, its limit of time, and its undos, written in operations like any other, so
//! that they are part of the run's history.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::task::Poll;

use serde::Serialize;
use towpath_core::replay::{Body, Entry, Ident, OpKind, Ops, Outcome, Pos, Request, Wants, frame_ident};
use towpath_core::store::{CancelNote, Parent};
use towpath_core::{JobId, Label, Payload, RunId, Timestamp, defaults, limits};

use super::cx::Cx;
use super::function::Durable;
use super::op::Op;
use super::race::{Race3, race};
use super::trap::Trapped;
use crate::failure::Failure;

/// Who a run is.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) job: JobId,
    pub(crate) id: RunId,
    pub(crate) chapter: u32,
}

/// How a function ended.
#[derive(Clone, Debug)]
pub(crate) struct RunEnd {
    pub(crate) how: How,
    /// Undos that did not succeed.
    pub(crate) undo_errors: Vec<String>,
}

impl RunEnd {
    /// The last line of the journal.
    pub(crate) fn entry(&self, at: Timestamp) -> Entry {
        let error = match &self.how {
            // One that is too large for the journal leaves its text.
            How::Failed { error, .. } if error.json().len() <= limits::PAYLOAD_BYTES_MAX => Some(error.clone()),
            _ => None,
        };
        match self.how {
            How::Continued(_) => Entry::Continued { at },
            _ => Entry::Ended { at, error },
        }
    }
}

/// The same, without its undos.
#[derive(Clone, Debug)]
pub(crate) enum How {
    Returned(Result<Payload, String>),
    Failed {
        text: String,
        error: Outcome,
    },
    Cancelled(CancelNote),
    Overdue,
    /// The input of the next chapter.
    Continued(Outcome),
}

/// The body of a run.
pub(super) fn body<I, O, E>(function: Durable<I, O, E>, ops: Ops, run: Run, input: I) -> Body<RunEnd>
where
    I: Send + 'static,
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    let cx = Cx::<'static>::new(ops.clone(), run, function.name());
    Box::pin(Trapped::new(framed(function, cx, input), ops))
}

async fn framed<I, O, E>(function: Durable<I, O, E>, cx: Cx<'static>, input: I) -> RunEnd
where
    I: Send + 'static,
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    let ops = &cx.inner.ops;
    let cancel = listen(ops);
    let deadline = limit(ops, function.max_duration);
    let first = or_renewal(race((function.body.enter(cx.clone(), input), cancel, deadline)), ops).await;
    let how = match first {
        Err(input) => How::Continued(input),
        Ok(first) => end_of(first),
    };
    let undoes = !matches!(how, How::Returned(Ok(_)) | How::Continued(_));
    if !ops.children().is_empty() || undoes && cx.has_undos() {
        ops.leave();
    }
    wait_for_children(ops).await;
    let mut undo_errors = Vec::new();
    if undoes {
        while let Some(undo) = cx.pop_undo() {
            // An undo that does not succeed stops no other.
            if let Err(error) = undo(&cx).await {
                undo_errors.push(error);
            }
        }
    }
    RunEnd { how, undo_errors }
}

fn listen(ops: &Ops) -> Op<'static, CancelNote> {
    let wants = Wants::Signal { label: Label::from_stored(CancelNote::NAME), fits: |_| Ok(()) };
    let request = Request { ident: frame_ident(OpKind::Cancel), wants, place: None };
    let decode = |outcome: &Outcome| Ok(outcome.decode().unwrap_or_default());
    Op::new(ops, Pos::CANCEL, request, decode)
}

/// What the function came to by itself, by a cancel, or by its limit of time.
fn end_of<O, E>(first: Race3<Result<O, E>, CancelNote, ()>) -> How
where
    O: Serialize,
    E: Serialize + fmt::Display + 'static,
{
    match first {
        Race3::A(Ok(value)) => How::Returned(Payload::json(&value).map_err(|e| e.problem)),
        Race3::A(Err(error)) => {
            if let Some(reason) = (&error as &dyn Any).downcast_ref::<Failure>().and_then(Failure::revokes) {
                return How::Cancelled(CancelNote { actor: defaults::ACTOR.into(), reason: reason.to_owned() });
            }
            let text = error.to_string();
            How::Failed { text, error: Outcome::of(&error).unwrap_or_else(|_| Outcome::null()) }
        }
        Race3::B(note) => How::Cancelled(note),
        Race3::C(()) => How::Overdue,
    }
}

/// What comes first, or what the function asks its next chapter to begin with: it is dropped then, where it asked.
async fn or_renewal<F: Future>(first: F, ops: &Ops) -> Result<F::Output, Outcome> {
    let mut first = Box::pin(first);
    std::future::poll_fn(|context| match first.as_mut().poll(context) {
        Poll::Ready(first) => Poll::Ready(Ok(first)),
        Poll::Pending => ops.renewal().map_or(Poll::Pending, |input| Poll::Ready(Err(input))),
    })
    .await
}

/// Children that the function has left behind have been asked to cancel. Nothing is undone, and the run does not end, while
/// one of them goes on.
async fn wait_for_children(ops: &Ops) {
    for (child, label) in ops.children() {
        let (pos, input) = (ops.claim(), u64::from(child.0));
        let ident =
            Ident { kind: OpKind::Signal, name: Parent::PREFIX.trim_end_matches('.').into(), version: 0, input };
        let request = Request { ident, wants: Wants::Signal { label, fits: |_| Ok(()) }, place: None };
        Op::new(ops, pos, request, |_| Ok(())).await;
    }
}

fn limit(ops: &Ops, limit: std::time::Duration) -> Op<'static, ()> {
    let wants = Wants::Instant(ops.limited_from() + limit);
    let request = Request { ident: frame_ident(OpKind::Deadline), wants, place: None };
    Op::new(ops, Pos::DEADLINE, request, |_| Ok(()))
}
