//! Buttons, and what they do. Every button is a form that works without a script: a menu that opens, a reason, and a way
//! back with what came of it. Many jobs at once are counted before anything is asked of them.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, Query};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::value::RawValue;
use towpath::core::RunId;
use towpath::core::store::{GraphLine, JobFilter, JobLine, Page as Part};
use towpath::inspect::JobDetail;
use towpath::{End, JobId, JobState};

use super::jobs::{ListQuery, table};
use super::{Page, empty};
use crate::app::Ctx;
use crate::look;
use crate::options::Action;
use crate::orders::{self, Done, Requeued, ToSend};
use crate::problem::{Code, Problem};

/// Jobs that one order takes at most; the page says so, and is asked again for the others.
const MANY_MAX: usize = 10_000;
/// Jobs of one transaction.
const BATCH: u32 = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ordered {
    #[serde(rename = "do")]
    pub(super) what: String,
    pub(super) reason: String,
    name: String,
    payload: String,
}

/// A form's fields.
pub(super) fn fields<T>(form: Result<Form<T>, FormRejection>) -> Result<T, Problem> {
    form.map(|Form(fields)| fields).map_err(|e| Problem::invalid(format!("the form: {}", e.body_text())))
}

/// What came of an order, shown once on the page that one comes back to.
pub(super) fn done(text: &str) -> Markup {
    // The text comes from the address: it is shown as a text, cut, and in quotes of ours.
    let text: String = text.chars().take(200).collect();
    html! { @if !text.is_empty() { div.card.alert.run role="status" { b { "Done: " (text) } } } }
}

pub(super) fn back(ctx: &Ctx, parts: &[&str], done: &Done) -> Response {
    Redirect::to(&ctx.base.query(parts, &[("done", &done.message)])).into_response()
}

// ---- one job ----------------------------------------------------------------------------------

pub(super) fn of_job(ctx: &Ctx, detail: &JobDetail) -> Markup {
    let id = detail.line.id.to_string();
    let to = ctx.base.to(&["jobs", &id, "act"]);
    let is_live = !matches!(detail.line.state, JobState::Ended(_));
    let is_run = detail.run.is_some();
    let is_paused = detail.run.as_ref().is_some_and(|run| run.paused.is_some());
    let cancel = if is_run {
        "A run that has begun ends after its undos."
    } else {
        "One that runs is asked to stop; any other ends at once."
    };
    html! {
        @if is_run && is_live && ctx.may(Action::Signal) { (signal(&to)) }
        @if may_requeue(detail) && ctx.may(Action::Retry) {
            (menu(&to, "requeue", "Requeue…", "It is ready again with its failures at 0. Its attempts go on counting, and their history stays.", "Put it back"))
        }
        @if super::edit::may_be(detail) && ctx.may(Action::Edit) { a.button href=(ctx.base.to(&["jobs", &id, "edit"])) { "Edit…" } }
        @if let Some(node) = detail.line.node.as_ref().filter(|_| !is_live && ctx.may(Action::Retry)) {
            a.button href=(ctx.base.query(&["graphs", &node.graph.to_string(), "retry"], &[("mode", "from"), ("node", node.name.as_str())])) { "Retry from here…" }
        }
        @if is_run && is_live && ctx.may(Action::Pause) { (pause(&to, is_paused)) }
        @if is_live && ctx.may(Action::Cancel) { (menu(&to, "cancel", "Cancel…", cancel, "Cancel it")) }
        @if is_live && ctx.may(Action::Terminate) {
            (menu(&to, "terminate", "Terminate…", "Ends at once, whatever it does. Its handler may still act outside; undos do not run.", "Terminate it"))
        }
    }
}

/// A lone job that ended badly, or anything that is blocked. A run that has begun goes on where it failed.
fn may_requeue(detail: &JobDetail) -> bool {
    match detail.line.state {
        JobState::Blocked => true,
        JobState::Ended(End::Dead | End::Quarantined | End::Cancelled) => detail.line.node.is_none(),
        _ => false,
    }
}

