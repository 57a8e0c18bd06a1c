//! A run: what it has done and waits for, on a line of time whose gaps are drawn short; and what has arrived for it.

mod children;

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};
use towpath::core::replay::{Entry, Ident, Pos, Stopped};
use towpath::core::store::{Child, Entry as Stored, RunLine};
use towpath::inspect::JobDetail;
use towpath::{JobState, Timestamp};

use super::{badge, empty, payload, stream, when};
use crate::app::Ctx;
use crate::look::child::Children;
use crate::look::{self, PageQuery};
use crate::options::Part;
use crate::problem::Problem;

/// Lines of the journal on one page.
const LINES: u32 = 300;
/// Signals that are shown.
const SIGNALS: u32 = 50;
/// A pause longer than this is marked as a gap.
const GAP: Duration = Duration::from_secs(60);

/// An operation as its lines tell of it.
#[derive(Default)]
struct Operation {
    name: String,
    child: Option<Child>,
    opened: Option<Timestamp>,
    done: Option<Timestamp>,
    due: Option<Timestamp>,
    failures: u32,
    error: Option<String>,
    outcome: Option<String>,
}

/// What a part of a journal tells.
#[derive(Default)]
struct Told {
    operations: BTreeMap<u32, Operation>,
    began: Option<Timestamp>,
    ended: Option<(Timestamp, Option<String>)>,
    /// When it went on in the next chapter.
    continued: Option<Timestamp>,
    patches: Vec<String>,
    /// Lines of a newer release.
    others: usize,
}

pub(super) async fn section(ctx: &Ctx, detail: &JobDetail, run: &RunLine, after: &str) -> Result<Markup, Problem> {
    let cursor = PageQuery { after: after.to_owned(), ..PageQuery::default() }.after()?;
    let from = cursor.and_then(|seq| u32::try_from(seq.saturating_add(1)).ok()).unwrap_or_else(|| newest(run.entries));
    let store = ctx.app.client.store();
    let lines = store.entries(detail.line.id, run.chapter, from, LINES).await?;
    let signals = store.inbox(run.id.clone(), i64::MIN, SIGNALS).await?;
    let published = look::published(&ctx.app.client, detail).await?;
    let told = read(&Children::look(&ctx.app.client, detail, run).await?, &lines);
    let streams = ctx.app.client.inspect().streams(run.id.clone()).await?;
    let children = children::card(ctx, &told.children()).await?;
    let is_over = matches!(detail.line.state, JobState::Ended(_));
    let id = detail.line.id.to_string();
    let link = |from: u32| {
        let before = i64::from(from) - 1;
        ctx.base.query(&["jobs", &id], &[("after", &before.to_string())])
    };
    let last = from.saturating_add(u32::try_from(lines.len()).unwrap_or(u32::MAX));
    let kind = &detail.line.kind;
    Ok(html! {
        @if let Some(pause) = run.paused.as_ref().filter(|_| !is_over) {
            div.card.alert { b { "Paused by " (pause.actor) " " (when::ago(pause.at)) } @if !pause.why.is_empty() { p { (pause.why) } } }
        }
        @if let Some(shown) = &published {
            section.card {
                h2 { "Published" }
                p.dim.small { (when::ago(shown.at)) }
                (payload::payload(ctx, kind, Part::Published, &shown.payload))
            }
        }
        section.card {
            h2 { "Journal" }
            p.dim.small { "Lines " (from.saturating_add(1)) " to " (last) " of " (run.entries)
                @if !told.patches.is_empty() { ". Patches: " (told.patches.join(", ")) }
                @if told.others > 0 { ". " (told.others) " lines are of a newer release" } }
            @if told.operations.is_empty() { (empty("It has not begun.", "A worker with this function and version takes it.")) }
            @else { (timeline(ctx, detail, &told, is_over)) }
            @if let Some(at) = told.continued { p { "Went on in the next chapter " (when::ago(at)) } }
            @if let Some((at, error)) = &told.ended {
                p { @if error.is_some() { "Returned an error " } @else { "Returned " } (when::ago(*at)) }
                @if let Some(error) = error { (payload::json_text(ctx, kind, Part::Journal, error)) }
            }
            (parts(from, last, run.entries, link))
        }
        (children)
        (stream::card(ctx, &id, run, &streams))
        section.card {
            h2 { "Signals" }
            @if signals.is_empty() { (empty("Nothing has arrived.", "")) }
            @else { div.wide { table {
                thead { tr { th { "Signal" } th { "Arrived" } th { "Carries" } } }
                tbody { @for line in &signals { tr data-key={ "signal-" (line.seq) } {
                    td.name { (line.name) } td { (when::ago(line.at)) } td.name { (payload::payload(ctx, kind, Part::Signal, &line.payload)) }
                } } }
            } } }
            @if run.arrived > SIGNALS { p.dim.small { "The first " (SIGNALS) " of " (run.arrived) "." } }
        }
    })
}

