//! Schedules: when they mint next and have last, and what people do to one.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use towpath::core::ScheduleName;
use towpath::core::schedule::{CatchUp, Keeper, Minted, Overlap, SkipReason, StoredSchedule};
use towpath::core::store::JobLine;
use towpath::{Payload, Timestamp};

use super::act::{self, Ordered, back, fields, menu};
use super::{Page, badge, empty, jobs, pager, payload, when};
use crate::api::read::{asked, next_name};
use crate::app::Ctx;
use crate::look::{self, NamedQuery};
use crate::options::Part;
use crate::orders::steer::{self, ToSchedule};
use crate::problem::{Code, Problem};
use crate::shape::schedule::{COMING, state};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    after: String,
    done: String,
}

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let part = NamedQuery { after: query.after.clone(), ..NamedQuery::default() };
    let limit = part.limit()?;
    let found = ctx.app.client.store().schedules(part.name(ScheduleName::new)?, limit).await?;
    let later = next_name(&found.rows, limit, |(_, row)| row.name.as_str());
    let later = later.map(|next| ctx.base.query(&["schedules"], &[("after", &next)]));
    let first = (!query.after.is_empty()).then(|| ctx.base.to(&["schedules"]));
    let rows: Vec<&StoredSchedule> = found.rows.iter().map(|(_, row)| row).collect();
    let body = html! {
        div.head { h1 { "Schedules" } }
        (act::done(&query.done))
        section.card {
            @if rows.is_empty() { (empty("There are no schedules.", "Put one with Client::schedules, or let workers declare it by WorkerBuilder::schedule.")) }
            @else { (table(&ctx, &rows, found.now)) }
        }
        (pager(first, later))
    };
    Ok(Page::new("Schedules", "Schedules", body).answer(&ctx, &headers))
}

fn table(ctx: &Ctx, rows: &[&StoredSchedule], now: Timestamp) -> Markup {
    html! {
        div.wide { table.cards {
            thead { tr { th { "Schedule" } th { "State" } th { "When" } th { "Next" } th { "Last" } th { "Job" } th.num { "Skipped" } } }
            tbody { @for row in rows {
                tr data-key=(row.name) {
                    td.name { a href=(ctx.base.to(&["schedules", row.name.as_str()])) { (row.name) } }
                    td { (look_of(row, now).badge()) }
                    td data-l="when" { code { (row.rule.spec) } div.dim.small { (row.rule.zone) } }
                    td data-l="next" { (next(row)) }
                    td data-l="last" { @match row.minted.last() { Some(minted) => (last(ctx, minted)), None => span.dim { "never" } } }
                    td data-l="job" { (row.job.kind) div.dim.small { "queue " (row.job.queue) } }
                    td.num data-l="skipped" { (row.skipped.iter().map(|span| span.count).sum::<u32>()) }
                }
            } }
        } }
    }
}

fn look_of(row: &StoredSchedule, now: Timestamp) -> badge::Look {
    let word = state(row, now);
    let (class, shape) = match word {
        "active" => ("succeeded", "succeeded"),
        "paused" => ("paused", "paused"),
        "late" => ("unserved", "blocked"),
        "ghost" => ("unserved", "waiting"),
        _ => ("skipped", "skipped"),
    };
    badge::Look { class, shape, word }
}

/// The next tick, by the clock of its zone.
fn next(row: &StoredSchedule) -> Markup {
    html! {
        @match row.coming(1).first() {
            Some(at) => { (when::ago(*at)) div.dim.small { (local(row, *at)) } },
            None => span.dim { "–" },
        }
    }
}

fn local(row: &StoredSchedule, at: Timestamp) -> String {
    row.rule.zone.shows(at).unwrap_or_else(|| "never".into())
}

fn last(ctx: &Ctx, minted: &Minted) -> Markup {
    html! { a href=(ctx.base.to(&["jobs", &minted.job.to_string()])) { (when::ago(minted.tick)) } }
}

pub(super) async fn one(
    ctx: Ctx,
    headers: HeaderMap,
    Path(name): Path<String>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let (row, now) = look::schedule(&ctx.app.client, &name).await?;
    let mut minted: Vec<JobLine> = Vec::new();
    for job in row.minted.iter().rev() {
        minted.extend(ctx.app.client.inspect().job(job.job).await?.map(|detail| detail.line));
    }
    let input = Payload::json_bytes(row.job.input.clone().into_bytes());
    let body = html! {
        div.head {
            (look_of(&row, now).badge())
            h1 { (row.name) }
            div.acts { (acts(&ctx, &row)) }
        }
        (act::done(&query.done))
        (trouble(&row, now))
        div.cols {
            section.card { h2 { "Facts" } (facts(&ctx, &row)) }
            section.card { h2 { "Next ticks" } (coming(&row)) }
            section.card { h2 { "Input of its jobs" } (payload::payload(&ctx, &row.job.kind, Part::Input, &input)) }
        }
        section.card { h2 { "Minted last" }
            @if minted.is_empty() { (empty("Nothing that is still kept.", "")) } @else { (jobs::table(&ctx, &minted)) }
        }
        section.card { h2 { "Skipped last" } (skipped(&row)) }
    };
    Ok(Page::new(row.name.to_string(), "Schedules", body).answer(&ctx, &headers))
}

