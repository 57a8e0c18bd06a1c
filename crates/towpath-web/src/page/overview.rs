//! What needs somebody first, then how much there is of what, then where it stands.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use towpath::core::State;
use towpath::core::store::{GraphStanding, JobFilter, JobLine, Page as Part, QueueLine, Schedules, StateCounts};
use towpath::{End, Kind, Queue};

use super::{Page, badge, charts, graphs, jobs, queues, when};
use crate::app::Ctx;
use crate::look::tallies::{Tallies, TalliesQuery};
use crate::look::{self, Workers};
use crate::problem::Problem;
use crate::shape::schedule::state;

/// Up to how many of a state are counted.
pub(crate) const COUNTED: u32 = 10_000;
/// Lines of the lists.
const SHOWN: u32 = 8;
/// The newest ready jobs among which to look for what nobody serves, and schedules among which to look for odd ones.
const LOOKED: u32 = 200;

pub(super) async fn page(ctx: Ctx, headers: HeaderMap) -> Result<Response, Problem> {
    let inspect = ctx.app.client.inspect();
    let counts = inspect.counts(COUNTED).await?;
    let workers = Workers::look(&ctx.app.client).await?;
    let queue_lines = look::queues(&ctx.app.client, &workers).await?;
    let part = Part { after: None, limit: SHOWN };
    let open = inspect.graphs(GraphStanding::Open.into(), part).await?;
    let dead = inspect.jobs(of_state(State::Ended(End::Dead)), part).await?;
    let ready = inspect.jobs(of_state(State::Ready), Part { after: None, limit: LOOKED }).await?;
    let tallies = Tallies::look(&ctx.app.client, &TalliesQuery::default()).await?;
    let unserved = unserved(&ready, &workers);
    // The first by name: one who has more finds them on their page.
    let schedules = ctx.app.client.store().schedules(None, LOOKED).await?;
    let body = html! {
        div.head { h1 { "Overview" } }
        (problems(&ctx, &counts, &workers, &unserved, held_back(&ctx, &queue_lines, &schedules)))
        (tiles(&ctx, &counts, &workers))
        div.cols {
            section.card { h2 { "Queues" } (queues::table(&ctx, &queue_lines, &workers)) }
            section.card { h2 { "Open graphs" } (graphs::table(&ctx, &open)) }
        }
        @if !tallies.series.is_empty() { (charts::throughput_card(&ctx, &tallies)) }
        @if !dead.is_empty() {
            section.card { h2 { a href=(ctx.base.query(&["jobs"], &[("state", "dead")])) { "Newest dead letters" } } (jobs::table(&ctx, &dead)) }
        }
    };
    Ok(Page::new("Overview", "Overview", body).answer(&ctx, &headers))
}

fn of_state(state: State) -> JobFilter {
    JobFilter { state: Some(state), ..JobFilter::default() }
}

/// Jobs that could be claimed, and that no living worker takes, by queue and kind.
fn unserved<'a>(ready: &'a [JobLine], workers: &Workers) -> BTreeMap<(&'a Queue, &'a Kind), usize> {
    let mut found = BTreeMap::new();
    for line in ready.iter().filter(|line| workers.miss(line)) {
        *found.entry((&line.queue, &line.kind)).or_insert(0) += 1;
    }
    found
}

/// A count that stops somewhere.
pub(super) fn number(count: u64) -> String {
    if count >= u64::from(COUNTED) { format!("{},000+", COUNTED / 1_000) } else { count.to_string() }
}

