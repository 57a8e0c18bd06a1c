//! The list of graphs.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::GraphLine;

use super::{Page, badge, empty, pager, when};
use crate::api::read::{asked, next};
use crate::app::Ctx;
use crate::look::{self, PageQuery};
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    name: String,
    state: String,
    after: String,
}

impl ListQuery {
    /// Its pairs, for links to the same graphs.
    fn pairs(&self) -> [(&'static str, &str); 2] {
        [("name", &self.name), ("state", &self.state)]
    }

    fn is_filtered(&self) -> bool {
        self.pairs().iter().any(|(_, value)| !value.is_empty())
    }
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let part = PageQuery { after: query.after.clone(), ..PageQuery::default() }.page()?;
    let lines = ctx.app.client.inspect().graphs(look::graph_filter(&query.name, &query.state)?, part).await?;
    let older = next(&lines, part.limit, |line| line.key);
    let older = older.map(|next| ctx.base.query(&["graphs"], &[&query.pairs()[..], &[("after", &next)]].concat()));
    let newest = (!query.after.is_empty()).then(|| ctx.base.query(&["graphs"], &query.pairs()));
    let body = html! {
        div.head { h1 { "Graphs" } }
        form.filters action=(ctx.base.to(&["graphs"])) role="search" aria-label="Filters" {
            label { "State"
                select name="state" {
                    option value="" { "any" }
                    @for word in ["open", "succeeded", "failed", "cancelled"] { option value=(word) selected[query.state == word] { (word) } }
                }
            }
            label { "Name" input name="name" value=(query.name) maxlength="128" placeholder="any"; }
            button type="submit" { "Filter" }
            @if query.is_filtered() { a.button href=(ctx.base.to(&["graphs"])) { "All" } }
        }
        section.card {
            @if lines.is_empty() { (empty("No graph is like that.", "Enqueue one with Client::enqueue_graph, or run a flow file with `towpath run`.")) }
            @else { (table(&ctx, &lines)) }
        }
        (pager(newest, older))
    };
    Ok(Page::new("Graphs", "Graphs", body).answer(&ctx, &headers))
}

/// Graphs, a line each.
pub(super) fn table(ctx: &Ctx, lines: &[GraphLine]) -> Markup {
    if lines.is_empty() {
        return empty("None.", "");
    }
    html! {
        div.wide { table.cards {
            thead { tr { th { "Graph" } th { "State" } th.num { "Nodes" } th { "Enqueued" } th.num { "Took" } } }
            tbody { @for line in lines {
                tr data-key=(line.id) {
                    td.name { a href=(ctx.base.to(&["graphs", &line.id.to_string()])) { (line.name) } div.dim.small.mono { (line.id) } }
                    td { (badge::of_graph(line.end, line.stop).badge()) }
                    td.num data-l="nodes" { (line.nodes) }
                    td data-l="enqueued" { (when::ago(line.created_at)) }
                    td.num data-l="took" { (when::took(Some(line.created_at), line.ended_at)) }
                }
            } }
        } }
    }
}
