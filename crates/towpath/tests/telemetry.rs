//! One trace from an enqueue through the attempts to what they enqueue, on every store.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "it/stores.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "shared with the other tests")]
mod stores;

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry::trace::{SpanId, SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, InMemorySpanExporterBuilder, SdkTracerProvider, SpanData};
use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Cx, Durable, Failure, Graph, Job, Step, StepCx, Worker};
use tracing::Instrument;
use tracing_subscriber::layer::SubscriberExt;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "parent", attempts = 1)]
struct Parent;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "blocking")]
struct Blocking;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "leaf", attempts = 1)]
struct Leaf {
    fails: bool,
}

const SAY: Step<(), (), Failure> = Step::new("say", &say);
async fn say(cx: StepCx, (): ()) -> Result<(), Failure> {
    cx.client().enqueue(&Leaf { fails: false }).await?;
    Ok(())
}

const RUN: Durable<(), (), Failure> = Durable::new("run", 1, Duration::from_secs(600), &run);
async fn run(cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    cx.step(SAY, &()).await?;
    cx.job(&Leaf { fails: false }).await.map_err(|e| Failure::new(e.to_string()))?;
    Ok(())
}

/// What is exported is kept here.
fn telemetry() -> (InMemorySpanExporter, SdkTracerProvider) {
    let exporter = InMemorySpanExporterBuilder::new().build();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    (exporter, provider)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_goes_from_the_enqueue_to_what_the_attempts_enqueue() {
    let (exporter, _provider) = telemetry();
    for subject in [stores::memory(), stores::sqlite()].into_iter().chain(stores::postgres().await) {
        exporter.reset();
        work(&subject.client).await;
        let spans = Spans::of(&exporter);
        // From the application's own span down, each a child of the one before.
        spans.line(&["request", "enqueue parent", "attempt parent", "enqueue leaf", "attempt leaf"]);
        spans.line(&[
            "request",
            "enqueue parent",
            "attempt parent",
            "enqueue blocking",
            "attempt blocking",
            "enqueue leaf",
        ]);
        spans.line(&["request", "enqueue graph two", "attempt leaf"]);
        spans.line(&["request", "start run", "attempt run", "step say", "enqueue leaf", "attempt leaf"]);
        spans.line(&["request", "start run", "attempt run", "enqueue leaf", "attempt leaf"]);
        let failed = spans.named("attempt leaf").find(|span| matches!(span.status, Status::Error { .. })).unwrap();
        assert_eq!(field(failed, "outcome").as_deref(), Some("failed"));
        assert!(field(failed, "error").unwrap().contains("on purpose"));
        assert_eq!(failed.span_kind, SpanKind::Consumer);
        assert!(spans.named("enqueue parent").all(|span| span.span_kind == SpanKind::Producer));
        let traces: Vec<_> = spans.all.iter().map(|span| span.span_context.trace_id()).collect();
        assert!(traces.iter().all(|trace| *trace == traces[0]), "all of it is one trace");
    }
}

/// Everything that carries a trace, inside a span of the application's.
async fn work(client: &Client) {
    let worker = Worker::builder(client)
        .handle(|_: Parent, cx: Context| async move {
            cx.client().enqueue(&Leaf { fails: false }).await?;
            cx.client().enqueue(&Blocking).await?;
            Ok::<_, Failure>(())
        })
        .handle_blocking(|_: Blocking, cx: Context| {
            let leaf = Leaf { fails: false };
            tokio::runtime::Handle::current().block_on(cx.client().enqueue(&leaf).into_future())?;
            Ok::<_, Failure>(())
        })
        .handle(|job: Leaf, _: Context| async move { if job.fails { Err(Failure::new("on purpose")) } else { Ok(()) } })
        .durable(RUN)
        .start()
        .unwrap();
    let ask = async {
        let parent = client.enqueue(&Parent).await.unwrap();
        client.output(&parent).await.unwrap();
        let graph = Graph::builder("two");
        graph.node("one", &Leaf { fails: false }).then("two", &Leaf { fails: true });
        graph.enqueue(client).await.unwrap().wait(client).await.unwrap();
        let run = client.start(RUN, "a-run", &()).await.unwrap();
        client.result(&run).await.unwrap();
    };
    ask.instrument(tracing::info_span!("request")).await;
    loop {
        let counts = client.inspect().counts(100).await.unwrap();
        if counts.ready + counts.later + counts.running == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    worker.shutdown().await;
    // What travels is a header that anybody can read.
    let detail = client.inspect().jobs(Default::default(), Client::first_page(1)).await.unwrap();
    let detail = client.inspect().job(detail[0].id).await.unwrap().unwrap();
    assert!(detail.headers["traceparent"].starts_with("00-"), "{:?}", detail.headers);
}

struct Spans {
    all: Vec<SpanData>,
    by_id: BTreeMap<String, usize>,
}

impl Spans {
    fn of(exporter: &InMemorySpanExporter) -> Self {
        let all = exporter.get_finished_spans().unwrap();
        let by_id = all.iter().enumerate().map(|(at, span)| (span.span_context.span_id().to_string(), at)).collect();
        Self { all, by_id }
    }

    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s SpanData> {
        self.all.iter().filter(move |span| span.name == name)
    }

    /// The names from the root down to a span.
    fn path(&self, span: &SpanData) -> Vec<&str> {
        let mut names = vec![];
        let mut next = Some(self.by_id[&span.span_context.span_id().to_string()]);
        while let Some(span) = next.map(|at| &self.all[at]) {
            names.push(span.name.as_ref());
            next = (span.parent_span_id != SpanId::INVALID)
                .then(|| self.by_id.get(&span.parent_span_id.to_string()).copied())
                .flatten();
        }
        names.reverse();
        names
    }

    fn line(&self, names: &[&str]) {
        let paths: Vec<_> = self.all.iter().map(|span| self.path(span)).collect();
        assert!(paths.iter().any(|path| path == names), "no {names:?} among {paths:#?}");
    }
}

fn field(span: &SpanData, name: &str) -> Option<String> {
    span.attributes.iter().find(|field| field.key.as_str() == name).map(|field| field.value.to_string())
}
