//! Throughput, waits and run times over the last hour, day or week, by queue and kind.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use towpath::Timestamp;
use towpath::core::tally::{Spread, Tally};

use super::{Page, empty, when};
use crate::api::read::asked;
use crate::app::Ctx;
use crate::look::tallies::{Over, Series, Tallies, TalliesQuery};
use crate::problem::Problem;

/// Kinds that are listed.
const LISTED: usize = 200;

pub(super) async fn page(
    ctx: Ctx,
    headers: HeaderMap,
    query: Result<Query<TalliesQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let query = asked(query)?;
    let tallies = Tallies::look(&ctx.app.client, &query).await?;
    let body = html! {
        div.head { h1 { "Charts" } }
        (filters(&ctx, &query, tallies.over))
        @if tallies.series.is_empty() {
            section.card { (empty("Nothing was counted.", "Workers count what they do and hand it over every ten seconds. Minutes are kept for two hours, quarters of an hour for eight days.")) }
        } @else {
            (charts(&tallies))
            section.card { h2 { "By queue and kind" } (table(&ctx, &query, &tallies)) }
        }
    };
    Ok(Page::new("Charts", "Charts", body).answer(&ctx, &headers))
}

fn filters(ctx: &Ctx, query: &TalliesQuery, over: Over) -> Markup {
    html! {
        form.filters action=(ctx.base.to(&["charts"])) role="search" aria-label="Filters" {
            label { "The last"
                select name="over" { @for known in Over::ALL { option value=(known.word()) selected[known == over] { (known.word()) } } }
            }
            label { "Queue" input name="queue" value=(query.queue) maxlength="64" placeholder="any"; }
            label { "Kind" input name="kind" value=(query.kind) maxlength="64" placeholder="any"; }
            button type="submit" { "Show" }
            @if !query.queue.is_empty() || !query.kind.is_empty() { a.button href=(ctx.base.query(&["charts"], &[("over", &query.over)])) { "All" } }
        }
    }
}

/// The three charts of all that was counted together.
pub(super) fn charts(tallies: &Tallies) -> Markup {
    let points = tallies.together();
    html! {
        div.cols.trio {
            section.card { h2 { "Throughput" } (throughput(tallies.over, &points)) }
            section.card { h2 { "Waited to start" } (durations(tallies.over, &points, |tally| &tally.wait, "No job's wait was counted: nodes of graphs wait for their parents.")) }
            section.card { h2 { "Ran" } (durations(tallies.over, &points, |tally| &tally.run, "No attempt has ended.")) }
        }
    }
}

/// The throughput alone, for pages of other things.
pub(super) fn throughput_card(ctx: &Ctx, tallies: &Tallies) -> Markup {
    html! {
        section.card { h2 { a href=(ctx.base.to(&["charts"])) { "Throughput, the last " (tallies.over.word()) } } (throughput(tallies.over, &tallies.together())) }
    }
}

/// Successes upwards, failures downwards.
fn throughput(over: Over, points: &[(Timestamp, Tally)]) -> Markup {
    let most = points.iter().map(|(_, tally)| tally.succeeded).max().unwrap_or_default();
    let worst = points.iter().map(|(_, tally)| tally.failed).max().unwrap_or_default();
    let sum = points.iter().fold(Tally::default(), |mut sum, (_, tally)| {
        sum.merge(tally);
        sum
    });
    let scale = 100.0 / (most + worst).max(1) as f64;
    let axis = most as f64 * scale;
    let each = each(over);
    let label = format!("{} succeeded and {} failed; at most {most} and {worst} {each}", sum.succeeded, sum.failed);
    html! {
        svg.chart viewBox=(view(points)) preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (x, (_, tally)) in points.iter().enumerate() {
                @if tally.succeeded > 0 { (bar("ok", x, axis - tally.succeeded as f64 * scale, tally.succeeded as f64 * scale)) }
                @if tally.failed > 0 { (bar("bad", x, axis, tally.failed as f64 * scale)) }
            }
            line.axis x1="0" x2=(points.len()) y1=(format!("{axis:.1}")) y2=(format!("{axis:.1}")) vector-effect="non-scaling-stroke" {}
        }
        (ends(over))
        p.small { "Upwards " b { (sum.succeeded) " succeeded" } ", at most " (most) " " (each) ". Downwards " b { (sum.failed) " failed" } @if worst > 0 { ", at most " (worst) " " (each) } "." }
    }
}

