//! Buttons, and what they do. Every button is a form that works without a script: a menu that opens, a reason, and a way
//! back with what came of it.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::value::RawValue;
use towpath::core::RunId;
use towpath::core::store::GraphLine;
use towpath::inspect::JobDetail;
use towpath::{End, JobId, JobState};

use crate::app::Ctx;
use crate::look;
use crate::options::Action;
use crate::orders::{self, Done, Requeued, ToSend};
use crate::problem::{Code, Problem};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ordered {
    #[serde(rename = "do")]
    pub(super) what: String,
    pub(super) reason: String,
    name: String,
    payload: String,
    /// Of a fork: from which operation on, and what it is called.
    at: String,
    id: String,
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
        @if is_run && ctx.may(Action::Retry) { (fork(&to)) }
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

fn fork(to: &str) -> Markup {
    html! {
        details.act data-key="act-fork" {
            summary { "Fork…" }
            form method="post" action=(to) {
                p.small { "A new run takes over what this one has recorded before an operation, and goes its own way from there. This one stays as it is." }
                label { "From operation (# in the journal)" input name="at" type="number" required min="1" max="4294967295" data-keep; }
                label { "Id of the new run" input name="id" required maxlength="200" data-keep; }
                button.main type="submit" name="do" value="fork" { "Fork it" }
            }
        }
    }
}

/// Leads to the new run.
async fn forked(ctx: &Ctx, job: &str, asked: &Ordered) -> Result<Response, Problem> {
    ctx.allow(Action::Retry)?;
    let at = asked.at.trim().parse();
    let at = at.map_err(|_| Problem::invalid(format!("at: {:?} is no operation's number", asked.at)))?;
    let done = orders::fork_run(ctx, &run_of(ctx, job).await?, at, asked.id.trim()).await?;
    let fork = look::run(&ctx.app.client, &done.id).await?;
    Ok(back(ctx, &["jobs", &fork.line.id.to_string()], &done))
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
        "fork" => return forked(&ctx, &id, &asked).await,
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
