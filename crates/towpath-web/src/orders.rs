//! What people do: each an order to the store in the name of who asks. The API and the pages come here.

pub(crate) mod edit;
pub(crate) mod graph;
pub(crate) mod many;
pub(crate) mod steer;

use std::future::IntoFuture;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use towpath::core::store::{Arrival, Delivery};
use towpath::core::{Label, RunId};
use towpath::{Changed, Error, ForkError, GraphId, JobId, Payload, Refusal, RetryError, UpdateError};

use crate::app::Ctx;
use crate::look;
use crate::options::{Action, Part};
use crate::problem::{Code, Problem};
use crate::shape::{Answered, Shown};

/// Longest reason that is recorded, in bytes.
const REASON_BYTES_MAX: usize = 2_000;

/// What became of an order.
#[derive(Debug, Serialize)]
pub(crate) struct Done {
    /// What it was about.
    pub(crate) id: String,
    /// What came of it, in a word: `ended`, `asked`, `unchanged`, `stopped`, `delivered`, `duplicate`.
    pub(crate) outcome: &'static str,
    /// The same for people.
    pub(crate) message: String,
}

pub(crate) async fn cancel_job(ctx: &Ctx, id: JobId, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Cancel)?;
    let reason = checked(reason)?;
    let changed = ctx.app.client.cancel(id, &ctx.user.name, reason).await?;
    changed_job(id, changed, "cancelled")
}

pub(crate) async fn terminate_job(ctx: &Ctx, id: JobId, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Terminate)?;
    let reason = checked(reason)?;
    let changed = ctx.app.client.terminate(id, &ctx.user.name, reason).await?;
    changed_job(id, changed, "terminated")
}

/// How a job is put back.
#[derive(Default)]
pub(crate) struct Requeued<'a> {
    pub(crate) reason: &'a str,
    /// What it is given from now on.
    pub(crate) input: Option<&'a RawValue>,
    pub(crate) even_succeeded: bool,
}

pub(crate) async fn requeue_job(ctx: &Ctx, id: JobId, asked: Requeued<'_>) -> Result<Done, Problem> {
    ctx.allow(Action::Retry)?;
    let reason = checked(asked.reason)?;
    let mut requeue = ctx.app.client.requeue(id).by(&ctx.user.name, reason);
    if let Some(input) = asked.input {
        // Whoever gives work another input edits it.
        ctx.allow(Action::Edit)?;
        requeue = requeue.payload(Payload::json_bytes(input.get().as_bytes().to_vec()));
    }
    if asked.even_succeeded {
        requeue = requeue.even_succeeded();
    }
    match requeue.await {
        Ok(()) => Ok(Done { id: id.to_string(), outcome: "requeued", message: "it is ready again".into() }),
        Err(RetryError::UnknownJob { id }) => Err(Problem::not_found("job", &id.to_string())),
        Err(RetryError::Store(error)) => Err(error.into()),
        Err(other) => Err(Problem::new(Code::Conflict, other.to_string())),
    }
}

fn changed_job(id: JobId, changed: Changed, ended: &str) -> Result<Done, Problem> {
    let id = id.to_string();
    let (outcome, message) = match changed {
        Changed::Unknown => return Err(Problem::not_found("job", &id)),
        Changed::Ended => ("ended", ended.to_owned()),
        Changed::Asked => ("asked", "it was asked to stop, and ends when it has".to_owned()),
        Changed::Left(towpath::JobState::Ended(end)) => ("unchanged", format!("it had ended already: {end}")),
        Changed::Left(state) => {
            let message = format!("it is {state}: cancel its graph, or wait until it is ready");
            return Err(Problem::new(Code::Conflict, message));
        }
        other => ("unchanged", other.to_string()),
    };
    Ok(Done { id, outcome, message })
}

