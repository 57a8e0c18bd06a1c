//! `/metrics`: what Prometheus reads. Gauges of the store as it stands, counted up to a limit, so that a scrape costs the
//! same whatever the backlog; what happened is in the traces and the history, not here.

use std::fmt::Write;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::app::Ctx;
use crate::look::Workers;
use crate::problem::Problem;

/// Up to how many of a state are counted.
const COUNTED: u32 = 100_000;

pub(crate) async fn metrics(ctx: Ctx) -> Result<Response, Problem> {
    let inspect = ctx.app.client.inspect();
    let counts = inspect.counts(COUNTED).await?;
    let queues = inspect.queues().await?;
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
    let of_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, of_type)], text).into_response())
}

// Writing to a text cannot fail.
fn head(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: u64) {
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
