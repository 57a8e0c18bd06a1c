//! Pages for people: rendered here, live by a script that asks for the same page again.

mod act;
mod audit;
mod badge;
mod charts;
mod edit;
mod graph;
mod graphs;
mod history;
mod job;
mod jobs;
mod many;
mod overview;
mod payload;
mod queues;
mod retry;
mod run;
mod runs;
mod schedules;
mod stream;
mod versions;
mod when;
mod workers;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Router;
use axum::extract::Query;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Deserialize;
use towpath::{GraphId, JobId};

use crate::app::{App, Ctx};
use crate::assets::{self, SCRIPT, STYLE};
use crate::base::Base;
use crate::live;
use crate::look;
use crate::options::User;
use crate::problem::{Code, Problem};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(overview::page))
        .route("/jobs", get(jobs::page))
        .route("/jobs/many", get(many::ask).post(many::act))
        .route("/jobs/{id}", get(job::page))
        .route("/jobs/{id}/act", post(act::job))
        .route("/jobs/{id}/streams/{name}", get(stream::page))
        .route("/jobs/{id}/edit", get(edit::page).post(edit::act))
        .route("/graphs", get(graphs::page))
        .route("/graphs/{id}", get(graph::page))
        .route("/graphs/{id}/act", post(act::graph))
        .route("/graphs/{id}/retry", get(retry::page).post(retry::act))
        .route("/runs", get(runs::page))
        .route("/runs/{id}", get(run_by_id))
        .route("/schedules", get(schedules::page))
        .route("/schedules/{name}", get(schedules::one))
        .route("/schedules/{name}/act", post(schedules::act))
        .route("/queues", get(queues::page))
        .route("/queues/{name}", get(queues::one))
        .route("/queues/{name}/act", post(queues::act))
        .route("/workers/{id}/act", post(workers::act))
        .route("/workers", get(workers::page))
        .route("/versions", get(versions::page))
        .route("/charts", get(charts::page))
        .route("/audit", get(audit::page))
        .route("/find", get(find))
        .route("/live", get(live::live))
        .route("/assets/{name}", get(assets::asset))
}

/// What stands around every page.
pub(crate) struct Frame<'a> {
    app: &'a App,
    base: &'a Base,
    user: Option<&'a User>,
}

/// A page, before it is written.
pub(crate) struct Page {
    pub(crate) title: String,
    /// Which of the places at the top it belongs to.
    pub(crate) place: &'static str,
    pub(crate) body: Markup,
    /// Milliseconds that at least lie between two looks of the script: 0, or more for what is large.
    pub(crate) every_ms: u32,
}

impl Page {
    pub(crate) fn new(title: impl Into<String>, place: &'static str, body: Markup) -> Self {
        Self { title: title.into(), place, body, every_ms: 0 }
    }

    /// The page as an answer: not at all if the browser has it as it is.
    pub(crate) fn answer(self, ctx: &Ctx, headers: &HeaderMap) -> Response {
        let mut hasher = DefaultHasher::new();
        self.body.0.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        let is_live = headers.contains_key("x-towpath-live");
        if is_live && headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
            return StatusCode::NOT_MODIFIED.into_response();
        }
        let frame = Frame { app: &ctx.app, base: &ctx.base, user: Some(&ctx.user) };
        html_answer(StatusCode::OK, write(&frame, &self, Some(&tag)))
    }

    /// The page as the answer to a form that was not taken: it is not live, since its address leads to the form as it was.
    pub(crate) fn refusal(self, ctx: &Ctx, status: StatusCode) -> Response {
        let frame = Frame { app: &ctx.app, base: &ctx.base, user: Some(&ctx.user) };
        html_answer(status, write(&frame, &self, None))
    }
}

/// Places at the top: a word, its path, and its key after `g`.
const PLACES: [(&str, &str, &str); 9] = [
    ("Overview", "", "o"),
    ("Jobs", "jobs", "j"),
    ("Graphs", "graphs", "g"),
    ("Runs", "runs", "r"),
    ("Schedules", "schedules", "s"),
    ("Queues", "queues", "q"),
    ("Charts", "charts", "c"),
    ("Workers", "workers", "w"),
    ("Audit", "audit", "a"),
];

