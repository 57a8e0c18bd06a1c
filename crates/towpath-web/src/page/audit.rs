//! What people have done.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::html;

use super::history::why;
use super::{Page, empty, pager, when};
use crate::api::read::{asked, next};
use crate::app::Ctx;
use crate::look::{self, AuditQuery};
use crate::problem::Problem;

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let (part, target) = (query.page()?, ("target", query.target.as_str()));
    let lines = look::audit(&ctx.app.client, &query).await?;
    let to = |pairs: &[(&'static str, &str)]| ctx.base.query(&["audit"], pairs);
    let older = next(&lines, part.limit, |line| line.key).map(|next| to(&[target, ("after", &next)]));
    let newest = (!query.after.is_empty()).then(|| to(&[target]));
    let body = html! {
        div.head { h1 { "Audit" } }
        @if !query.target.is_empty() { p { "What was done to " span.mono { (query.target) } ". " a href=(ctx.base.to(&["audit"])) { "All" } } }
        section.card {
            @if lines.is_empty() && !query.target.is_empty() { (empty("Nobody has done anything to it.", "A target is the whole id of a job, graph, run or worker, or the name of a queue or schedule.")) }
            @else if lines.is_empty() { (empty("Nobody has done anything.", "Cancels, retries and other orders are recorded here with who gave them and why.")) }
            @else { div.wide { table.cards {
                thead { tr { th { "Target" } th { "When" } th { "Who" } th { "Did" } th { "Came to" } th { "Why" } } }
                tbody { @for line in &lines {
                    tr data-key=(line.key) {
                        td.name.mono { a href=(ctx.base.query(&["find"], &[("q", line.target.rsplit(' ').next().unwrap_or_default())])) { (line.target) } }
                        td { (when::ago(line.at)) }
                        td.name { (line.actor) }
                        td { (line.action) }
                        td.name { (line.outcome) }
                        td.name { (why(&line.reason)) }
                    }
                } }
            } } }
        }
        (pager(newest, older))
    };
    Ok(Page::new("Audit", "Audit", body).answer(&ctx, &headers))
}
