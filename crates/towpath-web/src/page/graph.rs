//! One graph: a map of its nodes by layers, how each stands, and a list of them with what needs somebody first.

mod draw;
mod fold;

use std::collections::BTreeMap;

use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::{GraphDetail, JobLine, NodeLine};
use towpath::core::{Compensation, State};
use towpath::{End, GraphId, Holds, JobId, Kind};

use super::{Page, act, badge, empty, history, payload, when};
use crate::app::Ctx;
use crate::look;
use crate::options::Part;
use crate::problem::Problem;

/// Nodes that are listed below the map; the list of jobs has all.
const LISTED: usize = 100;
/// From so many drawn nodes on, the script looks less often.
const LARGE: usize = 600;
const LARGE_EVERY_MS: u32 = 3_000;

/// What of a graph is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GraphQuery {
    /// `failed`: only what failed and what lies above it. `all`: nothing is folded.
    show: String,
    /// The node whose group is unfolded.
    open: String,
    done: String,
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<GraphQuery>,
) -> Result<Response, Problem> {
    let found = ctx.app.client.inspect().graph(look::graph_id(&id)?).await?;
    let detail = found.ok_or_else(|| Problem::not_found("graph", &id))?;
    let held = ctx.app.client.held_in(&detail).await?;
    let inside = ctx.app.client.holder(detail.line.id).await?;
    let line = &detail.line;
    let folded = match query.show.as_str() {
        "failed" => fold::failed(&detail),
        "all" => fold::all(&detail),
        _ => fold::fold(&detail, &query.open),
    };
    let history = history::of_graph(&ctx, &detail).await?;
    let drawn = folded.groups.len();
    let body = html! {
        div.head {
            (badge::of_graph(line.end, line.stop).badge())
            h1 { (line.name) }
            div.acts { (act::of_graph(&ctx, line)) }
        }
        (act::done(&query.done))
        @if let Some(stop) = &detail.stopped {
            div.card.alert { b { "Stopped to " (stop.reason) ", by " (stop.actor) } " " (when::ago(stop.at)) @if !stop.why.is_empty() { p { (stop.why) } } @if let Some(due) = stop.due { p { "It goes on " (when::ago(due)) ", or at once by `towpath retry`." } } }
        }
        section.card.graph aria-label="Map" {
            (tools(&ctx, &detail, &query))
            @if detail.nodes.is_empty() { (empty("It has no nodes.", "")) }
            @else if drawn == 0 { (empty("Nothing has failed.", "")) }
            @else { (draw::map(&ctx, &detail, &folded, &held)) }
        }
        div.cols {
            section.card { h2 { "Facts" }
                dl.facts {
                    dt { "Id" } dd.mono { (line.id) }
                    @if let Some(holder) = &inside { dt { "Inside" } dd { (inside_of(&ctx, holder)) } }
                    dt { "Nodes" } dd { (line.nodes) ", " (detail.edges.len()) " edges" }
                    @if let Some(retry) = detail.rules.retry { dt { "Generation" } dd { (line.generation) " of " (retry.attempts) ", " (when::duration(retry.delay())) " apart" } }
                    @else if line.generation > 1 { dt { "Generation" } dd { (line.generation) } }
                    @if let Some(compensation) = line.compensation { dt { "Undos" } dd { (undos(compensation)) } }
                    @if let Some(of) = line.restart_of { dt { "Restart of" } dd { (another(&ctx, of)) } }
                    @if !detail.restarts.is_empty() { dt { "Restarted as" } dd { @for graph in &detail.restarts { (another(&ctx, *graph)) " " } } }
                    dt { "Enqueued" } dd { (when::ago(line.created_at)) }
                    @if let Some(ended) = line.ended_at { dt { "Ended" } dd { (when::ago(ended)) ", after " (when::took(Some(line.created_at), Some(ended))) } }
                }
            }
            @if let Some(input) = &detail.input {
                section.card { h2 { "Input" } (payload::payload(&ctx, &kind_of(&detail), Part::Input, input)) }
            }
        }
        section.card { h2 { "Nodes" } (list(&ctx, &detail, &held)) }
        (history)
    };
    let mut page = Page::new(line.name.to_string(), "Graphs", body);
    page.every_ms = if drawn > LARGE { LARGE_EVERY_MS } else { 0 };
    Ok(page.answer(&ctx, &headers))
}

/// A graph's input is shown under the kind of its first node.
fn kind_of(detail: &GraphDetail) -> Kind {
    detail.nodes.first().map_or_else(|| Kind::from_stored("towpath.graph"), |node| node.kind.clone())
}