pub(crate) async fn cancel_graph(ctx: &Ctx, id: GraphId, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Cancel)?;
    let reason = checked(reason)?;
    let client = &ctx.app.client;
    let unknown = || Problem::not_found("graph", &id.to_string());
    let before = client.inspect().graph_line(id).await?.ok_or_else(unknown)?;
    if before.end.is_some() {
        return Ok(Done { id: id.to_string(), outcome: "unchanged", message: "it had ended already".into() });
    }
    let counts = client.cancel_graph(id, &ctx.user.name, reason).await?.ok_or_else(unknown)?;
    let message = match counts.running {
        0 => "cancelled".to_owned(),
        1 => "cancelled; one job runs, and was asked to stop".to_owned(),
        running => format!("cancelled; {running} jobs run, and were asked to stop"),
    };
    Ok(Done { id: id.to_string(), outcome: "stopped", message })
}

pub(crate) async fn pause_run(ctx: &Ctx, run: &RunId, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Pause)?;
    let changed = ctx.app.client.pause_run(run.as_str(), &ctx.user.name, checked(reason)?).await?;
    held_back(run, changed, ("paused", "it is paused: what has begun is brought to an end"))
}

pub(crate) async fn resume_run(ctx: &Ctx, run: &RunId, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Pause)?;
    let changed = ctx.app.client.resume_run(run.as_str(), &ctx.user.name, checked(reason)?).await?;
    held_back(run, changed, ("resumed", "it goes on"))
}

/// From where a run goes on.
pub(crate) enum GoOn {
    /// Where it failed.
    Failed,
    /// From an operation on.
    At(u32),
    /// From its beginning.
    Beginning,
}

pub(crate) async fn retry_run(
    ctx: &Ctx,
    run: &RunId,
    reason: &str,
    from: GoOn,
    even_succeeded: bool,
) -> Result<Done, Problem> {
    ctx.allow(Action::Retry)?;
    let retry = ctx.app.client.retry_run(run.as_str()).by(&ctx.user.name, checked(reason)?);
    let retry = match from {
        GoOn::Failed => retry,
        GoOn::At(at) => retry.at(at),
        GoOn::Beginning => retry.from_beginning(),
    };
    let retry = if even_succeeded { retry.even_succeeded() } else { retry };
    match retry.await {
        Ok(()) => Ok(Done { id: run.to_string(), outcome: "requeued", message: "it goes on".into() }),
        Err(RetryError::UnknownRun { run }) => Err(Problem::not_found("run", &run)),
        Err(RetryError::Store(error)) => Err(error.into()),
        Err(other) => Err(Problem::new(Code::Conflict, other.to_string())),
    }
}

pub(crate) async fn fork_run(ctx: &Ctx, run: &RunId, at: u32, id: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Retry)?;
    match ctx.app.client.fork::<Value, Value>(run.as_str(), at, id).await {
        Ok(fork) => {
            let message = format!("forked from run {run} at operation {at}");
            Ok(Done { id: fork.id().to_string(), outcome: "started", message })
        }
        Err(ForkError::UnknownRun { run }) => Err(Problem::not_found("run", &run)),
        Err(ForkError::Start(Error::Refused(taken @ (Refusal::RunTaken { .. } | Refusal::JournalGone { .. })))) => {
            Err(Problem::new(Code::Conflict, taken.to_string()))
        }
        Err(ForkError::Start(error)) => Err(error.into()),
        Err(other) => Err(Problem::new(Code::Conflict, other.to_string())),
    }
}

fn held_back(run: &RunId, changed: Changed, (outcome, message): (&'static str, &str)) -> Result<Done, Problem> {
    let (outcome, message) = match changed {
        Changed::Unknown => return Err(Problem::not_found("run", run.as_str())),
        Changed::Left(state) => ("unchanged", format!("it had ended already: {state}")),
        _ => (outcome, message.to_owned()),
    };
    Ok(Done { id: run.to_string(), outcome, message })
}

/// A signal to be sent.
pub(crate) struct ToSend<'a> {
    pub(crate) name: &'a str,
    pub(crate) payload: Option<&'a RawValue>,
    pub(crate) dedup: Option<&'a str>,
}

