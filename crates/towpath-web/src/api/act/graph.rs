//! Graphs once more: what a retry would do, retries, restarts.

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use towpath::NodeName;

use super::once;
use crate::api::read::asked;
use crate::api::{json, read_body};
use crate::app::Ctx;
use crate::look;
use crate::orders::graph::{self, Retry};
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct Again {
    mode: String,
    node: String,
    even_incomplete: bool,
    reason: String,
}

impl Again {
    fn read(&self) -> Result<Retry, Problem> {
        Retry::read(&self.mode, &self.node, self.even_incomplete)
    }
}

/// What a retry would do.
#[derive(Debug, Serialize)]
struct Plan {
    count: usize,
    nodes: Vec<NodeName>,
    lifts: bool,
}

pub(in crate::api) async fn plan(
    ctx: Ctx,
    Path(id): Path<String>,
    query: Result<Query<Again>, QueryRejection>,
) -> Result<Response, Problem> {
    let planned = graph::plan(&ctx, look::graph_id(&id)?, &asked(query)?.read()?).await?;
    Ok(json(&Plan { count: planned.nodes.len(), nodes: planned.nodes, lifts: planned.lifts }))
}

pub(in crate::api) async fn retry(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let again: Again = read_body(&headers, &body)?;
        graph::retry(&ctx, look::graph_id(&id)?, again.read()?, &again.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OnceMore {
    id: Option<String>,
    reason: String,
}

pub(in crate::api) async fn restart(
    ctx: Ctx,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Bytes,
) -> Response {
    let order = async {
        let asked: OnceMore = read_body(&headers, &body)?;
        let new = asked.id.as_deref().map(|id| id.parse().map_err(|_| Problem::invalid(format!("id: {id:?} is none"))));
        graph::restart(&ctx, look::graph_id(&id)?, new.transpose()?, &asked.reason).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}
