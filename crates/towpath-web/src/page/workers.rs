//! Workers: who is at work, on what, who is gone, and what is asked of them.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::{Wish, WorkerLine};

use super::act::{self, Ordered, back, fields, menu};
use super::{Page, badge, empty, when};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look::Workers;
use crate::options::Action;
use crate::orders::steer;
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WorkersQuery {
    done: String,
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<WorkersQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let workers = Workers::look(&ctx.app.client).await?;
    let body = html! {
        div.head { h1 { "Workers" } div.acts { a.button href=(ctx.base.to(&["versions"])) { "Versions" } } }
        (act::done(&query.done))
        section.card {
            @if workers.lines.is_empty() { (empty("No worker is registered.", "Start one with Worker::builder(&client)…start(), or run a flow with `towpath run`.")) }
            @else { div.wide { table.cards {
                thead { tr { th { "Worker" } th { "State" } th.num { "Running" } th { "Queues" } th { "Kinds" } th { "Started" } th { "Lease until" } } }
                tbody { @for line in &workers.lines {
                    tr data-key=(line.worker) {
                        td.name { (line.name) div.dim.small.mono { (line.worker) } @if ctx.may(Action::Workers) && workers.lives(line) { (asks(&ctx, line)) } }
                        td {
                            @if workers.lives(line) { (badge::badge("succeeded", "succeeded", "lives")) } @else { (badge::badge("lost", "dead", "gone")) }
                            @if let Some(asked) = &line.wish { div.small { "Asked to " (in_words(asked.wish)) " by " (asked.actor) " " (when::ago(asked.at)) @if !asked.why.is_empty() { ": " (asked.why) } } }
                        }
                        td.num data-l="running" { (line.running) }
                        td.name data-l="queues" { (line.queues.join(", ")) }
                        td.name data-l="kinds" { @if line.kinds.is_empty() { span.dim { "it has not said" } } @for (kind, versions) in &line.kinds { span.tag title=(versions) { (kind) } } }
                        td data-l="started" { (when::ago(line.started_at)) }
                        td data-l="lease" { @if workers.lives(line) { span.dim { "renewed" } } @else { (when::ago(line.lease_until)) } }
                    }
                } }
            } } }
        }
    };
    Ok(Page::new("Workers", "Workers", body).answer(&ctx, &headers))
}

/// What may be asked of a worker: what it was asked last is not offered again.
fn asks(ctx: &Ctx, line: &WorkerLine) -> Markup {
    let to = ctx.base.to(&["workers", &line.worker.to_string(), "act"]);
    let last = line.wish.as_ref().map(|asked| asked.wish);
    html! {
        div.acts {
            @if last == Some(Wish::Quiet) { (menu(&to, "resume", "Resume…", "It claims again.", "Resume it")) }
            @else if last != Some(Wish::Drain) { (menu(&to, "quiet", "Quiet…", "It claims nothing more, finishes what it holds, and stays.", "Make it quiet")) }
            @if last != Some(Wish::Drain) { (menu(&to, "drain", "Drain…", "It claims nothing more, finishes what it holds, and leaves.", "Drain it")) }
        }
    }
}

fn in_words(wish: Wish) -> &'static str {
    match wish {
        Wish::Quiet => "be quiet",
        Wish::Drain => "drain",
        Wish::Resume => "resume",
    }
}

pub(super) async fn act(
    ctx: Ctx,
    Path(id): Path<String>,
    form: Result<Form<Ordered>, FormRejection>,
) -> Result<Response, Problem> {
    let asked = fields(form)?;
    let done = steer::worker(&ctx, &id, &asked.what, &asked.reason).await?;
    Ok(back(&ctx, &["workers"], &done))
}
