//! `towpath job`: everything about one.

use clap::Args;
use towpath::core::State;
use towpath::core::store::{
    AttemptLine, AttemptOutcome, JobDetail, JobLine, MarkLine, PauseLine, RunLine, Showing, Shown,
};

use super::{ViewArgs, find_job, follow, json, pruned};
use crate::commands::journal::{self, Open};
use crate::error::CliError;
use crate::flow::flow_of;
use crate::served::Served;
use crate::{exit, say, words};

/// Show a job with its attempts and logs
#[derive(Debug, Args)]
pub(crate) struct JobCommand {
    /// The job, or the run that it is.
    #[arg(value_name = "JOB-ID")]
    job: String,
    /// Tells of each change as it comes, until the job has ended: its state, its attempts, the lines of a run's journal. The exit
    /// code says how it ended: 0 succeeded, 1 failed, 3 cancelled. With `--json` one object a line.
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    view: ViewArgs,
}

impl JobCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.view.store.found()?;
        let client = location.open_to_read().await?;
        let found = match find_job(&client, &self.job).await? {
            Some(job) => client.inspect().job(job).await?,
            None => None,
        };
        let Some(detail) = found else {
            let help = format!("list the jobs with `towpath jobs{}`", location.option());
            let what = pruned(&client, &self.job).await?;
            let what = what.unwrap_or_else(|| format!("there is no job {} in {}", self.job, location.shown()));
            return Err(CliError::usage(what, help));
        };
        if self.follow {
            return follow::job(&client, detail.line.id, self.view.json).await;
        }
        let attempts = client.inspect().attempts(detail.line.id).await?;
        let history = match &detail.run {
            // A journal that this release cannot read is no reason to show nothing.
            Some(run) => client.history(run.id.as_str()).await.ok().flatten(),
            None => None,
        };
        let published = match &detail.run {
            Some(run) => client.store().shown(run.id.clone(), Showing::PUBLISHED.into()).await?,
            None => None,
        };
        let unread = match (&detail.run, &history, detail.line.state) {
            (_, _, State::Ended(_)) | (None, ..) | (_, None, _) => Vec::new(),
            (Some(run), Some(history), _) => {
                journal::unread(history, client.store().inbox(run.id.clone(), i64::MIN, INBOX_READ).await?)
            }
        };
        let marks = client.store().marks(detail.line.id).await?;
        let served = Served::look(&client).await?;
        let about = json::About { history: history.as_ref(), published: published.as_ref(), unread: &unread };
        if self.view.json {
            say::json(&json::job(&detail, &attempts, &marks, &about, &served))?;
        } else {
            print(&detail, &attempts, &marks, &served, &location.option());
            if let Some(run) = &detail.run {
                print_run(run, &about, detail.line.parked);
            }
        }
        Ok(exit::SUCCEEDED)
    }
}

