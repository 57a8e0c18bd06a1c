//! Many jobs at once: the question with the count, and the way back.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::act::fields;
use super::jobs::{ListQuery, table};
use super::{Page, empty};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::options::Action;
use crate::orders::many::{self, MANY_MAX, ToMany};
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Many {
    #[serde(rename = "do")]
    what: String,
    state: String,
    queue: String,
    kind: String,
    graph: String,
    tag: String,
    reason: String,
    /// The key up to which jobs were counted: what came later is not meant.
    upto: String,
}

impl Many {
    fn which(&self) -> ListQuery {
        let Self { state, queue, kind, graph, tag, .. } = self;
        ListQuery {
            state: state.clone(),
            queue: queue.clone(),
            kind: kind.clone(),
            graph: graph.clone(),
            tag: tag.clone(),
            ..ListQuery::default()
        }
    }
}

/// What may be done to jobs of these filters, by who looks.
pub(super) fn possible(ctx: &Ctx, query: &ListQuery) -> Option<(ToMany, &'static str)> {
    match query.state.as_str() {
        "ready" | "running" | "blocked" if ctx.may(Action::Cancel) => Some((ToMany::Cancel, "Cancel all of these…")),
        "" if query.is_filtered() && ctx.may(Action::Cancel) => Some((ToMany::Cancel, "Cancel all of these…")),
        "dead" | "quarantined" | "cancelled" if ctx.may(Action::Retry) => {
            Some((ToMany::Requeue, "Requeue all of these…"))
        }
        _ => None,
    }
}

const fn says(what: ToMany) -> &'static str {
    match what {
        ToMany::Cancel => {
            "Those that have not started end at once, those that run are asked to stop. Jobs that come from now on are not meant."
        }
        ToMany::Requeue => {
            "Each is ready again with its failures at 0; its attempts go on counting. Nodes of graphs and runs that have begun are left out."
        }
    }
}

/// Counts what it would be done to, and asks.
pub(super) async fn ask(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<Many>, QueryRejection>,
) -> Result<Response, Problem> {
    let many = asked(query)?;
    let (what, query) = (ToMany::of(&many.what)?, many.which());
    let found = many::count(&ctx, what, &query.which()).await?;
    let verb = if what == ToMany::Cancel { "Cancel" } else { "Requeue" };
    let counted = format!("{}{}", found.count, if found.may_be_more { " or more" } else { "" });
    let body = html! {
        div.head { h1 { (verb) " " (counted) " jobs?" } }
        section.card.stack {
            @if found.count == 0 && !found.may_be_more { (empty("No job is like that any more.", "")) }
            @else {
                p { (says(what))
                    @if found.may_be_more { " At most " (MANY_MAX) " are taken at a time." } }
                dl.facts { @for (name, value) in query.pairs().iter().filter(|(_, value)| !value.is_empty()) { dt { (name) } dd { (value) } } }
                form.filters method="post" action=(ctx.base.to(&["jobs", "many"])) {
                    input type="hidden" name="do" value=(what.word());
                    @for (name, value) in query.pairs() { input type="hidden" name=(name) value=(value); }
                    input type="hidden" name="upto" value=(found.upto);
                    label { "Why, for the audit" input name="reason" maxlength="500"; }
                    button.danger type="submit" { (verb) " " (counted) " jobs" }
                    a.button href=(ctx.base.query(&["jobs"], &query.pairs())) { "No" }
                }
                @if !found.first.is_empty() { h2 { "The newest of them" } (table(&ctx, &found.first)) }
            }
        }
    };
    Ok(Page::new(format!("{verb} jobs"), "Jobs", body).answer(&ctx, &headers))
}

pub(super) async fn act(ctx: Ctx, form: Result<Form<Many>, FormRejection>) -> Result<Response, Problem> {
    let many = fields(form)?;
    let (what, query) = (ToMany::of(&many.what)?, many.which());
    let done = many::carry_out(&ctx, what, &query.which(), (&many.upto, &many.reason)).await?;
    let to = ctx.base.query(&["jobs"], &[&query.pairs()[..], &[("done", &done.message)]].concat());
    Ok(Redirect::to(&to).into_response())
}
