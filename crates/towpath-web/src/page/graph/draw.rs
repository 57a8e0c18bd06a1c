//! The map as a picture: boxes with a shape, a name and a colour, lines with what they ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use maud::{Markup, html};
use towpath::core::store::{EdgeLine, GraphDetail, NodeLine};
use towpath::core::{Role, State};
use towpath::{Condition, Holds, JobId, NodeName};

use super::fold::{Folded, Group, Link};
use super::{urgency, when, words};
use crate::app::Ctx;
use crate::layout::{BOX_HEIGHT, BOX_WIDTH, Shape, lay_out};

/// Characters of a name that fit into a box.
const NAME_CHARS: usize = 20;

pub(super) fn map(ctx: &Ctx, detail: &GraphDetail, folded: &Folded, held: &BTreeMap<JobId, Holds>) -> Markup {
    let told = Told { held, undone: detail.undone() };
    let edges = folded.edges.iter().map(|&(parent, child, _)| (parent, child)).collect();
    let layout = lay_out(&Shape { nodes: folded.groups.len(), edges });
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let label = format!("Map of {} boxes; the list below has the same nodes", folded.groups.len());
    html! {
        div.view role="group" aria-label=(label) tabindex="0" { svg.map viewBox=(format!("0 0 {width} {height}")) data-size=(format!("{width} {height}")) preserveAspectRatio="xMidYMid meet" height=(shown_height(height)) {
            defs { marker #tip viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" { path.tip d="M0 .8 7 4 0 7.2z" {} } }
            @for (cell, edges) in &cells(layout.edges.iter().map(|points| around(points))) {
                g data-key={ "e-" (cell.0) "-" (cell.1) } data-box=(edges.box_text()) {
                    @for at in &edges.members {
                        @let points = &layout.edges[*at];
                        @match folded.edges[*at].2 {
                            Link::Edge(edge) => (line(&detail.edges[edge], points)),
                            Link::Undo => path class="edge undo" d=(path(points)) marker-end="url(#tip)" { title { "undo" } },
                        }
                    }
                }
            }
            @for (cell, nodes) in &cells(layout.nodes.iter().map(|&(x, y)| [x, y, x + BOX_WIDTH + 6.0, y + BOX_HEIGHT + 6.0])) {
                g data-key={ "c-" (cell.0) "-" (cell.1) } data-box=(nodes.box_text()) {
                    @for at in &nodes.members { (node(ctx, detail, &folded.groups[*at], &told, layout.nodes[*at])) }
                }
            }
        } }
    }
}

/// A part of the map, which the script leaves out while it is out of sight: a browser draws what it does not show too.
struct Cell {
    /// Places of nodes or edges.
    members: Vec<usize>,
    /// Left, top, right and bottom of what its members cover.
    covers: [f64; 4],
}

impl Cell {
    fn box_text(&self) -> String {
        let [left, top, right, bottom] = self.covers;
        format!("{:.0} {:.0} {:.0} {:.0}", left.floor(), top.floor(), right.ceil(), bottom.ceil())
    }
}

/// How wide and high a part of the map is.
const CELL: f64 = 1_024.0;

/// Things by the part of the map in which they begin, given what each of them covers.
fn cells(things: impl Iterator<Item = [f64; 4]>) -> BTreeMap<(i64, i64), Cell> {
    let mut cells: BTreeMap<(i64, i64), Cell> = BTreeMap::new();
    for (at, covers) in things.enumerate() {
        let place = ((covers[0] / CELL) as i64, (covers[1] / CELL) as i64);
        let cell = cells.entry(place).or_insert(Cell { members: Vec::new(), covers });
        cell.members.push(at);
        let [left, top, right, bottom] = cell.covers;
        cell.covers = [left.min(covers[0]), top.min(covers[1]), right.max(covers[2]), bottom.max(covers[3])];
    }
    cells
}

/// What a line covers, with the word beside it.
fn around(points: &[(f64, f64)]) -> [f64; 4] {
    let first = points.first().copied().unwrap_or_default();
    let start = [first.0, first.1, first.0, first.1];
    let [left, top, right, bottom] = points
        .iter()
        .fold(start, |[left, top, right, bottom], &(x, y)| [left.min(x), top.min(y), right.max(x), bottom.max(y)]);
    [left, top - 16.0, right + 8.0, bottom + 4.0]
}

/// What is said of a node besides itself.
struct Told<'a> {
    held: &'a BTreeMap<JobId, Holds>,
    undone: BTreeSet<&'a NodeName>,
}

/// As high as what it shows; a large map is cut by the style, and moved.
fn shown_height(height: f64) -> String {
    format!("{:.0}", (height * 1.1).clamp(180.0, 740.0))
}

/// A line, and what it asks for if that is not success.
fn line(edge: &EdgeLine, points: &[(f64, f64)]) -> Markup {
    let condition = edge.condition();
    let (class, asks) = match &condition {
        Some(Condition::Succeeded) => ("edge", None),
        Some(Condition::Branch(label)) => ("edge", Some(label.to_string())),
        Some(Condition::Failed) => ("edge dash other", Some("failed".to_owned())),
        Some(other) => ("edge dash", Some(other.to_string())),
        None => ("edge dash", None),
    };
    let label = asks.as_ref().zip(points.first().zip(points.get(1)));
    html! {
        path class=(class) d=(path(points)) marker-end="url(#tip)" {}
        @if let Some((asks, (from, to))) = label {
            text.lab x=(format!("{:.0}", from.0 + 8.0)) y=(format!("{:.0}", from.1 + (to.1 - from.1) * 0.12 - 4.0)) { (cut(asks, 14)) }
        }
    }
}

