//! Pages for people.

use std::sync::Arc;

use axum::Router;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use maud::html;

use crate::app::{App, Ctx};
use crate::base::Base;
use crate::options::User;
use crate::problem::Problem;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(overview))
}

/// Where live work stands.
async fn overview(ctx: Ctx) -> Result<impl IntoResponse, Problem> {
    let queues = ctx.app.client.inspect().queues().await?;
    let link = |queue: &str| ctx.base.query(&["api", "jobs"], &[("queue", queue)]);
    Ok(Html(
        html! {
            h1 { "towpath " (ctx.app.options.instance) }
            ul {
                @for line in &queues {
                    li { a href=(link(line.queue.as_str())) { (line.queue) } ": " (line.ready) " ready, " (line.running) " running" }
                }
            }
            p { a href=(ctx.base.to(&["api", "openapi.json"])) { "The API" } }
        }
        .into_string(),
    ))
}

/// A problem as a page.
pub(crate) fn problem(_app: &App, base: &Base, _user: Option<&User>, problem: &Problem) -> impl IntoResponse {
    Html(html! { p { (problem.message) } a href=(base.to(&[])) { "Overview" } }.into_string())
}