pub(super) fn menu(to: &str, what: &str, word: &str, says: &str, sure: &str) -> Markup {
    html! {
        details.act data-key={ "act-" (what) } {
            summary { (word) }
            form method="post" action=(to) {
                p.small { (says) }
                label { "Why, for the audit" input name="reason" maxlength="500" data-keep; }
                button.danger type="submit" name="do" value=(what) { (sure) }
            }
        }
    }
}

fn pause(to: &str, is_paused: bool) -> Markup {
    if is_paused {
        return menu(to, "resume", "Resume…", "It goes on where it is.", "Let it go on");
    }
    menu(
        to,
        "pause",
        "Pause…",
        "What has begun is brought to an end; nothing else begins. Signals are kept, and time goes on.",
        "Pause it",
    )
}

fn signal(to: &str) -> Markup {
    html! {
        details.act data-key="act-signal" {
            summary { "Signal…" }
            form method="post" action=(to) {
                label { "Name" input name="name" required maxlength="64" pattern="[a-z0-9._\\-]+" data-keep; }
                label { "What it carries, as JSON" textarea name="payload" rows="3" placeholder="null" data-keep {} }
                button.main type="submit" name="do" value="signal" { "Send it" }
            }
        }
    }
}

/// The run that a job is.
async fn run_of(ctx: &Ctx, id: &str) -> Result<RunId, Problem> {
    let run = look::run(&ctx.app.client, id).await?.run;
    run.map(|run| run.id).ok_or_else(|| Problem::not_found("run", id))
}

pub(super) async fn job(
    ctx: Ctx,
    Path(id): Path<String>,
    form: Result<Form<Ordered>, FormRejection>,
) -> Result<Response, Problem> {
    let asked = fields(form)?;
    let job: JobId = id.parse().map_err(|_| Problem::not_found("job", &id))?;
    let done = match asked.what.as_str() {
        "cancel" => orders::cancel_job(&ctx, job, &asked.reason).await?,
        "terminate" => orders::terminate_job(&ctx, job, &asked.reason).await?,
        "requeue" => orders::requeue_job(&ctx, job, Requeued { reason: &asked.reason, ..Requeued::default() }).await?,
        "signal" => send(&ctx, &id, &asked).await?,
        "pause" => orders::pause_run(&ctx, &run_of(&ctx, &id).await?, &asked.reason).await?,
        "resume" => orders::resume_run(&ctx, &run_of(&ctx, &id).await?, &asked.reason).await?,
        other => return Err(Problem::invalid(format!("do: {other:?} is not known"))),
    };
    Ok(back(&ctx, &["jobs", &id], &done))
}

async fn send(ctx: &Ctx, job: &str, asked: &Ordered) -> Result<Done, Problem> {
    ctx.allow(Action::Signal)?;
    let detail = look::job(&ctx.app.client, job).await?;
    let run =
        detail.run.ok_or_else(|| Problem::new(Code::Conflict, format!("job {job} is no run: it takes no signals")))?;
    let text = if asked.payload.trim().is_empty() { "null" } else { &asked.payload };
    let payload: Box<RawValue> = serde_json::from_str(text)
        .map_err(|e| Problem::invalid(format!("what it carries is no JSON: {e}")).help("a text is quoted: \"paid\""))?;
    let signal = ToSend { name: &asked.name, payload: Some(&payload), dedup: None };
    orders::signal(ctx, run.id.as_str(), signal).await
}

// ---- one graph --------------------------------------------------------------------------------

pub(super) fn of_graph(ctx: &Ctx, line: &GraphLine) -> Markup {
    let to = ctx.base.to(&["graphs", &line.id.to_string(), "act"]);
    html! {
        @if ctx.may(Action::Retry) {
            a.button href=(ctx.base.to(&["graphs", &line.id.to_string(), "retry"])) { "Retry…" }
            (menu(&to, "restart", "Restart…", "Once more as a new graph: the same nodes and inputs, nothing done yet. This one stays as it is.", "Restart it"))
        }
        @if line.end.is_none() && ctx.may(Action::Cancel) {
            (menu(&to, "cancel", "Cancel…", "What has not started ends; what runs is asked to stop.", "Cancel the graph"))
        }
    }
}

