//! A stream of a run: its newest lines, which come by themselves while the page is open.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::{RunLine, StreamHead};

use super::{Page, badge, empty, pager, payload, when};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look;
use crate::options::Part;
use crate::problem::Problem;

/// Lines of one page.
const LINES: u64 = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamQuery {
    /// The lines up to this number; the newest, if not said.
    upto: Option<u64>,
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    Path((id, name)): Path<(String, String)>,
    query: Result<Query<StreamQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let detail = look::run(&ctx.app.client, &id).await?;
    let Some(run) = &detail.run else { return Err(Problem::not_found("run", &id)) };
    let heads = ctx.app.client.inspect().streams(run.id.clone()).await?;
    let lines = heads.iter().find(|head| head.name == name).map_or(0, |head| head.lines);
    let upto = query.upto.unwrap_or(lines).min(lines);
    let from = upto.saturating_sub(LINES);
    let limit = u32::try_from(upto - from).unwrap_or(u32::MAX);
    let shown = match limit {
        0 => Vec::new(),
        limit => ctx.app.client.store().stream(run.id.clone(), name.clone(), from, limit).await?,
    };
    let job = detail.line.id.to_string();
    let link = |upto: u64| ctx.base.query(&["jobs", &job, "streams", &name], &[("upto", &upto.to_string())]);
    let newest = (upto < lines).then(|| ctx.base.to(&["jobs", &job, "streams", &name]));
    let body = html! {
        div.head { (badge::of_line(&detail.line).badge()) h1 { "Stream " (name) } }
        p.dim { "Of run " a href=(ctx.base.to(&["jobs", &job])) { (run.id) } ". Lines " (if shown.is_empty() { 0 } else { from + 1 }) " to " (upto) " of " (lines) ", newest first." }
        section.card {
            @if shown.is_empty() { (empty("No line has been written.", "The function writes one by cx.emit.")) }
            @else { div.wide { table {
                thead { tr { th.num { "#" } th { "Written" } th { "Line" } } }
                tbody { @for line in shown.iter().rev() { tr data-key={ "line-" (line.number) } {
                    td.num { (line.number) } td { (when::ago(line.at)) } td.name { (payload::payload(&ctx, &detail.line.kind, Part::Published, &line.payload)) }
                } } }
            } } }
        }
        (pager(newest, (from > 0).then(|| link(from))))
    };
    Ok(Page::new(format!("Stream {name}"), "Runs", body).answer(&ctx, &headers))
}

/// The streams of a run, a line each.
pub(super) fn card(ctx: &Ctx, job: &str, run: &RunLine, heads: &[StreamHead]) -> Markup {
    html! {
        @if !heads.is_empty() {
            section.card aria-label={ "Streams of " (run.id) } { h2 { "Streams" }
                dl.facts { @for head in heads {
                    dt { a href=(ctx.base.to(&["jobs", job, "streams", &head.name])) { (head.name) } }
                    dd { (head.lines) @if head.lines == 1 { " line" } @else { " lines" } ", the newest " (when::ago(head.at)) }
                } }
            }
        }
    }
}