fn tools(ctx: &Ctx, detail: &GraphDetail, query: &GraphQuery) -> Markup {
    let id = detail.line.id.to_string();
    let show = |what: &str| ctx.base.query(&["graphs", &id], &[("show", what)]);
    let mut counts: BTreeMap<State, usize> = BTreeMap::new();
    detail.nodes.iter().for_each(|node| *counts.entry(node.state).or_default() += 1);
    let of_graph = |state: &str| ctx.base.query(&["jobs"], &[("graph", &id), ("state", state)]);
    let is_failed = |state: &State| matches!(state, State::Ended(end) if end.is_failure());
    html! {
        div.tools {
            @for (state, count) in &counts {
                a href=(of_graph(state.word())) { (badge::badge(state.word(), state.word(), &format!("{count} {}", words(*state)))) }
            }
        }
        div.tools {
            button type="button" data-zoom="in" data-keep hidden aria-label="Larger" { "+" }
            button type="button" data-zoom="out" data-keep hidden aria-label="Smaller" { "−" }
            button type="button" data-zoom="fit" data-keep hidden { "Fit" }
            span hidden data-keep { input #search type="search" placeholder="Find a node, press /" aria-label="Find a node by name"; " " span #found.dim.small role="status" {} }
            @if counts.keys().any(is_failed) && query.show != "failed" { a.button href=(show("failed")) { "Only what failed, and above" } }
            @if query.show != "all" { a.button href=(show("all")) { "Unfold all" } }
            @if !query.show.is_empty() || !query.open.is_empty() { a.button href=(show("")) { "Folded" } }
        }
    }
}

/// A state's words where both kinds of skipped stand apart.
fn words(state: State) -> &'static str {
    match state {
        State::Ended(End::Skipped(towpath::SkipKind::Untaken)) => "untaken",
        State::Ended(End::Skipped(towpath::SkipKind::Upstream)) => "skipped",
        other => other.word(),
    }
}

/// What needs somebody first.
fn urgency(state: State) -> u8 {
    match state {
        State::Ended(End::Dead | End::Quarantined) => 0,
        State::Blocked => 1,
        State::Running => 2,
        State::Ready => 3,
        State::Waiting => 4,
        State::Ended(End::Cancelled) => 5,
        State::Ended(End::Skipped(_)) => 6,
        State::Ended(End::Succeeded) => 7,
    }
}

/// What came of its undos.
fn undos(compensation: Compensation) -> &'static str {
    match compensation {
        Compensation::Running => "run, or are about to",
        Compensation::Complete => "all that was to be undone is",
        Compensation::Incomplete => "one is not done: what it guards still stands",
    }
}

fn another(ctx: &Ctx, graph: GraphId) -> Markup {
    html! { a.mono href=(ctx.base.to(&["graphs", &graph.to_string()])) { (graph) } }
}

/// A link to the node or the run that has started a graph.
fn inside_of(ctx: &Ctx, holder: &JobLine) -> Markup {
    html! {
        a href=(ctx.base.to(&["jobs", &holder.id.to_string()])) {
            @match &holder.node { Some(node) => (node.name), None => "a run" }
        }
        @if let Some(node) = &holder.node { " of " a href=(ctx.base.to(&["graphs", &node.graph.to_string()])) { "its graph" } }
    }
}

/// What a node stands for: a link to its graph, or how far it has come.
pub(super) fn holds(ctx: &Ctx, holds: Option<&Holds>) -> Markup {
    html! {
        @match holds {
            Some(Holds::Graph(graph)) => { " " a href=(ctx.base.to(&["graphs", &graph.to_string()])) { "its graph" } },
            Some(Holds::Elements(progress)) => { " " span.dim.small { (progress.words()) } },
            _ => {},
        }
    }
}

fn list(ctx: &Ctx, detail: &GraphDetail, held: &BTreeMap<JobId, Holds>) -> Markup {
    let mut nodes: Vec<&NodeLine> = detail.nodes.iter().collect();
    nodes.sort_by_key(|node| urgency(node.state));
    html! {
        div.wide { table.cards {
            thead { tr { th { "Node" } th { "State" } th { "Kind" } th.num { "Attempts" } th { "Started" } th.num { "Took" } th { "Why" } } }
            tbody { @for node in nodes.iter().take(LISTED) {
                tr data-key=(node.job) {
                    td.name { a href=(ctx.base.to(&["jobs", &node.job.to_string()])) { (node.name) } }
                    td { (badge::of_node(node).badge()) }
                    td data-l="kind" { (node.kind) (holds(ctx, held.get(&node.job))) }
                    td.num data-l="attempts" { (node.counters.attempt) }
                    td data-l="started" { (when::ago_or_none(node.started_at)) }
                    td.num data-l="took" { (when::took(node.started_at, node.ended_at)) }
                    td.name { @if let Some(cause) = &node.cause { (detail.in_words(&node.name, cause)) } @else { span.dim { "–" } } }
                }
            } }
        } }
        @if nodes.len() > LISTED {
            p.dim.small { "The first " (LISTED) " of " (nodes.len()) ", by what needs somebody. "
                a href=(ctx.base.query(&["jobs"], &[("graph", &detail.line.id.to_string())])) { "All of them" } }
        }
    }
}
