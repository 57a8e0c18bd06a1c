//! Orders to schedules, queues and workers.

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;

use super::{Why, once};
use crate::api::read_body;
use crate::app::Ctx;
use crate::orders::steer::{self, ToSchedule};
use crate::problem::{Code, Problem};

/// The last part of the path says what.
pub(in crate::api) async fn schedule(
    ctx: Ctx,
    Path((name, what)): Path<(String, String)>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let known = ToSchedule::ALL.into_iter().find(|known| known.word() == what);
        let nothing = || Problem::new(Code::NotFound, format!("there is nothing at {}", uri.path()));
        let why: Why = read_body(&headers, &body)?;
        steer::schedule(&ctx, &name, known.ok_or_else(nothing)?, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(in crate::api) async fn pause_queue(
    ctx: Ctx,
    Path(queue): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        steer::pause_queue(&ctx, &queue, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

pub(in crate::api) async fn resume_queue(
    ctx: Ctx,
    Path(queue): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        steer::resume_queue(&ctx, &queue, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

/// The last part of the path says what.
pub(in crate::api) async fn worker(
    ctx: Ctx,
    Path((id, what)): Path<(String, String)>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let why: Why = read_body(&headers, &body)?;
        steer::worker(&ctx, &id, &what, &why.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}
