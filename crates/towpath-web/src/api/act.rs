//! Actions: each an order in the name of who asks, done once per idempotency key.

pub(super) mod edit;
pub(super) mod graph;
pub(super) mod many;
pub(super) mod steer;

use std::future::Future;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use towpath::JobId;

use super::idempotency::Key;
use super::{json, read_body};
use crate::app::Ctx;
use crate::look;
use crate::options::Action;
use crate::orders::{self, GoOn, Requeued, ToAsk, ToSend};
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Why {
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Signal {
    name: String,
    payload: Option<Box<RawValue>>,
    dedup: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Update {
    name: String,
    payload: Option<Box<RawValue>>,
    id: Option<String>,
    timeout_ms: Option<u64>,
}

/// Does an order, or answers as the first time if its key has been seen.
async fn once<F, T>(ctx: &Ctx, headers: &HeaderMap, uri: &Uri, body: &Bytes, order: F) -> Response
where
    F: Future<Output = Result<T, Problem>>,
    T: Serialize,
{
    let key = match Key::of(headers, &ctx.user, uri.path(), body) {
        Ok(Some(key)) => key,
        Ok(None) => return answer(order.await),
        Err(problem) => return problem.into_response(),
    };
    ctx.app.answers.once(key, async { answer(order.await) }).await
}

fn answer(done: Result<impl Serialize, Problem>) -> Response {
    match done {
        Ok(done) => json(&done),
        Err(problem) => problem.into_response(),
    }
}

fn job_id(text: &str) -> Result<JobId, Problem> {
    text.parse().map_err(|_| Problem::not_found("job", text))
}

pub(super) async fn cancel_job(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        orders::cancel_job(&ctx, job_id(&id)?, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(super) async fn terminate_job(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        orders::terminate_job(&ctx, job_id(&id)?, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PutBack {
    reason: String,
    input: Option<Box<RawValue>>,
    even_succeeded: bool,
}

pub(super) async fn requeue_job(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let asked: PutBack = read_body(&headers, &body)?;
        let requeued =
            Requeued { reason: &asked.reason, input: asked.input.as_deref(), even_succeeded: asked.even_succeeded };
        orders::requeue_job(&ctx, job_id(&id)?, requeued).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(super) async fn cancel_graph(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        orders::cancel_graph(&ctx, look::graph_id(&id)?, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(super) async fn cancel_run(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        let run = look::run(&ctx.app.client, &id).await?;
        orders::cancel_job(&ctx, run.line.id, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(super) async fn terminate_run(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        let run = look::run(&ctx.app.client, &id).await?;
        orders::terminate_job(&ctx, run.line.id, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RetryRun {
    reason: String,
    at: Option<u32>,
    from_beginning: bool,
    even_succeeded: bool,
}

pub(super) async fn retry_run(ctx: Ctx, Path(id): Path<String>, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let order = async {
        let RetryRun { reason, at, from_beginning, even_succeeded } = read_body(&headers, &body)?;
        ctx.allow(Action::Retry)?;
        let run = look::run(&ctx.app.client, &id).await?.run.ok_or_else(|| Problem::not_found("run", &id))?;
        let from = match (at, from_beginning) {
            (Some(_), true) => return Err(Problem::invalid("at and from_beginning: one of them says from where")),
            (Some(at), false) => GoOn::At(at),
            (None, true) => GoOn::Beginning,
            (None, false) => GoOn::Failed,
        };
        orders::retry_run(&ctx, &run.id, &reason, from, even_succeeded).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fork {
    id: String,
    at: u32,
}

pub(super) async fn fork_run(ctx: Ctx, Path(id): Path<String>, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let order = async {
        let asked: Fork = read_body(&headers, &body)?;
        ctx.allow(Action::Retry)?;
        let run = look::run(&ctx.app.client, &id).await?.run.ok_or_else(|| Problem::not_found("run", &id))?;
        orders::fork_run(&ctx, &run.id, asked.at, &asked.id).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(super) async fn pause_run(ctx: Ctx, Path(id): Path<String>, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        ctx.allow(Action::Pause)?;
        let run = look::run(&ctx.app.client, &id).await?.run.ok_or_else(|| Problem::not_found("run", &id))?;
        orders::pause_run(&ctx, &run.id, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(super) async fn resume_run(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        ctx.allow(Action::Pause)?;
        let run = look::run(&ctx.app.client, &id).await?.run.ok_or_else(|| Problem::not_found("run", &id))?;
        orders::resume_run(&ctx, &run.id, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

/// An idempotency key is the dedup key of the signal too, if it has none of its own: that holds across processes.
pub(super) async fn signal(ctx: Ctx, Path(id): Path<String>, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let order = async {
        let signal: Signal = read_body(&headers, &body)?;
        let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let dedup = signal.dedup.as_deref().or(key);
        orders::signal(&ctx, &id, ToSend { name: &signal.name, payload: signal.payload.as_deref(), dedup }).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

/// An idempotency key is the id of the update too, if it has none of its own: the function is asked once then, and who asks
/// again after it was not answered in time is given its answer.
pub(super) async fn update(ctx: Ctx, Path(id): Path<String>, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let order = async {
        let Update { name, payload, id: update_id, timeout_ms } = read_body(&headers, &body)?;
        let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let (payload, id_of_update) = (payload.as_deref(), update_id.as_deref().or(key));
        orders::update(&ctx, &id, ToAsk { name: &name, payload, id: id_of_update, timeout_ms }).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}