/// The ways to the other parts of the journal, which is read from its first line on.
fn parts(from: u32, last: u32, entries: u32, link: impl Fn(u32) -> String) -> Markup {
    html! {
        @if from > 0 || last < entries {
            nav.pager aria-label="Parts of the journal" {
                span { @if from > 0 {
                    a.button href=(link(0)) { "⇤ First" } " "
                    a.button rel="prev" href=(link(from.saturating_sub(LINES))) { "← Earlier" }
                } }
                span { @if last < entries {
                    a.button rel="next" href=(link(last)) { "Later →" } " "
                    a.button href=(link(newest(entries))) { "Last ⇥" }
                } }
            }
        }
    }
}

/// Where the newest lines begin.
fn newest(entries: u32) -> u32 {
    entries.saturating_sub(LINES)
}

fn read(children: &Children, lines: &[Stored]) -> Told {
    let mut told = Told::default();
    for line in lines {
        match Entry::decode(&line.payload) {
            Ok(Entry::Began { at, .. }) => told.began = Some(at),
            Ok(Entry::Opened { pos, op, due }) => {
                let operation = told.operation(pos, &op);
                operation.child = children.of(line.seq, pos, &op);
                operation.opened = Some(line.at);
                operation.due = due;
            }
            Ok(Entry::Failed { pos, failures, error, due }) => {
                let operation = told.operations.entry(pos.0).or_default();
                (operation.failures, operation.error, operation.due) = (failures, Some(error), Some(due));
            }
            Ok(Entry::Done { pos, op, at, outcome, .. }) => {
                let operation = told.operation(pos, &op);
                operation.child = children.of(line.seq, pos, &op);
                operation.done = Some(at);
                operation.outcome = Some(outcome.json().to_owned());
            }
            Ok(Entry::Patched { id }) => told.patches.push(id),
            Ok(Entry::Started { .. } | Entry::Left { .. }) => {}
            Ok(Entry::Continued { at }) => told.continued = Some(at),
            Ok(Entry::Ended { at, error }) => told.ended = Some((at, error.map(|e| e.json().to_owned()))),
            _ => told.others += 1,
        }
    }
    told
}

impl Told {
    fn operation(&mut self, pos: Pos, op: &Ident) -> &mut Operation {
        let operation = self.operations.entry(pos.0).or_default();
        let (word, version) = (op.kind.word(), op.version);
        operation.name = if op.name.is_empty() { word.to_owned() } else { format!("{word} {}", op.name) };
        if version > 1 {
            operation.name.push_str(&format!(" v{version}"));
        }
        operation
    }

    /// What it has started, in the order of the operations.
    fn children(&self) -> Vec<(Pos, String, Child)> {
        let child = |(pos, op): (&u32, &Operation)| Some((Pos(*pos), op.name.clone(), op.child?));
        self.operations.iter().filter_map(child).collect()
    }

