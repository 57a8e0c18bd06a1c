//! Queues: where live work stands, who serves it, and whether anything is claimed from it.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::Queue;
use towpath::core::store::{JobFilter, Page as Part, PauseLine, QueueLine};

use super::act::{self, Ordered, back, fields, menu};
use super::overview::number;
use super::{Page, badge, charts, empty, jobs, when};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look::tallies::{Tallies, TalliesQuery};
use crate::look::{self, Workers};
use crate::options::Action;
use crate::orders::steer;
use crate::problem::Problem;

/// Jobs of one queue that are shown.
const SHOWN: u32 = 20;

pub(super) async fn page(ctx: Ctx, headers: HeaderMap) -> Result<Response, Problem> {
    let workers = Workers::look(&ctx.app.client).await?;
    let lines = look::queues(&ctx.app.client, &workers).await?;
    let body = html! {
        div.head { h1 { "Queues" } }
        section.card { (table(&ctx, &lines, &workers)) }
    };
    Ok(Page::new("Queues", "Queues", body).answer(&ctx, &headers))
}

/// Queues, a line each.
pub(super) fn table(ctx: &Ctx, lines: &[QueueLine], workers: &Workers) -> Markup {
    if lines.is_empty() {
        return empty("No queue has live work, and no worker serves one.", "");
    }
    let of = |queue: &str, state: &str| ctx.base.query(&["jobs"], &[("queue", queue), ("state", state)]);
    html! {
        div.wide { table.cards {
            thead { tr { th { "Queue" } th.num { "Running" } th.num { "Ready" } th.num { "Later" } th.num { "Blocked" } th.num { "Workers" } } }
            tbody { @for line in lines {
                @let name = line.queue.as_str();
                @let living = workers.of_queue(name);
                tr data-key=(name) {
                    td.name { a href=(ctx.base.to(&["queues", name])) { (name) } @if line.paused.is_some() { " " (paused_badge()) } }
                    td.num data-l="running" { a href=(of(name, "running")) { (line.running) } }
                    td.num data-l="ready" { a href=(of(name, "ready")) { (number(line.ready)) } }
                    td.num data-l="later" { (number(line.later)) }
                    td.num data-l="blocked" { @if line.blocked > 0 { a href=(of(name, "blocked")) { (line.blocked) } } @else { "0" } }
                    td.num data-l="workers" { @if living == 0 { (badge::badge("unserved", "blocked", "none")) } @else { (living) } }
                }
            } }
        } }
    }
}

fn paused_badge() -> Markup {
    badge::badge("paused", "paused", "paused")
}

/// Who has paused it, and why.
pub(super) fn pause(line: &PauseLine) -> Markup {
    html! {
        "Paused by " (line.actor) " " (when::ago(line.at)) @if !line.why.is_empty() { ": " (line.why) }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OneQuery {
    done: String,
}

pub(super) async fn one(
    ctx: Ctx,
    headers: HeaderMap,
    Path(name): Path<String>,
    query: Result<Query<OneQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let queue = Queue::new(&name).map_err(|e| Problem::invalid(format!("queue: {e}")))?;
    let workers = Workers::look(&ctx.app.client).await?;
    let found = look::queues(&ctx.app.client, &workers).await?.into_iter().find(|line| line.queue == queue);
    // A queue has no row of its own: one that nothing stands in is as good as any other.
    let line = found.unwrap_or_else(|| look::idle(queue.clone()));
    let filter = JobFilter { queue: Some(queue), ..JobFilter::default() };
    let newest = ctx.app.client.inspect().jobs(filter, Part { after: None, limit: SHOWN }).await?;
    let counted = TalliesQuery { queue: name.clone(), ..TalliesQuery::default() };
    let tallies = Tallies::look(&ctx.app.client, &counted).await?;
    let to = ctx.base.to(&["queues", &name, "act"]);
    let body = html! {
        div.head {
            @if line.paused.is_some() { (paused_badge()) }
            h1 { (name) }
            @if ctx.may(Action::Pause) { div.acts {
                @if line.paused.is_some() { (menu(&to, "resume", "Resume…", "Workers claim from it again.", "Resume it")) }
                @else { (menu(&to, "pause", "Pause…", "From their next turn on no worker claims from it, in whichever process. What was claimed runs on.", "Pause it")) }
            } }
        }
        (act::done(&query.done))
        @if let Some(line) = &line.paused {
            div.card.alert { (paused_badge()) b { (pause(line)) } p { "Nothing is claimed from it; what is ready waits." } }
        }
        section.card { (table(&ctx, std::slice::from_ref(&line), &workers)) }
        @if !tallies.series.is_empty() { (charts::charts(&tallies)) }
        section.card { h2 { "Newest jobs" }
            @if newest.is_empty() { (empty("No job of this queue is kept.", "")) }
            @else { (jobs::table(&ctx, &newest)) p.small { a href=(ctx.base.query(&["jobs"], &[("queue", &name)])) { "All of them" } } }
        }
    };
    Ok(Page::new(name, "Queues", body).answer(&ctx, &headers))
}

pub(super) async fn act(
    ctx: Ctx,
    Path(name): Path<String>,
    form: Result<Form<Ordered>, FormRejection>,
) -> Result<Response, Problem> {
    let asked = fields(form)?;
    let done = match asked.what.as_str() {
        "pause" => steer::pause_queue(&ctx, &name, &asked.reason).await?,
        "resume" => steer::resume_queue(&ctx, &name, &asked.reason).await?,
        other => return Err(Problem::invalid(format!("do: {other:?} is not known"))),
    };
    Ok(back(&ctx, &["queues", &name], &done))
}
