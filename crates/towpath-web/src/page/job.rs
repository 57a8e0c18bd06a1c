//! One job: what it is, what has happened to it, what it was given and left. A run is a job with a journal.

use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::{AttemptLine, AttemptOutcome};
use towpath::inspect::JobDetail;
use towpath::{Holds, JobState, Timestamp};

use super::{Page, act, badge, empty, graph, history, payload, run, when};
use crate::app::Ctx;
use crate::look::{self, Workers};
use crate::options::Part;
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobPageQuery {
    pub(super) after: String,
    pub(super) done: String,
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<JobPageQuery>,
) -> Result<Response, Problem> {
    let detail = look::job(&ctx.app.client, &id).await?;
    let attempts = ctx.app.client.inspect().attempts(detail.line.id).await?;
    let is_served = match detail.line.state {
        JobState::Ready => !Workers::look(&ctx.app.client).await?.miss(&detail.line),
        _ => true,
    };
    let run = match &detail.run {
        Some(line) => Some(run::section(&ctx, &detail, line, &query.after).await?),
        None => None,
    };
    let holds = ctx.app.client.holds(detail.line.id).await?;
    let history = history::of_job(&ctx, &detail).await?;
    let kind = &detail.line.kind;
    let title = detail.run.as_ref().map_or_else(|| kind.to_string(), |run| run.id.to_string());
    let body = html! {
        div.head {
            (badge::of_line(&detail.line).badge())
            h1 { (title) }
            div.acts { (act::of_job(&ctx, &detail)) }
        }
        (act::done(&query.done))
        (trouble(&ctx, &detail, is_served))
        (progress(&detail))
        div.cols {
            section.card { h2 { "Facts" } (facts(&ctx, &detail, holds.as_ref())) }
            section.card { h2 { "Life" } (life(&detail, &attempts)) }
        }
        @if let Some(run) = run { (run) }
        section.card { h2 { "Attempts" } (attempt_list(&ctx, &detail, &attempts)) }
        (history)
        div.cols {
            section.card { h2 { "Input" } (payload::payload(&ctx, kind, Part::Input, &detail.input)) }
            section.card { h2 { "Output" }
                @match &detail.output {
                    Some(output) => (payload::payload(&ctx, kind, Part::Output, output)),
                    None => span.dim { @if detail.line.ended_at.is_some() { "It left none." } @else { "It has not succeeded yet." } },
                }
            }
        }
    };
    let place = if detail.run.is_some() { "Runs" } else { "Jobs" };
    Ok(Page::new(title, place, body).answer(&ctx, &headers))
}

/// Why it stands where nobody wants it, with what helps.
fn trouble(ctx: &Ctx, detail: &JobDetail, is_served: bool) -> Markup {
    let line = &detail.line;
    html! {
        @if let Some(cause) = &detail.cause {
            div.card.alert.bad { b { "Why it ended so: " (cause) } }
        }
        @if let Some(reason) = &detail.blocked {
            div.card.alert { b { "Blocked: no worker can run it until code or input changes" } (payload::text(ctx, &line.kind, Part::Error, reason)) }
        }
        @if let Some(cancel) = &detail.cancel {
            div.card.alert { b { "Asked to stop: " (cancel) } p { "It ends when its handler has stopped. Terminate ends it at once." } }
        }
        @if !is_served {
            div.card.alert { (badge::badge("unserved", "blocked", "unserved")) b { "No living worker takes it" }
                p { "Start a worker with a handler for " (line.kind) ", version " (line.version) ", that serves the queue " (line.queue) "." } }
        }
    }
}

/// How far it is, with a bar where it has said so.
fn progress(detail: &JobDetail) -> Markup {
    let Some(said) = &detail.progress else { return html! {} };
    html! {
        section.card {
            h2 { "Progress" }
            @if let Some(fraction) = said.progress.fraction() {
                progress aria-label="Progress" max="1" value=(fraction) {}
                " "
            }
            span { (said.progress) }
            p.dim.small {
                "Said " (when::ago(said.at))
                @if said.attempt != detail.line.counters.attempt { " by attempt " (said.attempt) }
            }
        }
    }
}

fn facts(ctx: &Ctx, detail: &JobDetail, holds: Option<&Holds>) -> Markup {
    let line = &detail.line;
    let rules = &detail.rules;
    html! {
        dl.facts {
            dt { "Id" } dd.mono { (line.id) }
            @if let Some(run) = &detail.run { dt { "Run" } dd { (run.id) @if run.chapter > 1 { ", chapter " (run.chapter) } } @if let Some(origin) = &run.origin { dt { "Forked from" } dd { (origin) } } }
            dt { "Kind" } dd { a href=(ctx.base.query(&["jobs"], &[("kind", line.kind.as_str())])) { (line.kind) } ", version " (line.version) (graph::holds(ctx, holds)) }
            dt { "Queue" } dd { a href=(ctx.base.query(&["jobs"], &[("queue", line.queue.as_str())])) { (line.queue) } @if line.priority != 0 { ", priority " (line.priority) } }
            @if let Some(node) = &line.node { dt { "Node" } dd { (node.name) " of " a href=(ctx.base.to(&["graphs", &node.graph.to_string()])) { "its graph" } } }
            @if let Some(due) = line.due { dt { "Due" } dd { (when::ago(due)) } }
            @if let Some(deadline) = detail.deadline { dt { "Deadline" } dd { (when::ago(deadline)) } }
            dt { "Retry" } dd { @if rules.retry.attempts_max == 1 { "none: dead at the first failure" } @else { "dead at failure " (rules.retry.attempts_max) ", waits from " (when::duration(std::time::Duration::from_micros(rules.retry.base_us))) " to " (when::duration(std::time::Duration::from_micros(rules.retry.cap_us))) } }
            @if let Some(timeout) = rules.timeout() { dt { "Timeout" } dd { (when::duration(timeout)) " an attempt" } }
            @if line.counters.crashes > 0 { dt { "Crashes" } dd { (line.counters.crashes) " in a row, quarantined at " (rules.crash_limit) } }
            @if let Some(worker) = detail.worker { dt { "Worker" } dd.mono { (worker) } }
            @if !detail.tags.is_empty() { dt { "Tags" } dd { @for tag in &detail.tags { a.tag href=(ctx.base.query(&["jobs"], &[("tag", tag)])) { (tag) } } } }
            @for (name, value) in &detail.headers { dt { (name) } dd.mono { (value) } }
        }
    }
}