pub(crate) async fn signal(ctx: &Ctx, run: &str, signal: ToSend<'_>) -> Result<Done, Problem> {
    ctx.allow(Action::Signal)?;
    let id = RunId::new(run).map_err(|e| Problem::invalid(e.to_string()))?;
    let name = Label::new(signal.name).map_err(|e| Problem::invalid(format!("name: {e}")))?;
    let payload = match signal.payload {
        Some(raw) => Payload::json_bytes(raw.get().as_bytes().to_vec()),
        None => Payload::json_bytes(&b"null"[..]),
    };
    let arrival = Arrival::new(id, name, payload);
    let arrival = match signal.dedup {
        Some(key) => arrival.dedup(key),
        None => arrival,
    };
    arrival.check()?;
    let answer = ctx.app.client.store().signal(vec![arrival]).await?.items.into_iter().next();
    let (outcome, message) = match answer {
        Some(Ok(Delivery::Delivered)) => ("delivered", format!("{} is in its inbox", signal.name)),
        Some(Ok(Delivery::Kept)) => ("kept", format!("no run has this id yet; {} is kept for it", signal.name)),
        Some(Ok(Delivery::Duplicate)) | None => ("duplicate", "it had been sent already, with this key".to_owned()),
        Some(Ok(Delivery::Ended)) => ("ended", "the run has ended, and nothing was sent".to_owned()),
        Some(Err(refusal)) => return Err(refusal.into()),
    };
    Ok(Done { id: run.to_owned(), outcome, message })
}

/// An update to be sent.
pub(crate) struct ToAsk<'a> {
    pub(crate) name: &'a str,
    pub(crate) payload: Option<&'a RawValue>,
    pub(crate) id: Option<&'a str>,
    pub(crate) timeout_ms: Option<u64>,
}

/// How long an answer is waited for if nothing is said, and at most: proxies cut requests that take longer.
const ANSWER_WITHIN: (u64, u64) = (10_000, 60_000);

pub(crate) async fn update(ctx: &Ctx, run: &str, ask: ToAsk<'_>) -> Result<Answered, Problem> {
    ctx.allow(Action::Signal)?;
    let (default, most) = ANSWER_WITHIN;
    let within = ask.timeout_ms.unwrap_or(default);
    if within > most {
        return Err(Problem::invalid(format!("timeout_ms: at most {most}; ask again with the same id for longer")));
    }
    let client = &ctx.app.client;
    let detail = look::run(client, run).await?;
    let Some(id) = detail.run.map(|run| run.id) else { return Err(Problem::not_found("run", run)) };
    let update = client.update_named::<_, Box<RawValue>>(id.as_str(), ask.name, ask.payload.unwrap_or(RawValue::NULL));
    let update = ask.id.into_iter().fold(update, |update, id| update.id(id));
    let Ok(answered) = tokio::time::timeout(Duration::from_millis(within), update.into_future()).await else {
        let problem = Problem::new(Code::Unavailable, format!("run {id} has not answered within {within} ms"));
        return Err(problem.help("ask again with the same id, or look at what the run waits for"));
    };
    match answered {
        Ok(answer) => {
            let answer = Shown::of_json(ctx, &detail.line.kind, Part::Published, answer.get());
            Ok(Answered { answer })
        }
        Err(UpdateError::Send(error)) => Err(error.into()),
        Err(UpdateError::Store(error)) => Err(error.into()),
        Err(UpdateError::Unknown { run }) => Err(Problem::not_found("run", &run)),
        Err(error @ UpdateError::Ended { .. }) => Err(Problem::new(Code::Conflict, error.to_string())),
        Err(error) => Err(Problem::new(Code::Internal, error.to_string())),
    }
}

/// A reason as it is recorded.
fn checked(reason: &str) -> Result<&str, Problem> {
    if reason.len() > REASON_BYTES_MAX {
        let have = reason.len();
        return Err(Problem::invalid(format!("reason: it has {have} bytes, at most {REASON_BYTES_MAX} are recorded")));
    }
    if reason.contains('\0') {
        return Err(Problem::invalid("reason: it holds a NUL character, which no store keeps"));
    }
    Ok(reason)
}
