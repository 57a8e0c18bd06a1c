//! The list of jobs, with its filters.

use std::collections::BTreeSet;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::store::{JobLine, QueueLine, StateCounts, TagLine, TagQuery};

use super::overview::{COUNTED, number};
use super::{Page, act, badge, empty, many, pager, when};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look::list::{self, Listed, Patience};
use crate::look::{self, JobQuery, PageQuery, STATE_WORDS, Workers};
use crate::problem::Problem;

/// Tags that the filter suggests.
const TAGS_SUGGESTED: u32 = 50;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    pub(super) state: String,
    pub(super) queue: String,
    pub(super) kind: String,
    pub(super) graph: String,
    pub(super) tag: String,
    pub(super) after: String,
    /// `far`: a longer look, after one that has found too little.
    pub(super) look: String,
    pub(super) done: String,
}

impl ListQuery {
    pub(super) fn which(&self) -> JobQuery {
        let Self { state, queue, kind, graph, tag, .. } = self.clone();
        JobQuery { state, queue, kind, graph, tag, ..JobQuery::default() }
    }

    /// Its pairs, for links to the same jobs.
    pub(super) fn pairs(&self) -> [(&'static str, &str); 5] {
        let (queue, kind) = (("queue", self.queue.as_str()), ("kind", self.kind.as_str()));
        [("state", &self.state), queue, kind, ("graph", &self.graph), ("tag", &self.tag)]
    }

    pub(super) fn patience(&self) -> Patience {
        if self.look == "far" { Patience::Long } else { Patience::Short }
    }

    pub(super) fn is_filtered(&self) -> bool {
        self.pairs().iter().any(|(_, value)| !value.is_empty())
    }
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let part = PageQuery { after: query.after.clone(), ..PageQuery::default() };
    let found = list::jobs(&ctx.app.client, &query.which(), part.page()?, query.patience()).await?;
    let (lines, next) = (&found.lines, &found.next);
    let look = ("look", if found.has_stopped { "far" } else { "" });
    let older =
        next.as_ref().map(|next| ctx.base.query(&["jobs"], &[&query.pairs()[..], &[("after", next), look]].concat()));
    let newest = (!query.after.is_empty()).then(|| ctx.base.query(&["jobs"], &query.pairs()));
    let title = match query.state.as_str() {
        "" => "Jobs".to_owned(),
        "dead" => "Dead letters".to_owned(),
        state => format!("Jobs, {state}"),
    };
    let workers = Workers::look(&ctx.app.client).await?;
    let tags = ctx.app.client.inspect().tags(TagQuery { limit: TAGS_SUGGESTED, ..TagQuery::default() }).await?;
    let counts = ctx.app.client.inspect().counts(COUNTED).await?;
    let queues = look::queues(&ctx.app.client, &workers).await?;
    let possible = many::possible(&ctx, &query);
    let body = html! {
        div.head {
            h1 { (title) }
            @if let Some((what, word)) = possible.filter(|_| !lines.is_empty()) {
                div.acts { a.button href=(ctx.base.query(&["jobs", "many"], &[&[("do", what.word())], &query.pairs()[..]].concat())) { (word) } }
            }
        }
        (act::done(&query.done))
        (filters(&ctx, &query, &workers, &tags))
        (facets(&ctx, &query, &counts, &queues))
        section.card {
            @if lines.is_empty() && found.has_stopped { (not_yet()) }
            @else if lines.is_empty() {
                @if query.is_filtered() { (empty("No job is like that.", "Leave a filter out, or look at what has been pruned: ended jobs are kept as long as their retention says.")) }
                @else { (empty("There are no jobs yet.", "Enqueue one with Client::enqueue, or run a flow file with `towpath run`.")) }
            } @else { (table(&ctx, lines)) }
        }
        (parts(newest, older, &found))
    };
    Ok(Page::new(title, "Jobs", body).answer(&ctx, &headers))
}

fn filters(ctx: &Ctx, query: &ListQuery, workers: &Workers, tags: &[TagLine]) -> Markup {
    let queues: BTreeSet<&str> = workers.queues().collect();
    html! {
        form.filters action=(ctx.base.to(&["jobs"])) role="search" aria-label="Filters" {
            label { "State"
                select name="state" {
                    option value="" { "any" }
                    @for word in STATE_WORDS { option value=(word) selected[query.state == word] { (word) } }
                }
            }
            label { "Kind" input name="kind" value=(query.kind) maxlength="64" placeholder="any" list="kinds"; }
            label { "Queue" input name="queue" value=(query.queue) maxlength="64" placeholder="any" list="queues"; }
            label { "Tag" input name="tag" value=(query.tag) maxlength="1024" placeholder="any" list="tags"; }
            datalist #tags { @for line in tags { option value=(line.tag) { (line.tag) " (" (line.jobs) ")" } } }
            @if !query.graph.is_empty() { label { "Graph" input name="graph" value=(query.graph) maxlength="36"; } }
            datalist #kinds { @for kind in workers.kinds() { option value=(kind) {} } }
            datalist #queues { @for queue in &queues { option value=(queue) {} } }
            button type="submit" { "Filter" }
            @if query.is_filtered() { a.button href=(ctx.base.to(&["jobs"])) { "All" } }
        }
    }
}

/// How many there are of each state and in each queue, each a way to them within the other filters. The counts are of all jobs.
fn facets(ctx: &Ctx, query: &ListQuery, counts: &StateCounts, queues: &[QueueLine]) -> Markup {
    let to = |name: &str, value: &str| {
        let pairs = query.pairs().map(|(of, set)| (of, if of == name { value } else { set }));
        ctx.base.query(&["jobs"], &pairs)
    };
    let states = [
        ("ready", counts.ready + counts.later),
        ("running", counts.running),
        ("blocked", counts.blocked),
        ("dead", counts.dead),
        ("quarantined", counts.quarantined),
        ("cancelled", counts.cancelled),
        ("skipped", counts.skipped),
    ];
    let live = |line: &QueueLine| line.ready + line.later + line.running + line.blocked;
    html! {
        nav.facets aria-label="How many there are" {
            @for (word, count) in states.into_iter().filter(|(word, count)| *count > 0 || query.state == *word) {
                a href=(to("state", if query.state == word { "" } else { word })) aria-current=[(query.state == word).then_some("true")] {
                    (badge::badge(word, word, word)) " " b { (number(count)) }
                }
            }
            @for line in queues.iter().filter(|line| live(line) > 0).take(QUEUES_SHOWN) {
                @let name = line.queue.as_str();
                a href=(to("queue", if query.queue == name { "" } else { name })) aria-current=[(query.queue == name).then_some("true")] {
                    span.tag { (name) } " " b { (number(live(line))) } span.dim { " live" }
                }
            }
        }
    }
}

/// What to say where nothing was found so far.
pub(super) fn not_yet() -> Markup {
    empty("None of the newest jobs is like that.", "There may be older ones: look further back.")
}

/// The ways to the other parts of a list. One that stops where it has taken long enough says so.
pub(super) fn parts(newest: Option<String>, older: Option<String>, found: &Listed) -> Markup {
    if !found.has_stopped {
        return pager(newest, older);
    }
    html! {
        nav.pager aria-label="Parts of the list" {
            span { @if let Some(newest) = newest { a.button href=(newest) { "⇤ Newest" } } }
            span.dim.small { "These are rare: only a part of all jobs was looked through." }
            span { @if let Some(older) = older { a.button rel="next" href=(older) { "Look further back →" } } }
        }
    }
}

/// Queues among the facets; all are on their page.
const QUEUES_SHOWN: usize = 12;

/// Jobs or runs, a line each.
pub(super) fn table(ctx: &Ctx, lines: &[JobLine]) -> Markup {
    html! {
        div.wide { table.cards {
            thead { tr { th { "Job" } th { "State" } th { "Queue" } th.num { "Attempts" } th { "Enqueued" } th { "Started" } th.num { "Took" } } }
            tbody { @for line in lines {
                tr data-key=(line.id) {
                    td.name {
                        a href=(ctx.base.to(&["jobs", &line.id.to_string()])) { (line.kind) }
                        @if let Some(node) = &line.node { " " span.dim.small { "node " (node.name) } }
                        div.dim.small.mono { (line.id) }
                    }
                    td { (badge::of_line(line).badge()) @if let Some(due) = line.due.filter(|due| when::is_ahead(*due)) { " " span.dim.small { (when::ago(due)) } } }
                    td data-l="queue" { (line.queue) }
                    td.num data-l="attempts" { (line.counters.attempt) @if line.counters.failures > 0 { span.dim { " (" (line.counters.failures) " failed)" } } }
                    td data-l="enqueued" { (when::ago(line.enqueued_at)) }
                    td data-l="started" { (when::ago_or_none(line.started_at)) }
                    td.num data-l="took" { (when::took(line.started_at, line.ended_at)) }
                }
            } }
        } }
    }
}
