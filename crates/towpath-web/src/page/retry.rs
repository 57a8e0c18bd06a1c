//! The question before a graph is retried in place: which nodes, how many they are, and what they are called.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::GraphLine;

use super::act::{back, fields};
use super::{Page, badge};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look;
use crate::options::Action;
use crate::orders::graph::{self, Planned, Retry};
use crate::problem::{Code, Problem};

/// Names that are shown.
const NAMED: usize = 30;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Which {
    mode: String,
    node: String,
    even_incomplete: String,
    reason: String,
}

impl Which {
    fn read(&self) -> Result<Retry, Problem> {
        // The field of the node is there in every mode.
        let node = if self.mode == "from" { self.node.as_str() } else { "" };
        Retry::read(&self.mode, node, !self.even_incomplete.is_empty())
    }
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    Path(id): Path<String>,
    query: Result<Query<Which>, QueryRejection>,
) -> Result<Response, Problem> {
    ctx.allow(Action::Retry)?;
    let which = asked(query)?;
    let graph = look::graph_id(&id)?;
    let line = ctx.app.client.inspect().graph_line(graph).await?.ok_or_else(|| Problem::not_found("graph", &id))?;
    let planned = match which.read() {
        Ok(retry) => graph::plan(&ctx, graph, &retry).await,
        Err(problem) => Err(problem),
    };
    let planned = match planned {
        Ok(planned) => Ok(planned),
        Err(problem) if matches!(problem.code, Code::Conflict | Code::Invalid) => Err(problem),
        Err(problem) => return Err(problem),
    };
    let even_so = which.read().map(|retry| Retry { even_incomplete: true, ..retry });
    let may_be_even_so = match (&planned, even_so) {
        (Err(_), Ok(retry)) => graph::plan(&ctx, graph, &retry).await.is_ok(),
        _ => false,
    };
    let body = html! {
        div.head { (badge::of_graph(line.end, line.stop).badge()) h1 { "Retry " (line.name) "?" } }
        (modes(&ctx, &line, &which))
        @match &planned {
            Ok(planned) => (question(&ctx, &line, &which, planned)),
            Err(problem) => (refusal(&ctx, &line, &which, problem, may_be_even_so)),
        }
    };
    Ok(Page::new(format!("Retry {}", line.name), "Graphs", body).answer(&ctx, &headers))
}

/// The three ways, each a form that counts again.
fn modes(ctx: &Ctx, line: &GraphLine, which: &Which) -> Markup {
    let modes = [
        ("failed", "what failed, was cancelled or undone"),
        ("all", "all that has ended"),
        ("from", "one node and all below it"),
    ];
    html! {
        form.filters action=(ctx.base.to(&["graphs", &line.id.to_string(), "retry"])) aria-label="Which nodes" {
            label { "Which nodes"
                select name="mode" { @for (mode, words) in modes { option value=(mode) selected[which.mode == mode] { (words) } } }
            }
            label { "Node, for one" input name="node" value=(which.node) maxlength="200" placeholder="its name"; }
            button type="submit" { "Count again" }
        }
    }
}

fn question(ctx: &Ctx, line: &GraphLine, which: &Which, planned: &Planned) -> Markup {
    let count = match planned.nodes.len() {
        0 => "nothing but the stop".to_owned(),
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    html! {
        section.card.stack {
            p { "They run again from their first attempt, with what they were given; outputs of the others stay. What was skipped because of them is decided anew."
                @if planned.lifts { " The stop that holds the graph back is lifted." } }
            form.filters method="post" action=(ctx.base.to(&["graphs", &line.id.to_string(), "retry"])) {
                input type="hidden" name="mode" value=(which.mode);
                input type="hidden" name="node" value=(which.node);
                input type="hidden" name="even_incomplete" value=(which.even_incomplete);
                label { "Why, for the audit" input name="reason" maxlength="500" data-keep; }
                button.danger type="submit" { "Retry " (count) }
                a.button href=(ctx.base.to(&["graphs", &line.id.to_string()])) { "No" }
            }
            @if !planned.nodes.is_empty() {
                p.small { @for node in planned.nodes.iter().take(NAMED) { span.tag { (node) } " " }
                    @if planned.nodes.len() > NAMED { "and " (planned.nodes.len() - NAMED) " more" } }
            }
        }
    }
}

fn refusal(ctx: &Ctx, line: &GraphLine, which: &Which, problem: &Problem, may_be_even_so: bool) -> Markup {
    let even = [("mode", which.mode.as_str()), ("node", which.node.as_str()), ("even_incomplete", "yes")];
    html! {
        div.card.alert role="alert" {
            b { (problem.message) }
            @if let Some(help) = &problem.help { p { (help) } }
            @if may_be_even_so { a.button href=(ctx.base.query(&["graphs", &line.id.to_string(), "retry"], &even)) { "Count it even so" } }
            a.button href=(ctx.base.to(&["graphs", &line.id.to_string()])) { "Back to the graph" }
        }
    }
}

pub(super) async fn act(
    ctx: Ctx,
    Path(id): Path<String>,
    form: Result<Form<Which>, FormRejection>,
) -> Result<Response, Problem> {
    let which = fields(form)?;
    let done = graph::retry(&ctx, look::graph_id(&id)?, which.read()?, &which.reason).await?;
    Ok(back(&ctx, &["graphs", &id], &done))
}
