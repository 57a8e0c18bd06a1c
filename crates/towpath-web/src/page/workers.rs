//! Workers: who is at work, on what, and who is gone.

use axum::http::HeaderMap;
use axum::response::Response;
use maud::html;

use super::{Page, badge, empty, when};
use crate::app::Ctx;
use crate::look::Workers;
use crate::problem::Problem;

pub(super) async fn page(ctx: Ctx, headers: HeaderMap) -> Result<Response, Problem> {
    let workers = Workers::look(&ctx.app.client).await?;
    let body = html! {
        div.head { h1 { "Workers" } div.acts { a.button href=(ctx.base.to(&["versions"])) { "Versions" } } }
        section.card {
            @if workers.lines.is_empty() { (empty("No worker is registered.", "Start one with Worker::builder(&client)…start(), or run a flow with `towpath run`.")) }
            @else { div.wide { table.cards {
                thead { tr { th { "Worker" } th { "State" } th.num { "Running" } th { "Queues" } th { "Kinds" } th { "Started" } th { "Lease until" } } }
                tbody { @for line in &workers.lines {
                    tr data-key=(line.worker) {
                        td.name { (line.name) div.dim.small.mono { (line.worker) } }
                        td { @if workers.lives(line) { (badge::badge("succeeded", "succeeded", "lives")) } @else { (badge::badge("lost", "dead", "gone")) } }
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