pub(super) async fn graph(
    ctx: Ctx,
    Path(id): Path<String>,
    form: Result<Form<Ordered>, FormRejection>,
) -> Result<Response, Problem> {
    let asked = fields(form)?;
    let graph = look::graph_id(&id)?;
    let done = match asked.what.as_str() {
        "cancel" => orders::cancel_graph(&ctx, graph, &asked.reason).await?,
        "restart" => {
            let done = orders::graph::restart(&ctx, graph, None, &asked.reason).await?;
            return Ok(back(&ctx, &["graphs", &done.id], &done));
        }
        other => return Err(Problem::invalid(format!("do: {other:?} is not known"))),
    };
    Ok(back(&ctx, &["graphs", &id], &done))
}

// ---- many jobs --------------------------------------------------------------------------------

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Many {
    #[serde(rename = "do")]
    what: String,
    state: String,
    queue: String,
    kind: String,
    graph: String,
    reason: String,
    /// The key up to which jobs were counted: what came later is not meant.
    upto: String,
}

impl Many {
    fn which(&self) -> ListQuery {
        let Self { state, queue, kind, graph, .. } = self;
        ListQuery {
            state: state.clone(),
            queue: queue.clone(),
            kind: kind.clone(),
            graph: graph.clone(),
            ..ListQuery::default()
        }
    }
}

/// Jobs of filters up to a key, newest first, in parts.
async fn jobs_of(ctx: &Ctx, filters: &[JobFilter], after: Option<i64>) -> Result<Vec<JobLine>, Problem> {
    let mut lines = Vec::new();
    for filter in filters {
        lines.extend(ctx.app.client.inspect().jobs(filter.clone(), Part { after, limit: BATCH }).await?);
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.key));
    lines.truncate(BATCH as usize);
    Ok(lines)
}

/// What is done to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToMany {
    Cancel,
    Requeue,
}

impl ToMany {
    fn of(word: &str) -> Result<Self, Problem> {
        match word {
            "cancel" => Ok(Self::Cancel),
            "requeue" => Ok(Self::Requeue),
            other => Err(Problem::invalid(format!("do: {other:?} is not known"))),
        }
    }

    /// What may be done to jobs of these filters, by who looks.
    pub(super) fn possible(ctx: &Ctx, query: &ListQuery) -> Option<(Self, &'static str)> {
        match query.state.as_str() {
            "ready" | "running" | "blocked" if ctx.may(Action::Cancel) => Some((Self::Cancel, "Cancel all of these…")),
            "" if query.is_filtered() && ctx.may(Action::Cancel) => Some((Self::Cancel, "Cancel all of these…")),
            "dead" | "quarantined" | "cancelled" if ctx.may(Action::Retry) => {
                Some((Self::Requeue, "Requeue all of these…"))
            }
            _ => None,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Requeue => "requeue",
        }
    }

    const fn action(self) -> Action {
        match self {
            Self::Cancel => Action::Cancel,
            Self::Requeue => Action::Retry,
        }
    }

    /// Whether a job is one to which it can be done.
    fn takes(self, line: &JobLine) -> bool {
        match (self, line.state) {
            (Self::Cancel, JobState::Ended(_)) => false,
            (Self::Cancel, _) => true,
            // A node is not put back by itself: its graph is.
            (Self::Requeue, JobState::Ended(end)) => end != End::Succeeded && line.node.is_none(),
            (Self::Requeue, _) => false,
        }
    }

    const fn says(self) -> &'static str {
        match self {
            Self::Cancel => {
                "Those that have not started end at once, those that run are asked to stop. Jobs that come from now on are not meant."
            }
            Self::Requeue => {
                "Each is ready again with its failures at 0; its attempts go on counting. Nodes of graphs and runs that have begun are left out."
            }
        }
    }
}

