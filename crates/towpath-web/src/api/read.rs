//! Views: each one question to the store.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::response::Response;
use serde::Deserialize;
use towpath::core::store::{JobShape, TagQuery};
use towpath::core::{Label, ScheduleName, limits};
use towpath::inspect::JobDetail;

use super::json;
use crate::app::Ctx;
use crate::look::child::Children;
use crate::look::list::{self, Patience};
use crate::look::tallies::{Tallies, TalliesQuery};
use crate::look::{self, AuditQuery, JobQuery, NamedQuery, PageQuery, Workers, versions};
use crate::problem::{Code, Problem};
use crate::shape::journal::Line;
use crate::shape::schedule::Schedule;
use crate::shape::stream::{Stream, StreamLine};
use crate::shape::tally::Figures;
use crate::shape::version::Version;
use crate::shape::{Audit, Counts, Graph, GraphWhole, Job, JobWhole, List, QueueShape, Signal, Tag, Worker};

type Asked<T> = Result<Query<T>, QueryRejection>;

pub(crate) fn asked<T>(query: Asked<T>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|e| Problem::invalid(format!("the query: {}", e.body_text())))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobsQuery {
    state: String,
    queue: String,
    kind: String,
    graph: String,
    tag: String,
    after: String,
    limit: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TagsQuery {
    prefix: String,
    after: String,
    limit: String,
}

/// Up to how many of a state are counted.
const COUNTED: u32 = 10_000;

pub(super) async fn counts(ctx: Ctx) -> Result<Response, Problem> {
    Ok(json(&Counts::of(&ctx.app.client.inspect().counts(COUNTED).await?, COUNTED)))
}

pub(super) async fn jobs(ctx: Ctx, query: Asked<JobsQuery>) -> Result<Response, Problem> {
    let JobsQuery { state, queue, kind, graph, tag, after, limit } = asked(query)?;
    let page = PageQuery { after, limit };
    listed(&ctx, &JobQuery { state, queue, kind, graph, tag, shape: JobShape::Any }, &page).await
}

async fn listed(ctx: &Ctx, query: &JobQuery, page: &PageQuery) -> Result<Response, Problem> {
    let found = list::jobs(&ctx.app.client, query, page.page()?, Patience::Short).await?;
    Ok(json(&List { items: found.lines.iter().map(Job::of).collect(), next: found.next }))
}

/// The cursor after a full page.
pub(crate) fn next<T>(lines: &[T], limit: u32, key: impl Fn(&T) -> i64) -> Option<String> {
    lines.last().filter(|_| lines.len() >= limit as usize).map(|line| key(line).to_string())
}

/// The name after a full page of a list that goes by names.
pub(crate) fn next_name<T>(lines: &[T], limit: u32, name: impl Fn(&T) -> &str) -> Option<String> {
    lines.last().filter(|_| lines.len() >= limit as usize).map(|line| name(line).to_owned())
}

pub(super) async fn schedules(ctx: Ctx, query: Asked<NamedQuery>) -> Result<Response, Problem> {
    let query = asked(query)?;
    let limit = query.limit()?;
    let found = ctx.app.client.store().schedules(query.name(ScheduleName::new)?, limit).await?;
    let next = next_name(&found.rows, limit, |(_, row)| row.name.as_str());
    Ok(json(&List { items: found.rows.iter().map(|(_, row)| Schedule::of(row, found.now)).collect(), next }))
}

pub(super) async fn schedule(ctx: Ctx, Path(name): Path<String>) -> Result<Response, Problem> {
    let (row, now) = look::schedule(&ctx.app.client, &name).await?;
    Ok(json(&Schedule::of(&row, now)))
}

pub(super) async fn runs(ctx: Ctx, query: Asked<JobsQuery>) -> Result<Response, Problem> {
    let JobsQuery { state, queue, kind, graph, tag, after, limit } = asked(query)?;
    let page = PageQuery { after, limit };
    listed(&ctx, &JobQuery { state, queue, kind, graph, tag, shape: JobShape::Run }, &page).await
}

pub(super) async fn tags(ctx: Ctx, query: Asked<TagsQuery>) -> Result<Response, Problem> {
    let TagsQuery { prefix, after, limit } = asked(query)?;
    let limit = NamedQuery { limit, ..NamedQuery::default() }.limit()?.min(limits::TAGS_LISTED_MAX);
    let query = TagQuery { prefix, after: (!after.is_empty()).then_some(after), limit };
    let lines = ctx.app.client.inspect().tags(query).await?;
    let next = next_name(&lines, limit, |line| &line.tag);
    Ok(json(&List { items: lines.iter().map(Tag::of).collect(), next }))
}

pub(super) async fn job(ctx: Ctx, Path(id): Path<String>) -> Result<Response, Problem> {
    let detail = look::job(&ctx.app.client, &id).await?;
    whole(&ctx, &detail).await
}

async fn whole(ctx: &Ctx, detail: &JobDetail) -> Result<Response, Problem> {
    let attempts = ctx.app.client.inspect().attempts(detail.line.id).await?;
    let published = look::published(&ctx.app.client, detail).await?;
    let marks = ctx.app.client.store().marks(detail.line.id).await?;
    Ok(json(&JobWhole::of(ctx, detail, &attempts, &marks, published.as_ref())))
}

pub(super) async fn queues(ctx: Ctx) -> Result<Response, Problem> {
    let workers = Workers::look(&ctx.app.client).await?;
    let lines = look::queues(&ctx.app.client, &workers).await?;
    Ok(json(&List { items: lines.iter().map(QueueShape::of).collect(), next: None }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GraphsQuery {
    name: String,
    state: String,
    after: String,
    limit: String,
}

pub(super) async fn graphs(ctx: Ctx, query: Asked<GraphsQuery>) -> Result<Response, Problem> {
    let GraphsQuery { name, state, after, limit } = asked(query)?;
    let page = PageQuery { after, limit }.page()?;
    let lines = ctx.app.client.inspect().graphs(look::graph_filter(&name, &state)?, page).await?;
    let next = next(&lines, page.limit, |line| line.key);
    Ok(json(&List { items: lines.iter().map(Graph::of).collect(), next }))
}

pub(super) async fn graph(ctx: Ctx, Path(id): Path<String>) -> Result<Response, Problem> {
    let found = ctx.app.client.inspect().graph(look::graph_id(&id)?).await?;
    let detail = found.ok_or_else(|| Problem::not_found("graph", &id))?;
    let held = ctx.app.client.held_in(&detail).await?;
    let inside = ctx.app.client.holder(detail.line.id).await?;
    Ok(json(&GraphWhole::of(&ctx, &detail, &held, inside.as_ref())))
}

pub(super) async fn run(ctx: Ctx, Path(id): Path<String>) -> Result<Response, Problem> {
    let detail = look::run(&ctx.app.client, &id).await?;
    whole(&ctx, &detail).await
}

pub(super) async fn journal(ctx: Ctx, Path(id): Path<String>, query: Asked<PageQuery>) -> Result<Response, Problem> {
    let query = asked(query)?;
    let limit = query.limit()?;
    let from = match query.after()? {
        None => 0,
        Some(seq) => {
            u32::try_from(seq.saturating_add(1)).map_err(|_| Problem::invalid("after: no line of a journal"))?
        }
    };
    let detail = look::run(&ctx.app.client, &id).await?;
    let Some(run) = &detail.run else { return Err(Problem::not_found("run", &id)) };
    let lines = ctx.app.client.store().entries(detail.line.id, run.chapter, from, limit).await?;
    let next = next(&lines, limit, |line| i64::from(line.seq));
    let children = Children::look(&ctx.app.client, &detail, run).await?;
    let items = lines.iter().map(|line| Line::of(&ctx, &detail.line.kind, &children, line)).collect();
    Ok(json(&List { items, next }))
}

pub(super) async fn signals(ctx: Ctx, Path(id): Path<String>, query: Asked<PageQuery>) -> Result<Response, Problem> {
    let query = asked(query)?;
    let (after, limit) = (query.after()?.unwrap_or(i64::MIN), query.limit()?);
    let detail = look::run(&ctx.app.client, &id).await?;
    let Some(run) = &detail.run else { return Err(Problem::not_found("run", &id)) };
    let lines = ctx.app.client.store().inbox(run.id.clone(), after, limit).await?;
    let next = next(&lines, limit, |line| line.seq);
    Ok(json(&List { items: lines.iter().map(|line| Signal::of(&ctx, &detail.line.kind, line)).collect(), next }))
}

pub(super) async fn streams(ctx: Ctx, Path(id): Path<String>) -> Result<Response, Problem> {
    let detail = look::run(&ctx.app.client, &id).await?;
    let Some(run) = &detail.run else { return Err(Problem::not_found("run", &id)) };
    let heads = ctx.app.client.inspect().streams(run.id.clone()).await?;
    Ok(json(&List { items: heads.iter().map(Stream::of).collect(), next: None }))
}

pub(super) async fn stream(
    ctx: Ctx,
    Path((id, name)): Path<(String, String)>,
    query: Asked<PageQuery>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let after =
        query.after()?.map_or(Ok(0), u64::try_from).map_err(|_| Problem::invalid("after: no line of a stream"))?;
    let limit = query.limit()?;
    let name = Label::new(&name).map_err(|e| Problem::invalid(format!("name: {e}")))?;
    let detail = look::run(&ctx.app.client, &id).await?;
    let Some(run) = &detail.run else { return Err(Problem::not_found("run", &id)) };
    let lines = ctx.app.client.store().stream(run.id.clone(), name.to_string(), after, limit).await?;
    let next = next(&lines, limit, |line| i64::try_from(line.number).unwrap_or(i64::MAX));
    Ok(json(&List { items: lines.iter().map(|line| StreamLine::of(&ctx, &detail.line.kind, line)).collect(), next }))
}

pub(super) async fn workers(ctx: Ctx) -> Result<Response, Problem> {
    let workers = Workers::look(&ctx.app.client).await?;
    let items = workers.lines.iter().map(|line| Worker::of(line, workers.lives(line))).collect();
    Ok(json(&List { items, next: None }))
}

pub(super) async fn tallies(ctx: Ctx, query: Asked<TalliesQuery>) -> Result<Response, Problem> {
    Ok(json(&Figures::of(&Tallies::look(&ctx.app.client, &asked(query)?).await?)))
}

pub(super) async fn versions(ctx: Ctx) -> Result<Response, Problem> {
    let lines = versions::look(&ctx.app.client).await?;
    Ok(json(&List { items: lines.iter().map(Version::of).collect(), next: None }))
}

pub(super) async fn audit(ctx: Ctx, query: Asked<AuditQuery>) -> Result<Response, Problem> {
    let query = asked(query)?;
    let (page, lines) = (query.page()?, look::audit(&ctx.app.client, &query).await?);
    let next = next(&lines, page.limit, |line| line.key);
    Ok(json(&List { items: lines.iter().map(Audit::of).collect(), next }))
}

/// What is none of ours.
pub(crate) async fn unknown(uri: axum::http::Uri) -> Problem {
    Problem::new(Code::NotFound, format!("there is nothing at {}", uri.path()))
}

/// What is ours, asked for in a way that it is not there for.
pub(crate) async fn wrong_method(method: axum::http::Method, uri: axum::http::Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take {method}", uri.path()))
}
