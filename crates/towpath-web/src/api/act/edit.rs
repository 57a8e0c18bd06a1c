//! The edit of a job.

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{job_id, once};
use crate::api::read_body;
use crate::app::Ctx;
use crate::orders::edit::{self, Edited};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Change {
    reason: String,
    input: Option<Box<RawValue>>,
    priority: Option<i16>,
    due: String,
}

pub(in crate::api) async fn job(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let Change { reason, input, priority, due } = read_body(&headers, &body)?;
        let edited = Edited { reason: &reason, input: input.as_deref(), priority, due: edit::due(&due)? };
        edit::job(&ctx, job_id(&id)?, edited).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}