fn print(detail: &JobDetail, attempts: &[AttemptLine], marks: &[MarkLine], served: &Served, store_option: &str) {
    let line = &detail.line;
    let field = |name: &str, value: String| say::line(format_args!("{name:<10}{value}"));
    field("job", line.id.to_string());
    field("kind", line.kind.to_string());
    field("queue", line.queue.to_string());
    if let Some(node) = &line.node {
        field("node", format!("{} of graph {}", node.name, node.graph));
    }
    if let Some(parent) = &detail.rules.parent {
        let how = if parent.awaits.is_some() { "" } else { ", detached" };
        field("parent", format!("run {}{how}", parent.run));
    }
    field("state", line.word(served.now).to_owned());
    if let Some(lack) = served.lack_of(line) {
        let (what, remedy) =
            (served.what(&line.queue, &line.kind, &lack), served.remedy(&line.queue, &line.kind, &lack));
        match flow_of(&line.queue) {
            Some(graph) => {
                field("unserved", format!("nobody runs it: carry on with `towpath resume{store_option} {graph}`"));
            }
            None => field("unserved", format!("{what}; {remedy}")),
        }
    }
    if let Some(cause) = &detail.cause {
        field("cause", cause.to_string());
    }
    if let Some(reason) = &detail.blocked {
        field("blocked", reason.clone());
    }
    if let Some(cause) = &detail.cancel {
        field("cancel", cause.to_string());
    }
    if let Some(said) = &detail.progress {
        // What an earlier attempt has said is not how far this one is.
        let of = if said.attempt == line.counters.attempt {
            String::new()
        } else {
            format!(", of attempt {}", said.attempt)
        };
        field("progress", format!("{}{of}, {}", words::short(&said.progress.to_string()), words::instant(said.at)));
    }
    if !detail.tags.is_empty() {
        field("tags", detail.tags.iter().map(|tag| words::short(tag)).collect::<Vec<_>>().join(", "));
    }
    for mark in marks {
        let value = json::payload_text(&mark.mark.value);
        field("keeps", format!("{} = {}", words::short(&mark.mark.name), words::short(&value)));
    }
    field("attempts", tries(line, attempts));
    field("enqueued", words::instant(line.enqueued_at));
    for (name, at) in
        [("due", line.due), ("deadline", detail.deadline), ("started", line.started_at), ("ended", line.ended_at)]
    {
        if let Some(at) = at {
            field(name, words::instant(at));
        }
    }
    field("input", json::payload_text(&detail.input));
    if let Some(output) = &detail.output {
        field("output", json::payload_text(output));
    }
    for attempt in attempts {
        let took = words::duration(attempt.ended_at.since(attempt.started_at));
        say::line(format_args!("\nattempt {}: {} after {took}", attempt.attempt, attempt.outcome.word()));
        if let Some(error) = &attempt.error {
            say::line(error);
        }
        if let Some(log) = &attempt.log {
            say::line(log.trim_end());
        }
    }
}

/// How often it was tried, and how many failures count against it: once it is put back, those before do no more.
fn tries(line: &JobLine, attempts: &[AttemptLine]) -> String {
    let is_failure = |attempt: &&AttemptLine| {
        matches!(attempt.outcome, AttemptOutcome::Failed | AttemptOutcome::Panicked | AttemptOutcome::TimedOut)
    };
    let (attempt, failures) = (line.counters.attempt, line.counters.failures);
    let since = if attempts.iter().filter(is_failure).count() as u64 > u64::from(failures) {
        " since it was put back"
    } else {
        ""
    };
    format!("{attempt}, {failures} failed{since}")
}

fn print_run(run: &RunLine, about: &json::About<'_>, parked: bool) {
    say::line(format_args!("\nrun {}, chapter {}", run.id, run.chapter));
    if let Some(origin) = &run.origin {
        say::line(format_args!("forked from {origin}"));
    }
    let (entries, arrived) = (run.entries as usize, run.arrived as usize);
    let entries = words::count(entries, "entry", "entries");
    say::line(format_args!("{entries} in its journal, {}", words::count(arrived, "arrival", "arrivals")));
    if let Some(PauseLine { at, actor, why }) = &run.paused {
        let why = if why.is_empty() { String::new() } else { format!(": {}", words::short(why)) };
        say::line(format_args!("paused at {} by {}{why}", words::instant(*at), words::short(actor)));
    }
    if let Some(Shown { payload, at }) = about.published {
        say::line(format_args!("published {} at {}", json::payload_text(payload), words::instant(*at)));
    }
    let Some(history) = about.history else { return };
    let open = journal::open(history);
    for Open { op, due, .. } in &open {
        let until = due.map_or_else(String::new, |due| format!(" until {}", words::instant(due)));
        say::line(format_args!("open: {op}{until}"));
    }
    for line in about.unread.iter().take(UNREAD_SHOWN) {
        let payload = json::payload_text(&line.payload);
        let (name, payload) = (&line.name, words::short(&payload));
        // A run that has parked has looked at it.
        let waits = parked && open.iter().any(|open| open.op == format!("signal {name}"));
        let why = if waits { ": it does not fit the wait, and its worker's log says why" } else { "" };
        say::line(format_args!("not taken: signal {name} of {}, {payload}{why}", words::instant(line.at)));
    }
    for entry in journal::last(history) {
        say::line(journal::in_words(entry));
    }
}

/// Arrivals that are looked through for those that were not taken.
const INBOX_READ: u32 = 1_000;
/// Those that are shown.
const UNREAD_SHOWN: usize = 10;
