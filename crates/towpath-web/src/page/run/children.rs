//! What a run has started: jobs, runs and graphs, and how each stands.

use maud::{Markup, html};
use towpath::core::replay::Pos;
use towpath::core::store::Child;

use crate::app::Ctx;
use crate::page::{badge, when};
use crate::problem::Problem;

/// Children whose states are looked up.
const SHOWN: usize = 50;

/// The address of a child.
pub(super) fn link(ctx: &Ctx, child: Child) -> String {
    match child {
        Child::Job(job) => ctx.base.to(&["jobs", &job.to_string()]),
        Child::Graph(graph) => ctx.base.to(&["graphs", &graph.to_string()]),
    }
}

/// The newest of them, a line each. What is not stored yet, or any more, is said to be so.
pub(super) async fn card(ctx: &Ctx, children: &[(Pos, String, Child)]) -> Result<Markup, Problem> {
    let mut lines = Vec::new();
    for (pos, name, child) in children.iter().rev().take(SHOWN) {
        lines.push((pos, name, *child, look(ctx, *child).await?));
    }
    Ok(html! {
        @if !lines.is_empty() {
            section.card { h2 { "Children" }
                div.wide { table.cards {
                    thead { tr { th { "Child" } th { "State" } th { "Started" } th.num { "Took" } th.num { "#" } } }
                    tbody { @for (pos, name, child, line) in &lines { tr data-key={ "child-" (pos) } {
                        td.name { a href=(link(ctx, *child)) { (name) } }
                        @match line {
                            Some((state, started, took)) => {
                                td { (state) } td data-l="started" { (started) } td.num data-l="took" { (took) }
                            },
                            None => { td { span.dim { "not stored" } } td {} td {} },
                        }
                        td.num data-l="operation" { (pos) }
                    } } }
                } }
                @if children.len() > SHOWN { p.dim.small { "The newest " (SHOWN) " of " (children.len()) " in these lines of the journal." } }
            }
        }
    })
}

/// Its state, when it began, and how long it took.
async fn look(ctx: &Ctx, child: Child) -> Result<Option<(Markup, Markup, String)>, Problem> {
    let inspect = ctx.app.client.inspect();
    Ok(match child {
        Child::Job(job) => inspect.job(job).await?.map(|detail| {
            let line = &detail.line;
            let state = badge::of_line(line).badge();
            (state, when::ago_or_none(line.started_at), when::took(line.started_at, line.ended_at))
        }),
        Child::Graph(graph) => inspect.graph_line(graph).await?.map(|line| {
            let state = badge::of_graph(line.end, line.stop).badge();
            (state, when::ago(line.created_at), when::took(Some(line.created_at), line.ended_at))
        }),
    })
}