/// Counts what it would be done to, and asks.
pub(super) async fn ask_of_many(ctx: Ctx, headers: HeaderMap, Query(asked): Query<Many>) -> Result<Response, Problem> {
    let what = ToMany::of(&asked.what)?;
    ctx.allow(what.action())?;
    let query = asked.which();
    let filters = query.which().filters()?;
    let (mut count, mut after, mut first) = (0, None, Vec::new());
    let mut newest = None;
    while count < MANY_MAX {
        let part = jobs_of(&ctx, &filters, after).await?;
        let Some(last) = part.last() else { break };
        after = Some(last.key);
        newest = newest.or(part.first().map(|line| line.key));
        let live: Vec<JobLine> = part.into_iter().filter(|line| what.takes(line)).collect();
        count += live.len();
        if first.len() < 5 {
            first.extend(live.into_iter().take(5));
        }
    }
    let upto = newest.map_or_else(String::new, |key| key.saturating_add(1).to_string());
    let verb = if what == ToMany::Cancel { "Cancel" } else { "Requeue" };
    let counted = if count >= MANY_MAX { format!("{MANY_MAX} or more") } else { count.to_string() };
    let body = html! {
        div.head { h1 { (verb) " " (counted) " jobs?" } }
        section.card.stack {
            @if count == 0 { (empty("No job is like that any more.", "")) }
            @else {
                p { (what.says())
                    @if count >= MANY_MAX { " At most " (MANY_MAX) " are taken at a time." } }
                dl.facts { @for (name, value) in query.pairs().iter().filter(|(_, value)| !value.is_empty()) { dt { (name) } dd { (value) } } }
                form.filters method="post" action=(ctx.base.to(&["jobs", "many"])) {
                    input type="hidden" name="do" value=(what.word());
                    @for (name, value) in query.pairs() { input type="hidden" name=(name) value=(value); }
                    input type="hidden" name="upto" value=(upto);
                    label { "Why, for the audit" input name="reason" maxlength="500"; }
                    button.danger type="submit" { (verb) " " (counted) " jobs" }
                    a.button href=(ctx.base.query(&["jobs"], &query.pairs())) { "No" }
                }
                h2 { "The newest of them" }
                (table(&ctx, &first))
            }
        }
    };
    Ok(Page::new(format!("{verb} jobs"), "Jobs", body).answer(&ctx, &headers))
}

pub(super) async fn to_many(ctx: Ctx, form: Result<Form<Many>, FormRejection>) -> Result<Response, Problem> {
    let asked = fields(form)?;
    let what = ToMany::of(&asked.what)?;
    ctx.allow(what.action())?;
    let which = asked.which();
    let filters = which.which().filters()?;
    let upto = asked.upto.parse().map_err(|_| Problem::invalid("upto: the jobs were not counted first"))?;
    let (mut after, mut seen, mut done) = (Some(upto), 0, 0);
    while seen < MANY_MAX {
        let part = jobs_of(&ctx, &filters, after).await?;
        let Some(last) = part.last() else { break };
        after = Some(last.key);
        let taken: Vec<JobId> = part.iter().filter(|line| what.takes(line)).map(|line| line.id).collect();
        seen += taken.len();
        done += match what {
            ToMany::Cancel => orders::cancel_jobs(&ctx, &taken, &asked.reason).await?,
            ToMany::Requeue => orders::requeue_jobs(&ctx, &taken, &asked.reason).await?,
        };
    }
    let jobs = if done == 1 { "one job".to_owned() } else { format!("{done} jobs") };
    let message = match what {
        ToMany::Cancel => format!("{jobs} cancelled or asked to stop"),
        ToMany::Requeue => format!("{jobs} put back"),
    };
    let to = ctx.base.query(&["jobs"], &[&which.pairs()[..], &[("done", &message)]].concat());
    Ok(Redirect::to(&to).into_response())
}