fn trouble(row: &StoredSchedule, now: Timestamp) -> Markup {
    html! {
        @match state(row, now) {
            "late" => div.card.alert { (look_of(row, now).badge()) b { "Its tick is overdue, and nobody has looked" }
                p { "Workers look at schedules beside their jobs: start one. What was missed then becomes of as its policy says." } },
            "ghost" => div.card.alert { (look_of(row, now).badge()) b { "No worker has declared it for a day" }
                p { "The code that declared it may be gone. It goes on until somebody forgets it." } },
            "over" => div.card.alert { (look_of(row, now).badge()) b { "No tick will come" } p { "Its spec names no instant any more." } },
            _ => {},
        }
    }
}

fn facts(ctx: &Ctx, row: &StoredSchedule) -> Markup {
    let policy = row.rule.policy;
    let catch_up = match policy.catch_up {
        CatchUp::Skip => "late ticks are skipped".to_owned(),
        CatchUp::Coalesce => "late ticks become one".to_owned(),
        CatchUp::Backfill(most) => format!("late ticks are made up for, the newest {most}"),
    };
    let overlap = match policy.overlap {
        Overlap::Allow => "its jobs may overlap",
        Overlap::Skip => "a tick is skipped while its last job has not ended",
    };
    html! {
        dl.facts {
            dt { "When" } dd { code { (row.rule.spec) } ", clock of " (row.rule.zone) }
            dt { "Policy" } dd { (catch_up) "; " (overlap) "; in time for " (when::duration(std::time::Duration::from_micros(policy.grace_us))) }
            dt { "Job" } dd { a href=(ctx.base.query(&["jobs"], &[("kind", row.job.kind.as_str())])) { (row.job.kind) } ", version " (row.job.version) ", queue " (row.job.queue) }
            dt { "Kept by" } dd { @match row.keeper {
                Keeper::Hand => "hand",
                Keeper::Workers { declared_at } => { "workers, last declared " (when::ago(declared_at)) },
            } }
            dt { "Made" } dd { (when::ago(row.born)) }
        }
    }
}

fn coming(row: &StoredSchedule) -> Markup {
    let ticks = row.coming(COMING);
    html! {
        @if ticks.is_empty() { (empty("None, as it stands.", "")) }
        @else { dl.facts { @for at in &ticks { dt { (when::ago(*at)) } dd { (local(row, *at)) } } } p.dim.small { "By the clock of " (row.rule.zone) "." } }
    }
}

fn skipped(row: &StoredSchedule) -> Markup {
    if row.skipped.is_empty() {
        return empty("No tick was skipped.", "");
    }
    html! {
        div.wide { table.cards {
            thead { tr { th { "Why" } th.num { "Ticks" } th { "First" } th { "Last" } } }
            tbody { @for span in row.skipped.iter().rev() {
                tr {
                    td.name { (words(span.reason)) }
                    td.num data-l="ticks" { (span.count) }
                    td data-l="first" { (local(row, span.first)) }
                    td data-l="last" { (local(row, span.last)) }
                }
            } }
        } }
    }
}

fn words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Overlap => "the last run was going",
        SkipReason::Paused => "it was paused",
        SkipReason::TooLate => "nobody looked in time",
        SkipReason::Coalesced => "a later tick stands for it",
        _ => "for a reason of a newer release",
    }
}

fn acts(ctx: &Ctx, row: &StoredSchedule) -> Markup {
    let to = ctx.base.to(&["schedules", row.name.as_str(), "act"]);
    let is_paused = row.activity == towpath::core::schedule::Activity::Paused;
    html! {
        @if ctx.may(ToSchedule::Trigger.action()) {
            (menu(&to, "trigger", "Run now…", "A job now, as it is here. Its ticks stay as they are.", "Run it"))
        }
        @if ctx.may(ToSchedule::Pause.action()) {
            @if is_paused { (menu(&to, "resume", "Resume…", "It mints again. What was due meanwhile is skipped.", "Resume it")) }
            @else { (menu(&to, "pause", "Pause…", "It mints nothing until it is resumed. What runs goes on.", "Pause it")) }
        }
        @if ctx.may(ToSchedule::Forget.action()) {
            (menu(&to, "forget", "Forget…", "It is deleted; what it has minted stays. One that workers declare is there again when the next one starts.", "Forget it"))
        }
    }
}

pub(super) async fn act(
    ctx: Ctx,
    Path(name): Path<String>,
    form: Result<Form<Ordered>, FormRejection>,
) -> Result<Response, Problem> {
    let asked = fields(form)?;
    let what = ToSchedule::ALL.into_iter().find(|what| what.word() == asked.what);
    let what = what.ok_or_else(|| Problem::new(Code::Invalid, format!("do: {:?} is not known", asked.what)))?;
    let done = steer::schedule(&ctx, &name, what, &asked.reason).await?;
    let to: &[&str] = if what == ToSchedule::Forget { &["schedules"] } else { &["schedules", &name] };
    Ok(back(&ctx, to, &done))
}
