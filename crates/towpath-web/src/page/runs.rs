//! Runs: the jobs that have a journal.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::html;
use towpath::core::store::JobShape;

use super::jobs::{self, ListQuery};
use super::{Page, empty};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look::{JobQuery, PageQuery, STATE_WORDS, list};
use crate::problem::Problem;

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let part = PageQuery { after: query.after.clone(), ..PageQuery::default() };
    let which = JobQuery { shape: JobShape::Run, ..query.which() };
    let found = list::jobs(&ctx.app.client, &which, part.page()?, query.patience()).await?;
    let (lines, next) = (&found.lines, &found.next);
    let look = ("look", if found.has_stopped { "far" } else { "" });
    let older =
        next.as_ref().map(|next| ctx.base.query(&["runs"], &[&query.pairs()[..], &[("after", next), look]].concat()));
    let newest = (!query.after.is_empty()).then(|| ctx.base.query(&["runs"], &query.pairs()));
    let body = html! {
        div.head { h1 { "Runs" } }
        form.filters action=(ctx.base.to(&["runs"])) role="search" aria-label="Filters" {
            label { "State"
                select name="state" {
                    option value="" { "any" }
                    @for word in STATE_WORDS { option value=(word) selected[query.state == word] { (word) } }
                }
            }
            label { "Function" input name="kind" value=(query.kind) maxlength="64" placeholder="any"; }
            button type="submit" { "Filter" }
        }
        section.card {
            @if lines.is_empty() && found.has_stopped { (jobs::not_yet()) }
            @else if lines.is_empty() { (empty("There are no runs like that.", "Start one with Client::start; its own id leads to it in the field at the top.")) }
            @else { (jobs::table(&ctx, lines)) }
        }
        (jobs::parts(newest, older, &found))
    };
    Ok(Page::new("Runs", "Runs", body).answer(&ctx, &headers))
}
