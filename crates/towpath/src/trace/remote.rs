//! The trace that travels: W3C trace context in a job's headers, written at the enqueue and read at each attempt.

use std::collections::BTreeMap;
use std::str::FromStr;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use towpath_core::store::{Claimed, Item};
use tracing::Span;
use tracing::field::display;
use tracing_opentelemetry::OpenTelemetrySpanExt;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Names the span of an enqueue, and gives its context to what is enqueued.
pub(super) fn sent(span: &Span, items: &mut [Item]) {
    span.record("otel.kind", "producer");
    match &*items {
        [Item::Job(job)] if job.run.is_some() => named(span, "start", job.kind.as_str()),
        [Item::Job(job)] => named(span, "enqueue", job.kind.as_str()),
        [Item::Start(start)] => named(span, "start", start.job.kind.as_str()),
        [Item::Graph(graph)] => named(span, "enqueue graph", graph.name().as_str()),
        [Item::Append(_)] => named(span, "append to", "a graph"),
        _ => named(span, "enqueue", "many"),
    }
    let headers = context_of(span);
    if !headers.is_empty() {
        items.iter_mut().for_each(|item| item.carry(&headers));
    }
}

/// Names the span of an attempt, and puts it into the trace that the job carries.
pub(super) fn received(span: &Span, claimed: &Claimed) {
    span.record("otel.kind", "consumer");
    named(span, "attempt", claimed.head.kind.as_str());
    if let Some(parent) = read(&claimed.headers) {
        // It fails only for a span that no layer of OpenTelemetry knows.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}

pub(super) fn named(span: &Span, what: &str, which: &str) {
    if !span.is_disabled() {
        span.record("otel.name", display(format_args!("{what} {which}")));
    }
}

/// The headers that lead back to a span; none if it is in no trace.
pub(super) fn context_of(span: &Span) -> BTreeMap<String, String> {
    let context = span.context();
    let of = context.span().span_context().clone();
    if !of.is_valid() {
        return BTreeMap::new();
    }
    let flags = of.trace_flags().to_u8();
    let parent = format!("00-{}-{}-{flags:02x}", of.trace_id(), of.span_id());
    let state = of.trace_state().header();
    let state = (!state.is_empty()).then(|| (TRACESTATE.to_owned(), state));
    std::iter::once((TRACEPARENT.to_owned(), parent)).chain(state).collect()
}

/// What headers say of a trace. What cannot be read is as if it were not there, as the W3C has it: a bad header must not cost a job.
fn read(headers: &BTreeMap<String, String>) -> Option<SpanContext> {
    let mut parts = headers.get(TRACEPARENT)?.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_lower_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let fits = is_lower_hex(version, 2) && is_lower_hex(trace, 32) && is_lower_hex(span, 16) && is_lower_hex(flags, 2);
    // Later versions may have more parts, the first has none.
    if !fits || version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let state = headers.get(TRACESTATE).and_then(|state| TraceState::from_str(state).ok()).unwrap_or_default();
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let context = SpanContext::new(trace, span, flags, true, state);
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_the_standard_says() {
        let of = |text: &str| read(&BTreeMap::from([(TRACEPARENT.to_owned(), text.to_owned())]));
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = of(good).unwrap();
        assert_eq!(context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert!(context.is_sampled() && context.is_remote());
        assert!(of(&good.replacen("00", "cc", 1)).is_some() && of(&format!("cc{}-more", &good[2..])).is_some());
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033-01",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
