//! `/metrics`: what Prometheus reads. Gauges of the store as it stands, counted up to a limit, so that a scrape costs the
//! same whatever the backlog; what happened is in the traces and the history, not here.

use std::collections::BTreeMap;
use std::fmt::Write;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use towpath::core::tally::{Spread, Tally};
use towpath::{Kind, Queue};

use crate::app::Ctx;
use crate::look::Workers;
use crate::problem::Problem;

/// Up to how many of a state are counted.
const COUNTED: u32 = 100_000;

pub(crate) async fn metrics(ctx: Ctx) -> Result<Response, Problem> {
    let inspect = ctx.app.client.inspect();
    let counts = inspect.counts(COUNTED).await?;
    let queues = inspect.queues(COUNTED).await?;
    let workers = Workers::look(&ctx.app.client).await?;
    let mut text = String::new();
    let by_state = [
        ("ready", counts.ready),
        ("later", counts.later),
        ("running", counts.running),
        ("blocked", counts.blocked),
        ("dead", counts.dead),
        ("quarantined", counts.quarantined),
        ("cancelled", counts.cancelled),
        ("skipped", counts.skipped),
    ];
    head(&mut text, "towpath_jobs", "Jobs by state, each counted up to 100000.");
    by_state.iter().for_each(|(state, count)| line(&mut text, "towpath_jobs", &[("state", state)], *count));
    head(&mut text, "towpath_graphs_open", "Graphs that have not ended, counted up to 100000.");
    line(&mut text, "towpath_graphs_open", &[], counts.open_graphs);
    head(&mut text, "towpath_counters_repaired", "Nodes of graphs that were miscounted and put right, ever: stays 0.");
    line(&mut text, "towpath_counters_repaired", &[], counts.repaired);
    head(&mut text, "towpath_queue_jobs", "Live jobs by queue and state.");
    for queue in &queues {
        let name = queue.queue.as_str();
        let states =
            [("ready", queue.ready), ("later", queue.later), ("running", queue.running), ("blocked", queue.blocked)];
        for (state, count) in states {
            line(&mut text, "towpath_queue_jobs", &[("queue", name), ("state", state)], count);
        }
    }
    head(&mut text, "towpath_queue_workers", "Living workers by queue with live work.");
    for queue in &queues {
        let name = queue.queue.as_str();
        line(&mut text, "towpath_queue_workers", &[("queue", name)], workers.of_queue(name) as u64);
    }
    let (living, gone): (Vec<_>, Vec<_>) = workers.lines.iter().partition(|worker| workers.lives(worker));
    head(&mut text, "towpath_workers", "Workers, by whether they live.");
    line(&mut text, "towpath_workers", &[("lives", "yes")], living.len() as u64);
    line(&mut text, "towpath_workers", &[("lives", "no")], gone.len() as u64);
    recent(&mut text, &recent::look(&ctx).await?);
    let of_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, of_type)], text).into_response())
}

/// What workers have counted over the last whole minutes, in the words of the charts.
mod recent {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use towpath::core::store::TallyQuery;
    use towpath::core::tally::{Tally, Width};
    use towpath::{Kind, Queue, Timestamp};

    use crate::app::Ctx;
    use crate::problem::Problem;

    /// Over how many minutes: as many as a scrape may be apart, and enough for a quantile.
    const MINUTES: u32 = 5;

    /// By queue and kind. The minute that is not over is left out, or every scrape would see a dip.
    pub(super) async fn look(ctx: &Ctx) -> Result<BTreeMap<(Queue, Kind), Tally>, Problem> {
        let client = &ctx.app.client;
        let now = client.store().schedules(None, 1).await?.now;
        let until = Width::Minute.start(now);
        let over: Duration = Width::Minute.length() * MINUTES;
        let from = Timestamp::from_micros(until.as_micros() - over.as_micros() as i64);
        let query = TallyQuery { width: Width::Minute, from, queue: None, kind: None };
        let mut found: BTreeMap<_, Tally> = BTreeMap::new();
        for line in client.inspect().tallies(query).await? {
            if line.at < until {
                found.entry((line.queue, line.kind)).or_default().merge(&line.tally);
            }
        }
        Ok(found)
    }
}

fn recent(text: &mut String, found: &BTreeMap<(Queue, Kind), Tally>) {
    head(text, "towpath_recent_attempts", "Attempts that ended in the last 5 whole minutes.");
    for ((queue, kind), tally) in found {
        for (outcome, count) in [("succeeded", tally.succeeded), ("failed", tally.failed)] {
            let labels = [("queue", queue.as_str()), ("kind", kind.as_str()), ("outcome", outcome)];
            line(text, "towpath_recent_attempts", &labels, count);
        }
    }
    let waited = "Seconds from enqueue to first start of what started in the last 5 whole minutes.";
    let ran = "Seconds that attempts took which ended in the last 5 whole minutes.";
    type Of = fn(&Tally) -> &Spread;
    let spreads: [(&str, &str, Of); 2] = [
        ("towpath_recent_wait_seconds", waited, |tally| &tally.wait),
        ("towpath_recent_run_seconds", ran, |tally| &tally.run),
    ];
    for (name, help, of) in spreads {
        head(text, name, help);
        for ((queue, kind), tally) in found {
            for (word, part) in [("0.5", 0.5), ("0.95", 0.95), ("0.99", 0.99)] {
                if let Some(found) = of(tally).quantile(part) {
                    let labels = [("queue", queue.as_str()), ("kind", kind.as_str()), ("quantile", word)];
                    line(text, name, &labels, found.as_secs_f64());
                }
            }
        }
    }
}

// Writing to a text cannot fail.
fn head(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(text, "{name}{labels} {value}");
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_label_holds_any_name() {
        let mut text = String::new();
        line(&mut text, "m", &[("queue", "a\"b\\c\nd")], 7);
        line(&mut text, "n", &[], 0);
        assert_eq!(text, "m{queue=\"a\\\"b\\\\c\\nd\"} 7\nn 0\n");
    }
}