fn write(frame: &Frame<'_>, page: &Page, tag: Option<&str>) -> Markup {
    let (options, base) = (&frame.app.options, frame.base);
    let instance = &options.instance;
    let now = crate::shape::instant(look::here_and_now()).unwrap_or_default();
    let link = |path: &str| if path.is_empty() { base.to(&[]) } else { base.to(&[path]) };
    html! {
        (DOCTYPE)
        html lang="en" class={ "hue-" (options.colour.word()) } {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="base" content=(base);
                meta name="now" content=(now);
                title { (page.title) @if !instance.is_empty() { " · " (instance) } " · towpath" }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href=(base.to(&["assets", &STYLE.name]));
                script src=(base.to(&["assets", &SCRIPT.name])) defer {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (PreEscaped(badge::SPRITE))
                header.top {
                    div.bar {
                        a.brand href=(link("")) { "towpath" }
                        @if !instance.is_empty() { span.chip title="This instance" { (instance) } }
                        @if options.read_only { span.tag { "read-only" } }
                        nav aria-label="Places" {
                            @for (word, path, key) in PLACES {
                                a href=(link(path)) aria-current=[(page.place == word).then_some("page")]
                                    title={ "g " (key) } { (word) }
                            }
                        }
                        form.find action=(base.to(&["find"])) role="search" {
                            input #find name="q" type="search" placeholder="Find by id, press /"
                                aria-label="Id of a job, graph or run" maxlength="200" required;
                        }
                    }
                }
                main #main data-tag=[tag] data-live=[tag.map(|_| "1")] data-every=(page.every_ms) tabindex="-1" { (page.body) }
                footer.foot {
                    @if let Some(user) = frame.user { span { "as " (user.name) } }
                    span #live role="status" { "as of the moment it was loaded" }
                    button #theme type="button" hidden { "Theme" }
                    a href=(base.to(&["api", "openapi.json"])) { "API" }
                    span.dim { "Keys: / find, g then o j g r s q c w d a" }
                }
            }
        }
    }
}

/// A boat's side, as a picture of its own so that no request is made for one.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%231257b8' d='M1 9h14l-2.5 4.5h-9zM7 2h2v6H7z'/%3E%3C/svg%3E";

fn html_answer(status: StatusCode, markup: Markup) -> Response {
    let of_type = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (status, of_type, markup.into_string()).into_response()
}

/// A problem as a page, with a way on.
pub(crate) fn problem(app: &App, base: &Base, user: Option<&User>, problem: &Problem) -> Response {
    let title = match problem.code {
        Code::NotFound => "Not here",
        Code::Unauthorized => "Log in",
        Code::Forbidden | Code::ReadOnly | Code::CrossOrigin | Code::UnknownHost => "Not allowed",
        Code::Unavailable | Code::Schema => "The store does not answer",
        _ => "That did not work",
    };
    let body = html! {
        h1 { (title) }
        div.card.alert.bad role="alert" {
            b { (problem.message) }
            @if let Some(help) = &problem.help { p { (help) } }
        }
        p { a href=(base.to(&[])) { "Overview" } }
    };
    // No tag: a page of a problem is not live, since what it says is over once it works again.
    html_answer(problem.code.status(), write(&Frame { app, base, user }, &Page::new(title, "", body), None))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Find {
    q: String,
}

/// Where a job, graph or run of this id is.
async fn find(ctx: Ctx, Query(find): Query<Find>) -> Result<Redirect, Problem> {
    let text = find.q.trim();
    let client = &ctx.app.client;
    if let Ok(id) = text.parse::<GraphId>()
        && client.inspect().graph_line(id).await?.is_some()
    {
        return Ok(Redirect::to(&ctx.base.to(&["graphs", text])));
    }
    if let Ok(id) = text.parse::<JobId>()
        && client.inspect().job(id).await?.is_some()
    {
        return Ok(Redirect::to(&ctx.base.to(&["jobs", text])));
    }
    match look::run(client, text).await {
        Ok(run) => Ok(Redirect::to(&ctx.base.to(&["jobs", &run.line.id.to_string()]))),
        Err(_) => Err(Problem::new(Code::NotFound, format!("there is no job, graph or run {text:?}"))
            .help("give an id whole; lists find jobs by state, kind and queue")),
    }
}

/// A run's own id leads to the job that it is.
async fn run_by_id(ctx: Ctx, axum::extract::Path(id): axum::extract::Path<String>) -> Result<Redirect, Problem> {
    let run = look::run(&ctx.app.client, &id).await?;
    Ok(Redirect::to(&ctx.base.to(&["jobs", &run.line.id.to_string()])))
}

/// The way to the newer and the older part of a list.
pub(crate) fn pager(first: Option<String>, next: Option<String>) -> Markup {
    html! {
        @if first.is_some() || next.is_some() {
            nav.pager aria-label="Parts of the list" {
                span { @if let Some(first) = first { a.button href=(first) { "⇤ Newest" } } }
                span { @if let Some(next) = next { a.button rel="next" href=(next) { "Older →" } } }
            }
        }
    }
}

/// What to say where there is nothing.
pub(crate) fn empty(what: &str, help: &str) -> Markup {
    html! { div.empty { p { (what) } @if !help.is_empty() { p.small { (help) } } } }
}