    /// Its instants, each once, in order.
    fn instants(&self) -> Vec<Timestamp> {
        let of_ops = self.operations.values().flat_map(|op| [op.opened, op.done]).flatten();
        let mut all: Vec<_> = of_ops.chain(self.began).chain(self.ended.as_ref().map(|(at, _)| *at)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Where instants stand on a line of time from 0 to 1,000: the longer a pause, the shorter it is drawn for its length.
struct Scale {
    places: Vec<(Timestamp, f64)>,
}

impl Scale {
    fn of(instants: &[Timestamp]) -> Self {
        let mut x = 0.0;
        let mut places = Vec::with_capacity(instants.len());
        for (at, instant) in instants.iter().enumerate() {
            if let Some(before) = at.checked_sub(1).map(|at| instants[at]) {
                x += 1.0 + (1.0 + instant.since(before).as_secs_f64() * 1_000.0).ln();
            }
            places.push((*instant, x));
        }
        let width = if x > 0.0 { x } else { 1.0 };
        places.iter_mut().for_each(|(_, place)| *place *= 980.0 / width);
        Self { places }
    }

    fn place(&self, at: Timestamp) -> f64 {
        let found = self.places.partition_point(|(instant, _)| *instant < at);
        self.places.get(found).or(self.places.last()).map_or(0.0, |(_, place)| *place)
    }

    /// The middle of each pause that is drawn much shorter than it was.
    fn gaps(&self) -> Vec<f64> {
        let pairs = self.places.windows(2).filter(|pair| pair[1].0.since(pair[0].0) > GAP);
        pairs.map(|pair| f64::midpoint(pair[0].1, pair[1].1)).collect()
    }
}

fn timeline(ctx: &Ctx, detail: &JobDetail, told: &Told, is_over: bool) -> Markup {
    let scale = Scale::of(&told.instants());
    let gaps = scale.gaps();
    let reason = detail.blocked.as_ref().and_then(|reason| ctx.shown(&detail.line.kind, Part::Error, reason));
    let stopped = reason.as_deref().and_then(Stopped::read);
    let is_here = |pos: u32| stopped.is_some_and(|stopped| stopped.pos == Pos(pos));
    let operations = told.operations.iter().filter(|(pos, op)| !Pos(**pos).is_reserved() || op.done.is_some());
    html! {
        @if !gaps.is_empty() { p.dim.small { "Pauses over a minute are drawn short, and marked by a dashed line." } }
        div.wide { table {
            thead { tr { th.num { "#" } th { "Operation" } th { "When" } th { "Opened" } th.num { "Took" } th { "Came to" } } }
            tbody { @for (pos, op) in operations {
                @let start = op.opened.or(op.done);
                @let is_open = op.done.is_none() && !is_over;
                tr data-key={ "op-" (pos) } {
                    td.num { (Pos(*pos)) }
                    td.name { @if let Some(child) = op.child { a href=(children::link(ctx, child)) { (op.name) } } @else { (op.name) } @if op.failures > 0 { " " span.st.st-retrying { (op.failures) " failed" } } }
                    td { (span(&scale, &gaps, start, op.done, is_open)) }
                    td { (when::ago_or_none(start)) }
                    td.num { (when::took(op.opened, op.done)) }
                    td.name {
                        @if let Some(outcome) = &op.outcome { details { summary { (brief(ctx, detail, outcome)) } (payload::json_text(ctx, &detail.line.kind, Part::Journal, outcome)) } }
                        @else if is_open { span.st.st-running { "waits" } @if let Some(due) = op.due { " " span.dim.small { "until " (when::ago(due)) } } }
                        @else { span.dim { "dropped" } }
                        @if let Some(error) = &op.error { (payload::text(ctx, &detail.line.kind, Part::Error, error)) }
                    }
                }
                @if let Some(stopped) = stopped.filter(|_| is_here(*pos)) { (stops(&stopped)) }
            }
            @if let Some(stopped) = stopped.filter(|stopped| !told.operations.contains_key(&stopped.pos.0)) { (stops(&stopped)) }
            }
        } }
    }
}

/// Where a blocked run stopped, in its place among the operations: what the journal has there and what the code.
fn stops(stopped: &Stopped<'_>) -> Markup {
    html! {
        tr.stops data-key="stops" {
            td.num { (stopped.pos) }
            td.name colspan="5" {
                (badge::of_state(JobState::Blocked).badge()) " "
                @if stopped.journal.is_some() || stopped.code.is_some() {
                    "Code and journal part here."
                    dl.facts {
                        dt { "Journal" } dd.mono { (stopped.journal.unwrap_or("nothing")) }
                        dt { "Code" } dd.mono { (stopped.code.unwrap_or("nothing")) }
                    }
                } @else { "It cannot go on from here." }
            }
        }
    }
}

/// The first characters of an outcome.
fn brief(ctx: &Ctx, detail: &JobDetail, outcome: &str) -> String {
    let Some(text) = ctx.shown(&detail.line.kind, Part::Journal, outcome) else { return "hidden".into() };
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn span(scale: &Scale, gaps: &[f64], from: Option<Timestamp>, to: Option<Timestamp>, is_open: bool) -> Markup {
    let x = from.map_or(0.0, |from| scale.place(from));
    let end = if is_open { 1_000.0 } else { to.map_or(x, |to| scale.place(to)) };
    let class = if is_open { "b b-open" } else { "b b-done" };
    html! {
        svg.time viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" {
            rect.bg y="6" width="1000" height="4" {}
            @for gap in gaps { line.gap x1=(format!("{gap:.1}")) x2=(format!("{gap:.1}")) y1="0" y2="16" vector-effect="non-scaling-stroke" {} }
            rect class=(class) x=(format!("{x:.1}")) y="2" width=(format!("{:.1}", (end - x).max(8.0))) height="12" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_waiting_leaves_room_for_the_seconds_around_it() {
        let second = 1_000_000;
        let at = |micros| Timestamp::from_micros(micros);
        let scale = Scale::of(&[at(0), at(second), at(86_400 * second), at(86_401 * second)]);
        let places: Vec<f64> = [0, second, 86_400 * second, 86_401 * second].map(|m| scale.place(at(m))).to_vec();
        assert!(places.is_sorted() && places[0] == 0.0 && (places[3] - 980.0).abs() < 0.01, "{places:?}");
        assert!(places[1] > 150.0, "the first second is to be seen: {places:?}");
        assert_eq!(scale.gaps().len(), 1);
    }
}
