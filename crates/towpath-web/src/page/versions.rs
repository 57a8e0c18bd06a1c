//! Which versions of the code are still needed, and which may go.

use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::overview::number;
use super::{Page, badge, empty, when};
use crate::app::Ctx;
use crate::look::versions::{self, Line};
use crate::problem::Problem;

pub(super) async fn page(ctx: Ctx, headers: HeaderMap) -> Result<Response, Problem> {
    let lines = versions::look(&ctx.app.client).await?;
    let body = html! {
        div.head { h1 { "Versions" } }
        p.dim { "What has not ended of each kind and version. A run is pinned to the version that it was started with: take that out of the code when nothing of it is open." }
        section.card {
            @if lines.is_empty() { (empty("Nothing is open, and no worker takes more than one version.", "")) }
            @else { (table(&ctx, &lines)) }
        }
    };
    Ok(Page::new("Versions", "Workers", body).answer(&ctx, &headers))
}

fn table(ctx: &Ctx, lines: &[Line]) -> Markup {
    html! {
        div.wide { table.cards {
            thead { tr { th { "Kind" } th.num { "Version" } th.num { "Open" } th.num { "Runs" } th { "Oldest" } th.num { "Workers" } th { "Is it needed?" } } }
            tbody { @for line in lines {
                tr data-key={ (line.kind) "-" (line.version) } {
                    td.name { a href=(ctx.base.query(&["jobs"], &[("kind", line.kind.as_str())])) { (line.kind) } }
                    td.num data-l="version" { (line.version) }
                    td.num data-l="open" { (number(line.open)) }
                    td.num data-l="runs" { (number(line.runs)) }
                    td data-l="oldest" { (when::ago_or_none(line.oldest)) }
                    td.num data-l="workers" { (line.served_by) }
                    td { (needed(line)) }
                }
            } }
        } }
    }
}

fn needed(line: &Line) -> Markup {
    match (line.may_go(), line.served_by) {
        (true, _) => badge::badge("succeeded", "succeeded", "may go"),
        (false, 0) => badge::badge("unserved", "blocked", "nobody takes it"),
        _ => badge::badge("running", "running", "needed"),
    }
}
