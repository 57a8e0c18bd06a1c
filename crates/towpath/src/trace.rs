//! Spans around what happens to a job: `enqueue`, `attempt`, `step`. With the feature `opentelemetry` the trace of an enqueue
//! travels with the job, as the W3C headers `traceparent` and `tracestate`, so that its attempts belong to that trace, in
//! whichever process they run. Without a subscriber a span costs a comparison.
//!
//! The names here are what dashboards of traces are built on: they are listed in `docs/guide/operating.md`.

#[cfg(feature = "opentelemetry")]
mod remote;

use towpath_core::replay::Ident;
use towpath_core::store::{Claimed, Item};
use towpath_core::{PreparedAppend, Report};
use tracing::Span;
use tracing::field::{Empty, display};

/// A write of jobs, which then carry the trace of this span.
pub(crate) fn enqueue(items: &mut [Item]) -> Span {
    let span = tracing::info_span!(
        "enqueue",
        items = items.len(),
        job = Empty,
        graph = Empty,
        kind = Empty,
        otel.name = Empty,
        otel.kind = Empty
    );
    if span.is_disabled() {
        return span;
    }
    if let [item] = &*items {
        match item {
            Item::Job(job) => _ = span.record("job", display(job.id)).record("kind", display(&job.kind)),
            Item::Start(start) => {
                _ = span.record("job", display(start.job.id)).record("kind", display(&start.job.kind))
            }
            Item::Graph(graph) => _ = span.record("graph", display(graph.id())),
            Item::Append(append) => _ = span.record("graph", display(append.graph())),
            _ => {}
        }
    }
    #[cfg(feature = "opentelemetry")]
    remote::sent(&span, items);
    span
}

/// An attempt of a job, in the trace that the job carries.
pub(crate) fn attempt(claimed: &Claimed) -> Span {
    let head = &claimed.head;
    let span = tracing::info_span!(
        "attempt",
        job = %head.id,
        kind = %head.kind,
        queue = %head.queue,
        attempt = head.counters.attempt,
        graph = Empty,
        node = Empty,
        run = Empty,
        outcome = Empty,
        error = Empty,
        otel.name = Empty,
        otel.kind = Empty,
        otel.status_code = Empty
    );
    if span.is_disabled() {
        return span;
    }
    if let Some(node) = &head.node {
        span.record("graph", display(node.graph)).record("node", display(&node.name));
    }
    if let Some(run) = &claimed.run {
        span.record("run", display(&run.id));
    }
    #[cfg(feature = "opentelemetry")]
    remote::received(&span, claimed);
    span
}

/// One attempt of a step of a run.
pub(crate) fn step(ident: &Ident, attempt: u32) -> Span {
    let span = tracing::info_span!("step", step = %ident.name, attempt, otel.name = Empty);
    #[cfg(feature = "opentelemetry")]
    remote::named(&span, "step", &ident.name);
    span
}

/// Says on the span of an attempt what it came to.
pub(crate) fn ended(span: &Span, report: &Report) {
    if span.is_disabled() {
        return;
    }
    let (outcome, error) = outcome(report);
    span.record("outcome", outcome);
    if let Some(error) = error {
        span.record("error", error);
        #[cfg(feature = "opentelemetry")]
        span.record("otel.status_code", "ERROR");
    }
}

/// What a handler adds to its graph carries the trace of its attempt.
pub(crate) fn appended(append: &mut PreparedAppend) {
    #[cfg(feature = "opentelemetry")]
    append.carry(&remote::context_of(&Span::current()));
    #[cfg(not(feature = "opentelemetry"))]
    let _ = append;
}

/// A word for what an attempt came to, and its error if that is one.
fn outcome(report: &Report) -> (&'static str, Option<&str>) {
    match report {
        Report::Succeeded { .. } => ("succeeded", None),
        Report::Failed { error, .. } => ("failed", Some(error)),
        Report::Panicked { error } => ("panicked", Some(error)),
        Report::TimedOut { .. } => ("timed out", Some("the attempt took longer than its timeout")),
        Report::Overdue => ("overdue", Some("the deadline passed")),
        Report::Undecodable { problem, .. } => ("blocked", Some(problem)),
        Report::Snoozed { .. } => ("snoozed", None),
        Report::Parked { .. } => ("parked", None),
        Report::Held => ("paused", None),
        Report::Renewed { .. } => ("continued", None),
        Report::Revoked { .. } | Report::Obeyed { .. } => ("cancelled", None),
        Report::Skipped { .. } => ("skipped", None),
        Report::Stopped => ("stopped", None),
        Report::HandedBack => ("handed back", None),
        Report::Logged { report, .. } | Report::Appended { report, .. } => outcome(report),
        _ => ("other", None),
    }
}