/// Curves between layers, straight through them.
fn path(points: &[(f64, f64)]) -> String {
    let mut text = String::with_capacity(points.len() * 24);
    let Some((x, y)) = points.first() else { return text };
    // Writing to a text cannot fail.
    let _ = write!(text, "M{x:.0} {y:.1}");
    for (at, pair) in points.windows(2).enumerate() {
        let [(x1, y1), (x2, y2)] = pair else { continue };
        if at % 2 == 1 || (y1 - y2).abs() < 0.5 {
            let _ = write!(text, "L{x2:.0} {y2:.1}");
        } else {
            let middle = f64::midpoint(*x1, *x2);
            let _ = write!(text, "C{middle:.0} {y1:.1} {middle:.0} {y2:.1} {x2:.0} {y2:.1}");
        }
    }
    text
}

fn node(ctx: &Ctx, detail: &GraphDetail, group: &Group, told: &Told<'_>, (x, y): (f64, f64)) -> Markup {
    let Some(first) = group.nodes.first().map(|at| &detail.nodes[*at]) else { return Markup::default() };
    let states = states(detail, group);
    // The worst of several is shown; the words below say how many there are of each.
    let state = states.keys().copied().min_by_key(|state| urgency(*state)).unwrap_or(first.state);
    let id = detail.line.id.to_string();
    let (link, name, below) = match &group.nodes[..] {
        [_] => (opens(ctx, first, told), first.name.to_string(), below(first)),
        many => {
            let last = many.last().map_or("", |at| detail.nodes[*at].name.as_str());
            let link = ctx.base.query(&["graphs", &id], &[("open", first.name.as_str())]);
            let counts: Vec<String> =
                states.iter().map(|(state, count)| format!("{count} {}", words(*state))).collect();
            (link, format!("{}× {} … {last}", many.len(), first.name), counts.join(", "))
        }
    };
    let is_many = group.nodes.len() > 1;
    let marks = marks(first, told, is_many);
    let at = |dx: f64, dy: f64| (format!("{:.0}", x + dx), format!("{:.1}", y + dy));
    let (box_at, icon, text, sub) = (at(0.0, 0.0), at(9.0, 13.0), at(30.0, 17.0), at(30.0, 32.0));
    html! {
        a href=(link) class={ "st-" (state.word()) } data-name=(name) data-key={ "n-" (first.job) } {
            title { (name) "\n" (words(state)) ", " (below) @if !marks.is_empty() { "\n" (marks) } }
            @if is_many { rect.box x=(at(4.0, 0.0).0) y=(at(0.0, 4.0).1) width=(BOX_WIDTH) height=(BOX_HEIGHT) rx="8" {} }
            rect.box x=(box_at.0) y=(box_at.1) width=(BOX_WIDTH) height=(BOX_HEIGHT) rx=(if first.role.has(Role::GATE) { "20" } else { "8" }) {}
            use.ic href={ "#i-" (state.word()) } x=(icon.0) y=(icon.1) width="14" height="14" {}
            text x=(text.0) y=(text.1) { (cut(&name, NAME_CHARS)) }
            text.sub x=(sub.0) y=(sub.1) { @if marks.is_empty() { (cut(&below, 26)) } @else { (cut(&format!("{marks} · {below}"), 26)) } }
        }
    }
}

/// Where a node's box leads: to its job, or to the graph that it stands for. The list below the map has the job of any.
fn opens(ctx: &Ctx, node: &NodeLine, told: &Told<'_>) -> String {
    match told.held.get(&node.job) {
        Some(Holds::Graph(graph)) => ctx.base.to(&["graphs", &graph.to_string()]),
        _ => ctx.base.to(&["jobs", &node.job.to_string()]),
    }
}

/// What it is to its graph, and what it stands for.
fn marks(node: &NodeLine, told: &Told<'_>, is_many: bool) -> String {
    let mut marks = Vec::new();
    if node.role.has(Role::GATE) {
        marks.push("gate".to_owned());
    }
    if node.guards.is_some() {
        marks.push("undo".to_owned());
    }
    if told.undone.contains(&node.name) && !is_many {
        marks.push("undone".to_owned());
    }
    match told.held.get(&node.job).filter(|_| !is_many) {
        Some(Holds::Graph(_)) => marks.push("a graph".to_owned()),
        Some(Holds::Elements(progress)) => marks.push(progress.words()),
        _ => {}
    }
    marks.join(", ")
}

fn states(detail: &GraphDetail, group: &Group) -> BTreeMap<State, usize> {
    let mut states = BTreeMap::new();
    group.nodes.iter().for_each(|at| *states.entry(detail.nodes[*at].state).or_insert(0) += 1);
    states
}

/// What is said of one node: its kind, how long it took, how often it was tried.
fn below(node: &towpath::inspect::NodeLine) -> String {
    let mut text = node.kind.to_string();
    if let (Some(from), Some(to)) = (node.started_at, node.ended_at) {
        text = format!("{text} · {}", when::duration(to.since(from)));
    }
    if node.counters.attempt > 1 {
        text = format!("{text} · {} tries", node.counters.attempt);
    }
    text
}

fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    text.chars().take(chars - 1).chain(['…']).collect()
}
