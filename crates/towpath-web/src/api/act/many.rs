//! Many jobs at once: counted, then changed.

use axum::body::Bytes;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::once;
use crate::api::read::asked;
use crate::api::{json, read_body};
use crate::app::Ctx;
use crate::look::JobQuery;
use crate::orders::many::{self, ToMany};
use crate::problem::Problem;
use crate::shape::Job;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct Many {
    #[serde(rename = "do")]
    what: String,
    state: String,
    queue: String,
    kind: String,
    graph: String,
    tag: String,
    upto: String,
    reason: String,
}

impl Many {
    fn which(&self) -> Result<(ToMany, JobQuery), Problem> {
        let Self { state, queue, kind, graph, tag, .. } = self;
        let query = JobQuery {
            state: state.clone(),
            queue: queue.clone(),
            kind: kind.clone(),
            graph: graph.clone(),
            tag: tag.clone(),
            ..JobQuery::default()
        };
        Ok((ToMany::of(&self.what)?, query))
    }
}

/// How many are meant, and which are the newest.
#[derive(Debug, Serialize)]
struct Meant {
    count: usize,
    may_be_more: bool,
    upto: String,
    newest: Vec<Job>,
}

pub(in crate::api) async fn count(ctx: Ctx, query: Result<Query<Many>, QueryRejection>) -> Result<Response, Problem> {
    let (what, query) = asked(query)?.which()?;
    let found = many::count(&ctx, what, &query).await?;
    let newest = found.first.iter().map(Job::of).collect();
    Ok(json(&Meant { count: found.count, may_be_more: found.may_be_more, upto: found.upto, newest }))
}

pub(in crate::api) async fn carry_out(ctx: Ctx, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let order = async {
        let many: Many = read_body(&headers, &body)?;
        let (what, query) = many.which()?;
        many::carry_out(&ctx, what, &query, (&many.upto, &many.reason)).await
    };
    once(&ctx, &headers, &uri, &body, order).await
}
