//! The JSON API: what the dashboard shows and does, for programs. Described by `openapi.json`.

mod act;
pub(crate) mod idempotency;
pub(crate) mod read;

pub(crate) use read::{unknown, wrong_method};

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::{Code, Problem};

/// The description of the API.
pub(crate) const OPENAPI: &str = include_str!("api/openapi.json");

pub(crate) fn routes() -> Router<Arc<App>> {
    let routes = Router::new();
    #[cfg(feature = "metrics")]
    let routes = routes.route("/metrics", get(crate::metrics::metrics));
    routes
        .route("/api/openapi.json", get(openapi))
        .route("/api/counts", get(read::counts))
        .route("/api/jobs", get(read::jobs))
        .route("/api/tags", get(read::tags))
        .route("/api/jobs/many", get(act::many::count).post(act::many::carry_out))
        .route("/api/jobs/{id}", get(read::job))
        .route("/api/jobs/{id}/cancel", post(act::cancel_job))
        .route("/api/jobs/{id}/terminate", post(act::terminate_job))
        .route("/api/jobs/{id}/requeue", post(act::requeue_job))
        .route("/api/jobs/{id}/edit", post(act::edit::job))
        .route("/api/schedules", get(read::schedules))
        .route("/api/schedules/{name}", get(read::schedule))
        .route("/api/schedules/{name}/{what}", post(act::steer::schedule))
        .route("/api/queues", get(read::queues))
        .route("/api/workers/{id}/{what}", post(act::steer::worker))
        .route("/api/queues/{name}/pause", post(act::steer::pause_queue))
        .route("/api/queues/{name}/resume", post(act::steer::resume_queue))
        .route("/api/graphs", get(read::graphs))
        .route("/api/graphs/{id}", get(read::graph))
        .route("/api/graphs/{id}/cancel", post(act::cancel_graph))
        .route("/api/graphs/{id}/retry", get(act::graph::plan).post(act::graph::retry))
        .route("/api/graphs/{id}/restart", post(act::graph::restart))
        .route("/api/runs", get(read::runs))
        .route("/api/runs/{id}", get(read::run))
        .route("/api/runs/{id}/journal", get(read::journal))
        .route("/api/runs/{id}/signals", get(read::signals).post(act::signal))
        .route("/api/runs/{id}/streams", get(read::streams))
        .route("/api/runs/{id}/streams/{name}", get(read::stream))
        .route("/api/runs/{id}/updates", post(act::update))
        .route("/api/runs/{id}/cancel", post(act::cancel_run))
        .route("/api/runs/{id}/terminate", post(act::terminate_run))
        .route("/api/runs/{id}/retry", post(act::retry_run))
        .route("/api/runs/{id}/fork", post(act::fork_run))
        .route("/api/runs/{id}/pause", post(act::pause_run))
        .route("/api/runs/{id}/resume", post(act::resume_run))
        .route("/api/workers", get(read::workers))
        .route("/api/versions", get(read::versions))
        .route("/api/tallies", get(read::tallies))
        .route("/api/audit", get(read::audit))
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], OPENAPI).into_response()
}

/// The process answers.
async fn health() -> Response {
    json(&serde_json::json!({ "status": "ok" }))
}

/// The store answers, and its schema fits.
async fn ready(axum::extract::State(app): axum::extract::State<Arc<App>>) -> Result<Response, Problem> {
    app.client.inspect().audit(towpath::inspect::Page { after: None, limit: 1 }).await?;
    Ok(json(&serde_json::json!({ "status": "ok" })))
}

pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => (StatusCode::OK, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body)
            .into_response(),
        Err(e) => Problem::new(Code::Internal, format!("an answer has no JSON form: {e}")).into_response(),
    }
}

/// A body of JSON; none at all is the default.
pub(super) fn read_body<T: DeserializeOwned + Default>(
    headers: &axum::http::HeaderMap,
    body: &Bytes,
) -> Result<T, Problem> {
    if body.is_empty() {
        return Ok(T::default());
    }
    let of_type = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if of_type.split(';').next().is_none_or(|of_type| !of_type.trim().eq_ignore_ascii_case("application/json")) {
        let message = format!("the body is {of_type:?}, and application/json is taken");
        return Err(Problem::new(Code::UnsupportedMediaType, message));
    }
    serde_json::from_slice(body).map_err(|e| Problem::invalid(format!("the body: {e}")))
}
