//! What people have done.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::html;

use super::{Page, empty, pager, when};
use crate::api::read::{asked, next};
use crate::app::Ctx;
use crate::look::PageQuery;
use crate::problem::Problem;

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let part = query.page()?;
    let lines = ctx.app.client.inspect().audit(part).await?;
    let older = next(&lines, part.limit, |line| line.key).map(|next| ctx.base.query(&["audit"], &[("after", &next)]));
    let newest = (!query.after.is_empty()).then(|| ctx.base.to(&["audit"]));
    let body = html! {
        div.head { h1 { "Audit" } }
        section.card {
            @if lines.is_empty() { (empty("Nobody has done anything.", "Cancels, retries and other orders are recorded here with who gave them and why.")) }
            @else { div.wide { table.cards {
                thead { tr { th { "Target" } th { "When" } th { "Who" } th { "Did" } th { "Came to" } th { "Why" } } }
                tbody { @for line in &lines {
                    tr data-key=(line.key) {
                        td.name.mono { a href=(ctx.base.query(&["find"], &[("q", line.target.rsplit(' ').next().unwrap_or_default())])) { (line.target) } }
                        td { (when::ago(line.at)) }
                        td.name { (line.actor) }
                        td { (line.action) }
                        td.name { (line.outcome) }
                        td.name { @if line.reason.is_empty() { span.dim { "–" } } @else { (line.reason) } }
                    }
                } }
            } } }
        }
        (pager(newest, older))
    };
    Ok(Page::new("Audit", "Audit", body).answer(&ctx, &headers))
}
