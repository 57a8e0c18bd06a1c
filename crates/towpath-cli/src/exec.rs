//! The jobs of this binary: commands and calls of a flow, and how they are performed.

mod capture;
mod command;
mod gate;
pub(crate) mod http;
mod output;
mod parents;
mod redact;
mod redirect;
mod text;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use towpath::core::builtin::Scope;
use towpath::core::limits;
use towpath::{Cancellation, Context, Failure, Job, JobId};

use crate::flow::find_program;
use crate::group::Groups;
use command::{Finished, How, Running};
use output::Verdict;
use redact::Redactor;
use text::Texts;

pub(crate) use gate::pass as pass_gate;
pub(crate) use http::Http;
pub(crate) use text::{Secret, Text};

/// A command to be run.
#[derive(Clone, Debug, Serialize, Deserialize, Job)]
#[job(kind = "flow.exec", output = Option<Box<RawValue>>)]
pub(crate) struct Exec {
    /// The program and its arguments.
    pub(crate) argv: Vec<Text>,
    /// The folder it is started in, from the root.
    pub(crate) dir: String,
    /// Variables added to those of the worker.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, Text>,
    /// What expressions in it see besides what is above the node.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub(crate) scope: Scope,
}

/// A command whose texts are known, and what must not be shown of it.
pub(crate) struct Ready {
    pub(crate) argv: Vec<String>,
    pub(crate) dir: String,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) redactor: Redactor,
}

impl Exec {
    async fn ready(&self, cx: &Context) -> Result<Ready, Failure> {
        let texts: Vec<&Text> = self.argv.iter().chain(self.env.values()).collect();
        let texts = Texts::resolve(cx, &texts, &self.scope).await?;
        let mut known = texts.iter();
        let argv = known.by_ref().take(self.argv.len()).collect();
        let env = self.env.keys().cloned().zip(known).collect();
        Ok(Ready { argv, dir: self.dir.clone(), env, redactor: texts.redactor })
    }
}

/// What a command does to those who watch.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// An attempt begins.
    Started { job: JobId, attempt: u32 },
    /// An attempt is over; what became of the job is in the store.
    Over {
        job: JobId,
        took: Duration,
        /// What a success keeps quiet about, or how it failed.
        note: Option<String>,
    },
}

/// Runs commands.
pub(crate) struct Runner {
    groups: Groups,
    events: mpsc::UnboundedSender<Event>,
    /// Set when whoever is told to stop must be killed without a grace.
    hurry: watch::Receiver<bool>,
}

impl Runner {
    pub(crate) fn new(groups: Groups, events: mpsc::UnboundedSender<Event>, hurry: watch::Receiver<bool>) -> Arc<Self> {
        Arc::new(Self { groups, events, hurry })
    }

    /// Performs one attempt of a command.
    pub(crate) async fn perform(self: Arc<Self>, exec: Exec, cx: Context) -> Result<Option<Box<RawValue>>, Failure> {
        self.watched(&cx, self.attempt(&exec, &cx)).await
    }

    /// Performs one attempt of a call.
    pub(crate) async fn call(self: Arc<Self>, http: Http, cx: Context) -> Result<Option<Box<RawValue>>, Failure> {
        self.watched(&cx, http.call(&cx)).await
    }

    /// Tells whoever watches what becomes of an attempt.
    async fn watched(
        &self,
        cx: &Context,
        attempt: impl Future<Output = Result<Success, Failure>>,
    ) -> Result<Option<Box<RawValue>>, Failure> {
        let (job, began) = (cx.job(), Instant::now());
        self.tell(Event::Started { job, attempt: cx.attempt() });
        let result = attempt.await;
        let (result, note) = match result {
            Ok(Success { output, note }) => (Ok(output), note),
            Err(failure) => {
                let note = failure.to_string().lines().next().map(str::to_owned);
                (Err(failure), note)
            }
        };
        self.tell(Event::Over { job, took: began.elapsed(), note });
        result
    }

    fn tell(&self, event: Event) {
        // Nobody may be watching.
        let _ = self.events.send(event);
    }

    async fn attempt(&self, exec: &Exec, cx: &Context) -> Result<Success, Failure> {
        // What an earlier attempt has left running would work against this one.
        self.groups
            .clear_job(cx.job())
            .await
            .map_err(|e| Failure::new(format!("cannot clear an earlier attempt: {e}")))?;
        let ready = exec.ready(cx).await?;
        can_start(&ready)?;
        let parents = match &exec.scope.each {
            Some(element) => format!("{}\n", element.get()).into_bytes(),
            None => parents::as_json(&cx.upstream().await?),
        };
        if let Some(why) = cx.cancellation() {
            return Err(stopped(why));
        }
        let running = Running::start(&ready, cx, &self.groups)
            .await
            .map_err(|e| Failure::new(format!("cannot start {}: {e}", ready.argv.join(" "))))?;
        let finished = running.finish(parents, cx, self.hurry.clone()).await?;
        let log = finished.log();
        if !log.is_empty() {
            cx.log(&log);
        }
        conclude(finished)
    }
}

/// A command that is done, with what is to be said of it.
struct Success {
    output: Option<Box<RawValue>>,
    note: Option<String>,
}

/// What is missing now will be missing at the next attempt.
fn can_start(exec: &Ready) -> Result<(), Failure> {
    let dir = Path::new(&exec.dir);
    if !dir.is_dir() {
        return Err(Failure::permanent(format!("its folder {} is not there", dir.display())));
    }
    let program = exec.argv.first().ok_or_else(|| Failure::permanent("it names no program"))?;
    find_program(program, dir, exec.env.get("PATH").map(String::as_str))
        .map(|_| ())
        .map_err(|why| Failure::permanent(format!("cannot start {program:?}: {why}")))
}

fn conclude(finished: Finished) -> Result<Success, Failure> {
    let status = match finished.how {
        How::Ended(status) => status,
        How::Stopped(why) => return Err(stopped(why)),
    };
    if let Some(problem) = gate::problem(status, &finished.stderr) {
        return Err(Failure::permanent(problem));
    }
    if !status.success() {
        return Err(Failure::new(finished.error(status)));
    }
    match finished.stdout.last_line().verdict() {
        Verdict::Output(output) => Ok(Success { output: Some(output), note: None }),
        Verdict::None { note } => Ok(Success { output: None, note }),
        Verdict::Refused(why) => Err(Failure::permanent(why)),
    }
}

/// A timeout is a failure; everything else that stops a command is not its fault.
fn stopped(why: Cancellation) -> Failure {
    match why {
        Cancellation::Timeout | Cancellation::Deadline => Failure::new("it took too long"),
        _ => Failure::stopped(),
    }
}

/// A text that every store can keep, not longer than `max` bytes.
fn storable(text: &str, max: usize) -> String {
    limits::cut(&text.replace('\0', "\u{2400}"), max)
}

/// How long a command that was asked to stop may take.
const STOP_GRACE: Duration = Duration::from_secs(5);