/// The time within which half of them stayed, before that of 95 %.
fn durations(over: Over, points: &[(Timestamp, Tally)], of: fn(&Tally) -> &Spread, none: &str) -> Markup {
    let quantiles: Vec<_> =
        points.iter().map(|(_, tally)| of(tally).quantile(0.5).zip(of(tally).quantile(0.95))).collect();
    let mut all = Spread::default();
    points.iter().for_each(|(_, tally)| all.merge(of(tally)));
    let Some((half, most)) = all.quantile(0.5).zip(all.quantile(0.95)) else { return empty(none, "") };
    let longest = quantiles.iter().flatten().map(|(_, most)| *most).max().unwrap_or(most);
    let scale = 100.0 / longest.as_secs_f64().max(1e-6);
    let high = |duration: std::time::Duration| duration.as_secs_f64() * scale;
    let (half, most, longest) = (when::duration(half), when::duration(most), when::duration(longest));
    let label = format!("Half within {half}, 95 % within {most}; the highest bar is {longest}");
    html! {
        svg.chart viewBox=(view(points)) preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (x, pair) in quantiles.iter().enumerate() {
                @if let Some((half, most)) = pair {
                    (bar("most", x, 100.0 - high(*most), high(*most)))
                    (bar("half", x, 100.0 - high(*half), high(*half)))
                }
            }
            line.axis x1="0" x2=(points.len()) y1="100" y2="100" vector-effect="non-scaling-stroke" {}
        }
        (ends(over))
        p.small { "Solid: half within " b { (half) } ". Faint: 95 % within " b { (most) } ". The highest bar is " (longest) "." }
    }
}

fn view(points: &[(Timestamp, Tally)]) -> String {
    format!("0 0 {} 100", points.len().max(1))
}

/// A bar is never too low to be seen.
fn bar(class: &str, x: usize, y: f64, height: f64) -> Markup {
    let height = height.max(1.0);
    html! { rect class=(class) x=(format!("{:.2}", x as f64 + 0.1)) y=(format!("{:.1}", y.clamp(0.0, 99.0))) width="0.8" height=(format!("{height:.1}")) {} }
}

/// What stands below the ends of a chart.
fn ends(over: Over) -> Markup {
    html! { div.ends.dim.small { span { @if over == Over::Hour { "an " } @else { "a " } (over.word()) " ago" } span { "now" } } }
}

fn each(over: Over) -> &'static str {
    match over {
        Over::Hour => "a minute",
        Over::Day | Over::Week => "in 15 minutes",
    }
}

fn table(ctx: &Ctx, query: &TalliesQuery, tallies: &Tallies) -> Markup {
    let mut series: Vec<&Series> = tallies.series.iter().collect();
    series.sort_by_key(|series| std::cmp::Reverse(series.sum.succeeded + series.sum.failed));
    let pair = |spread: &Spread| match spread.quantile(0.5).zip(spread.quantile(0.95)) {
        Some((half, most)) => format!("{} / {}", when::duration(half), when::duration(most)),
        None => "–".to_owned(),
    };
    html! {
        div.wide { table.cards {
            thead { tr { th { "Kind" } th { "Queue" } th.num { "Succeeded" } th.num { "Failed" } th.num { "Waited, half / 95 %" } th.num { "Ran, half / 95 %" } } }
            tbody { @for series in series.iter().take(LISTED) {
                @let (queue, kind) = (series.queue.as_str(), series.kind.as_str());
                tr data-key={ (queue) " " (kind) } {
                    td.name { a href=(ctx.base.query(&["charts"], &[("over", &query.over), ("queue", queue), ("kind", kind)])) { (kind) } }
                    td data-l="queue" { a href=(ctx.base.query(&["charts"], &[("over", &query.over), ("queue", queue)])) { (queue) } }
                    td.num data-l="succeeded" { (series.sum.succeeded) }
                    td.num data-l="failed" { (series.sum.failed) @if series.sum.failed > 0 { " " span.dim { "(" (percent(&series.sum)) " %)" } } }
                    td.num data-l="waited" { (pair(&series.sum.wait)) }
                    td.num data-l="ran" { (pair(&series.sum.run)) }
                }
            } }
        } }
        @if series.len() > LISTED { p.dim.small { "The first " (LISTED) " of " (series.len()) ", the busiest first." } }
        p.dim.small { "A wait is from the enqueue to the first start; what was enqueued for later has waited for that, too. Nodes of graphs are left out of it. A run's time is from its enqueue to its end. Quantiles are exact to a third." }
    }
}

/// How many of a hundred attempts failed, at least 1 if any did.
fn percent(sum: &Tally) -> u64 {
    (sum.failed.saturating_mul(100) / (sum.succeeded + sum.failed).max(1)).max(1)
}