/// Its instants, in order, and a bar of its attempts.
fn life(detail: &JobDetail, attempts: &[AttemptLine]) -> Markup {
    let line = &detail.line;
    html! {
        (bar(line.enqueued_at, line.started_at.filter(|_| line.state == JobState::Running), attempts))
        dl.facts {
            dt { "Enqueued" } dd { (when::ago(line.enqueued_at)) }
            @if let Some(first) = attempts.first() { dt { "First started" } dd { (when::ago(first.started_at)) ", after " (when::took(Some(line.enqueued_at), Some(first.started_at))) } }
            @if let Some(started) = line.started_at { dt { @if line.ended_at.is_some() { "Last started" } @else { "Started" } } dd { (when::ago(started)) } }
            @if let Some(ended) = line.ended_at { dt { "Ended" } dd { (when::ago(ended)) ", " (when::took(Some(line.enqueued_at), Some(ended))) " after it was enqueued" } }
        }
    }
}

/// Waits and attempts from left to right. Long waits are drawn shorter than they were, or nothing else would be seen.
fn bar(from: Timestamp, running: Option<Timestamp>, attempts: &[AttemptLine]) -> Markup {
    let mut parts = Vec::new();
    let mut at = from;
    for attempt in attempts {
        parts.push(("b-wait", attempt.started_at.since(at), "waited".to_owned()));
        let class = if attempt.outcome == AttemptOutcome::Succeeded { "b-succeeded" } else { "b-failed" };
        let took = attempt.ended_at.since(attempt.started_at);
        parts.push((class, took, format!("attempt {}: {}", attempt.attempt, word(attempt.outcome))));
        at = attempt.ended_at;
    }
    if let Some(started) = running {
        parts.push(("b-wait", started.since(at), "waited".to_owned()));
        parts.push(("b-running", std::time::Duration::from_secs(1), "runs".to_owned()));
    }
    // By the logarithm: a second beside a day is still to be seen.
    let width = |took: std::time::Duration| (1.0 + took.as_secs_f64() * 1_000.0).ln() + 0.6;
    let total: f64 = parts.iter().map(|(_, took, _)| width(*took)).sum();
    let place = parts.into_iter().scan(0.0, |x, (class, took, what)| {
        let (at, w) = (*x, width(took) / total * 1_000.0);
        *x += w;
        Some((at, (w - 1.0).max(1.0), class, format!("{what}, {}", when::duration(took))))
    });
    let places: Vec<_> = place.collect();
    html! {
        @if !places.is_empty() {
            svg.time.life viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label="Waits and attempts in order" {
                rect.bg width="1000" height="16" {}
                @for (x, w, class, what) in &places {
                    rect class={ "b " (class) } x=(format!("{x:.1}")) width=(format!("{w:.1}")) height="16" { title { (what) } }
                }
            }
        }
    }
}

pub(super) fn word(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Succeeded => "succeeded",
        AttemptOutcome::Failed => "failed",
        AttemptOutcome::Panicked => "panicked",
        AttemptOutcome::TimedOut => "timed out",
        AttemptOutcome::Crashed => "crashed",
        AttemptOutcome::Snoozed => "snoozed",
        AttemptOutcome::Cancelled => "cancelled",
    }
}

fn outcome_badge(outcome: AttemptOutcome) -> Markup {
    let (class, shape) = match outcome {
        AttemptOutcome::Succeeded => ("succeeded", "succeeded"),
        AttemptOutcome::Snoozed => ("ready", "later"),
        AttemptOutcome::Cancelled => ("cancelled", "cancelled"),
        AttemptOutcome::Crashed => ("dead", "quarantined"),
        _ => ("dead", "dead"),
    };
    badge::badge(class, shape, word(outcome))
}

fn attempt_list(ctx: &Ctx, detail: &JobDetail, attempts: &[AttemptLine]) -> Markup {
    if attempts.is_empty() {
        return empty("No attempt has ended.", "");
    }
    let kind = &detail.line.kind;
    html! {
        div.wide { table {
            thead { tr { th { "Attempt" } th { "Outcome" } th { "Started" } th.num { "Took" } th { "Error and log" } } }
            tbody { @for line in attempts.iter().rev() {
                tr data-key={ "attempt-" (line.attempt) } {
                    td { (line.attempt) }
                    td { (outcome_badge(line.outcome)) }
                    td { (when::ago(line.started_at)) }
                    td.num { (when::took(Some(line.started_at), Some(line.ended_at))) }
                    td.name {
                        @if let Some(error) = &line.error { (payload::text(ctx, kind, Part::Error, error)) }
                        @if let Some(log) = &line.log { details { summary { "Log" } (payload::text(ctx, kind, Part::Log, log)) } }
                        @if line.error.is_none() && line.log.is_none() { span.dim { "–" } }
                    }
                }
            } }
        } }
    }
}
