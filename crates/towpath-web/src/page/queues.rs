//! Queues: where live work stands, and who serves it.

use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use towpath::core::store::QueueLine;

use super::{Page, badge, empty};
use crate::app::Ctx;
use crate::look::Workers;
use crate::problem::Problem;

pub(super) async fn page(ctx: Ctx, headers: HeaderMap) -> Result<Response, Problem> {
    let lines = ctx.app.client.inspect().queues().await?;
    let workers = Workers::look(&ctx.app.client).await?;
    let body = html! {
        div.head { h1 { "Queues" } }
        section.card { (table(&ctx, &lines, &workers)) }
    };
    Ok(Page::new("Queues", "Queues", body).answer(&ctx, &headers))
}

/// Queues, a line each, with a bar of what stands in them.
pub(super) fn table(ctx: &Ctx, lines: &[QueueLine], workers: &Workers) -> Markup {
    if lines.is_empty() {
        return empty("No queue has live work.", "");
    }
    let of = |queue: &str, state: &str| ctx.base.query(&["jobs"], &[("queue", queue), ("state", state)]);
    html! {
        div.wide { table.cards {
            thead { tr { th { "Queue" } th.num { "Running" } th.num { "Ready" } th.num { "Later" } th.num { "Blocked" } th.num { "Workers" } } }
            tbody { @for line in lines {
                @let name = line.queue.as_str();
                @let living = workers.of_queue(name);
                tr data-key=(name) {
                    td.name { a href=(ctx.base.query(&["jobs"], &[("queue", name)])) { (name) } }
                    td.num data-l="running" { a href=(of(name, "running")) { (line.running) } }
                    td.num data-l="ready" { a href=(of(name, "ready")) { (line.ready) } }
                    td.num data-l="later" { (line.later) }
                    td.num data-l="blocked" { @if line.blocked > 0 { a href=(of(name, "blocked")) { (line.blocked) } } @else { "0" } }
                    td.num data-l="workers" { @if living == 0 { (badge::badge("unserved", "blocked", "none")) } @else { (living) } }
                }
            } }
        } }
    }
}
