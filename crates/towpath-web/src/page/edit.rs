//! The edit of a job that no worker has. What is wrong is said beside what was typed, and nothing of that is lost.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::value::RawValue;
use towpath::JobState;
use towpath::inspect::JobDetail;

use super::act::{back, fields};
use super::payload::{editable, in_lines};
use super::{Page, badge};
use crate::app::Ctx;
use crate::look;
use crate::options::{Action, Part};
use crate::orders::Done;
use crate::orders::edit::{self, Edited};
use crate::problem::{Code, Problem};

/// Whether there may be anything to edit: it has not ended, no worker has it, and it is no run that has begun.
pub(super) fn may_be(detail: &JobDetail) -> bool {
    let has_begun = detail.run.as_ref().is_some_and(|run| run.entries > 0);
    matches!(detail.line.state, JobState::Waiting | JobState::Ready | JobState::Blocked) && !has_begun
}

/// What is typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Typed {
    input: String,
    priority: String,
    due: String,
    reason: String,
}

pub(super) async fn page(ctx: Ctx, headers: HeaderMap, Path(id): Path<String>) -> Result<Response, Problem> {
    ctx.allow(Action::Edit)?;
    let detail = look::job(&ctx.app.client, &id).await?;
    let current = editable(&ctx, &detail.line.kind, Part::Input, &detail.input);
    let priority = detail.line.priority.to_string();
    let typed = Typed { input: current.clone().unwrap_or_default(), priority, ..Typed::default() };
    Ok(form(&ctx, &detail, &typed, None).answer(&ctx, &headers))
}

pub(super) async fn act(
    ctx: Ctx,
    Path(id): Path<String>,
    typed: Result<Form<Typed>, FormRejection>,
) -> Result<Response, Problem> {
    ctx.allow(Action::Edit)?;
    let typed = fields(typed)?;
    let detail = look::job(&ctx.app.client, &id).await?;
    match write(&ctx, &detail, &typed).await {
        Ok(done) => Ok(back(&ctx, &["jobs", &id], &done)),
        Err(problem) if matches!(problem.code, Code::Invalid | Code::Conflict) => {
            Ok(form(&ctx, &detail, &typed, Some(&problem)).refusal(&ctx, problem.code.status()))
        }
        Err(problem) => Err(problem),
    }
}

/// Writes what differs from what is there.
async fn write(ctx: &Ctx, detail: &JobDetail, typed: &Typed) -> Result<Done, Problem> {
    let current = editable(ctx, &detail.line.kind, Part::Input, &detail.input);
    let text = typed.input.trim();
    let is_left = text.is_empty() || current.is_some_and(|current| current == in_lines(text));
    let input: Option<Box<RawValue>> = (!is_left).then(|| serde_json::from_str(text)).transpose().map_err(|e| {
        Problem::invalid(format!("the input is no JSON: {e}")).help("a text is quoted, a number is not: \"paid\", 7")
    })?;
    let priority = typed.priority.trim();
    let priority: Option<i16> = (!priority.is_empty()).then(|| priority.parse()).transpose().map_err(|_| {
        Problem::invalid(format!("priority: {priority:?} is no number from {} to {}", i16::MIN, i16::MAX))
    })?;
    let edited = Edited {
        reason: &typed.reason,
        input: input.as_deref(),
        priority: priority.filter(|priority| *priority != detail.line.priority),
        due: edit::due(&typed.due)?,
    };
    edit::job(ctx, detail.line.id, edited).await
}

fn form(ctx: &Ctx, detail: &JobDetail, typed: &Typed, problem: Option<&Problem>) -> Page {
    let id = detail.line.id.to_string();
    let title = format!("Edit {}", detail.line.kind);
    let body = html! {
        div.head { (badge::of_line(&detail.line).badge()) h1 { (title) } }
        @if let Some(problem) = problem {
            div.card.alert.bad role="alert" { b { (problem.message) } @if let Some(help) = &problem.help { p { (help) } } }
        }
        section.card {
            form.sheet method="post" action=(ctx.base.to(&["jobs", &id, "edit"])) {
                p.dim.small { "What is left as it is, stays. A job that is blocked is tried again. The input must be of version " (detail.line.version) " of " (detail.line.kind) "." }
                (input(ctx, detail, typed))
                label { "Priority, higher first" input name="priority" inputmode="numeric" maxlength="6" value=(typed.priority) data-keep; }
                label { "May run from (an instant such as 2027-01-31T08:00:00Z, or now)" input name="due" maxlength="40" value=(typed.due) placeholder="as it is" data-keep; }
                label { "Why, for the audit" input name="reason" maxlength="500" value=(typed.reason) data-keep; }
                div.acts { button.main type="submit" { "Change it" } a.button href=(ctx.base.to(&["jobs", &id])) { "No" } }
            }
        }
    };
    Page::new(title, "Jobs", body)
}

fn input(ctx: &Ctx, detail: &JobDetail, typed: &Typed) -> Markup {
    let is_whole = editable(ctx, &detail.line.kind, Part::Input, &detail.input).is_some();
    let rows = typed.input.lines().count().clamp(4, 30);
    html! {
        label { @if is_whole { "Input, as JSON" } @else { "Another input, as JSON. What it has is not shown here whole; leave this empty to keep it" }
            textarea.mono name="input" rows=(rows) spellcheck="false" data-keep { (typed.input) } }
    }
}
