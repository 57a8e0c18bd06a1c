//! What people have done to one thing, with who and why; of a graph also how it has grown.

use std::collections::BTreeMap;

use maud::{Markup, html};
use towpath::Timestamp;
use towpath::core::store::{AuditLine, GraphDetail, NodeLine, Page as Part};
use towpath::inspect::JobDetail;

use super::when;
use crate::app::Ctx;
use crate::problem::Problem;

/// Lines that are shown; the audit has all that people did.
const SHOWN: usize = 20;
/// Nodes that are named of those that came together.
const NAMED: usize = 5;

/// Something that has happened to it.
enum Happened<'a> {
    Ordered(AuditLine),
    /// These nodes came later than their graph, together.
    Grown(Vec<&'a NodeLine>),
}

/// What was done to a graph, and when nodes were appended to it. What was done to one node is on that job's page.
pub(super) async fn of_graph(ctx: &Ctx, detail: &GraphDetail) -> Result<Markup, Problem> {
    let target = detail.line.id.to_string();
    let mut all = ordered(ctx, &target, |_| true).await?;
    let mut grown: BTreeMap<Timestamp, Vec<&NodeLine>> = BTreeMap::new();
    for node in detail.nodes.iter().filter(|node| node.enqueued_at > detail.line.created_at) {
        grown.entry(node.enqueued_at).or_default().push(node);
    }
    all.extend(grown.into_iter().map(|(at, nodes)| (at, Happened::Grown(nodes))));
    Ok(card(ctx, &target, all))
}

/// What was done to a job, by its id, and to a run by its own. A queue or a schedule may have the same name as a run.
pub(super) async fn of_job(ctx: &Ctx, detail: &JobDetail) -> Result<Markup, Problem> {
    let target = detail.line.id.to_string();
    let mut all = ordered(ctx, &target, |_| true).await?;
    if let Some(run) = &detail.run {
        all.extend(ordered(ctx, run.id.as_str(), |line| line.action.ends_with(" run")).await?);
    }
    Ok(card(ctx, &target, all))
}

async fn ordered<'a>(
    ctx: &Ctx,
    target: &str,
    is_meant: impl Fn(&AuditLine) -> bool,
) -> Result<Vec<(Timestamp, Happened<'a>)>, Problem> {
    // One more than is shown says that there is more.
    let part = Part { after: None, limit: SHOWN as u32 + 1 };
    let lines = ctx.app.client.inspect().audit_of(target.to_owned(), part).await?;
    Ok(lines.into_iter().filter(is_meant).map(|line| (line.at, Happened::Ordered(line))).collect())
}

/// Nothing at all where nothing has happened: most jobs are left alone all their lives.
fn card(ctx: &Ctx, target: &str, mut all: Vec<(Timestamp, Happened<'_>)>) -> Markup {
    // What is of one instant stays in its order, the newest first.
    all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let more = all.len() > SHOWN;
    html! {
        @if !all.is_empty() {
            section.card {
                h2 { "History" }
                div.wide { table.cards {
                    thead { tr { th { "Did" } th { "When" } th { "Who" } th { "Came to" } th { "Why" } } }
                    tbody { @for (at, happened) in all.iter().take(SHOWN) { (row(*at, happened)) } }
                } }
                @if more { p.dim.small { "The newest " (SHOWN) ". "
                    a href=(ctx.base.query(&["audit"], &[("target", target)])) { "All that people did" } } }
            }
        }
    }
}

fn row(at: Timestamp, happened: &Happened<'_>) -> Markup {
    match happened {
        Happened::Ordered(line) => html! {
            tr data-key={ "did-" (line.key) } {
                td.name { (line.action) }
                td { (when::ago(at)) }
                td.name data-l="by" { (line.actor) }
                td.name { (line.outcome) }
                td.name data-l="why" { (why(&line.reason)) }
            }
        },
        Happened::Grown(nodes) => html! {
            tr data-key={ "grown-" (at.as_micros()) } {
                td.name { "append" }
                td { (when::ago(at)) }
                td data-l="by" { span.dim { "code" } }
                td.name { (nodes.len()) @if nodes.len() == 1 { " node: " } @else { " nodes: " }
                    @for (place, node) in nodes.iter().take(NAMED).enumerate() { @if place > 0 { ", " } (node.name) }
                    @if nodes.len() > NAMED { "…" } }
                td data-l="why" { (why("")) }
            }
        },
    }
}

/// Why, in the words of who did it.
pub(super) fn why(reason: &str) -> Markup {
    html! { @if reason.is_empty() { span.dim { "–" } } @else { (reason) } }
}