fn problems(
    ctx: &Ctx,
    counts: &StateCounts,
    workers: &Workers,
    unserved: &BTreeMap<(&Queue, &Kind), usize>,
    held_back: Markup,
) -> Markup {
    let of = |state: &str| ctx.base.query(&["jobs"], &[("state", state)]);
    let lost: Vec<_> = workers.lines.iter().filter(|w| !workers.lives(w) && w.running > 0).collect();
    let is_well =
        counts.blocked + counts.quarantined == 0 && unserved.is_empty() && lost.is_empty() && held_back.0.is_empty();
    html! {
        section.stack aria-label="What needs somebody" {
            @if counts.blocked > 0 {
                div.card.alert { (badge::of_state(State::Blocked).badge()) b { a href=(of("blocked")) { (number(counts.blocked)) " blocked" } }
                    p { "Code and journal disagree, or an input is not understood. They go on by themselves once a worker with fitting code starts." } }
            }
            @if counts.quarantined > 0 {
                div.card.alert.bad { (badge::of_state(State::Ended(End::Quarantined)).badge()) b { a href=(of("quarantined")) { (number(counts.quarantined)) " quarantined" } }
                    p { "Their worker's process died under them too often in a row: look for what they do to it." } }
            }
            @for ((queue, kind), count) in unserved {
                div.card.alert { (badge::badge("unserved", "blocked", "unserved"))
                    b { a href=(ctx.base.query(&["jobs"], &[("state", "ready"), ("queue", queue.as_str()), ("kind", kind.as_str())])) {
                        @if *count >= LOOKED as usize { "at least " } (count) " ready of kind " (kind) " in queue " (queue) } }
                    p { "No living worker takes them. Start one with a handler for " (kind) " that serves the queue " (queue) "." } }
            }
            @for worker in &lost {
                div.card.alert.bad { (badge::badge("lost", "dead", "lost")) b { a href=(ctx.base.to(&["workers"])) { "Worker " (worker.name) " is gone and held " (worker.running) " jobs" } }
                    p { "Any living worker takes them over once the lease has ended, at " (when::ago(worker.lease_until)) "." } }
            }
            (held_back)
            @if is_well {
                div.card.alert.ok { (badge::badge("succeeded", "succeeded", "well")) b { "Nothing needs you" }
                    p { "Nothing is blocked or quarantined, all that is ready has a worker." } }
            }
        }
    }
}

fn tiles(ctx: &Ctx, counts: &StateCounts, workers: &Workers) -> Markup {
    let of = |state: &str| ctx.base.query(&["jobs"], &[("state", state)]);
    let living = workers.lines.iter().filter(|w| workers.lives(w)).count();
    html! {
        section.tiles aria-label="How much of what" {
            (tile(&of("running"), &number(counts.running), State::Running.word(), badge::of_state(State::Running)))
            (tile(&of("ready"), &number(counts.ready), "ready now", badge::of_state(State::Ready)))
            (tile(&of("ready"), &number(counts.later), "for later", badge::Look { class: "ready", shape: "later", word: "later" }))
            (tile(&of("dead"), &number(counts.dead), "dead letters", badge::of_state(State::Ended(End::Dead))))
            (tile(&of("cancelled"), &number(counts.cancelled), "cancelled", badge::of_state(State::Ended(End::Cancelled))))
            (tile(&ctx.base.query(&["graphs"], &[("state", "open")]), &number(counts.open_graphs), "open graphs", badge::of_graph(None, None)))
            a.tile href=(ctx.base.to(&["workers"])) { b { (living) } span { "living workers" } }
        }
    }
}

fn tile(link: &str, count: &str, word: &str, look: badge::Look) -> Markup {
    html! {
        a.tile href=(link) { b { (count) } span { span class={ "st st-" (look.class) } { svg aria-hidden="true" { use href={ "#i-" (look.shape) } {} } (word) } } }
    }
}

/// What people hold back, and schedules that nobody looks at or whose code is gone.
fn held_back(ctx: &Ctx, queues: &[QueueLine], schedules: &Schedules) -> Markup {
    let paused = queues.iter().filter_map(|line| Some((line, line.paused.as_ref()?)));
    let odd = schedules.rows.iter().map(|(_, row)| (row, state(row, schedules.now)));
    html! {
        @for (line, pause) in paused {
            div.card.alert { (badge::badge("paused", "paused", "paused")) b { a href=(ctx.base.to(&["queues", line.queue.as_str()])) { "Queue " (line.queue) ", " (line.ready) " ready" } }
                p { (queues::pause(pause)) } }
        }
        @for (row, word) in odd.filter(|(_, word)| matches!(*word, "late" | "ghost")) {
            div.card.alert { (badge::badge("unserved", "blocked", word)) b { a href=(ctx.base.to(&["schedules", row.name.as_str()])) { "Schedule " (row.name) } }
                p { @if word == "late" { "Its tick is overdue, and no worker has looked." } @else { "No worker has declared it for a day." } } }
        }
    }
}
