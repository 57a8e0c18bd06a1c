//! Orders to what lets work flow: schedules, queues and workers.

use towpath::Queue;

use super::{Done, checked};
use crate::app::Ctx;
use crate::options::Action;
use crate::problem::{Code, Problem};

/// What is done to a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToSchedule {
    Pause,
    Resume,
    Trigger,
    Forget,
}

impl ToSchedule {
    pub(crate) const ALL: [Self; 4] = [Self::Pause, Self::Resume, Self::Trigger, Self::Forget];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Trigger => "trigger",
            Self::Forget => "forget",
        }
    }

    pub(crate) const fn action(self) -> Action {
        match self {
            Self::Pause | Self::Resume => Action::Pause,
            Self::Trigger => Action::Trigger,
            Self::Forget => Action::Admin,
        }
    }
}

pub(crate) async fn schedule(ctx: &Ctx, name: &str, what: ToSchedule, reason: &str) -> Result<Done, Problem> {
    ctx.allow(what.action())?;
    let (schedules, actor, reason) = (ctx.app.client.schedules(), &ctx.user.name, checked(reason)?);
    let (is_there, outcome, message) = match what {
        ToSchedule::Pause => {
            (schedules.pause(name, actor, reason).await?, "paused", "it mints nothing until it is resumed".to_owned())
        }
        ToSchedule::Resume => {
            let message = "it mints again; what was due meanwhile is skipped".to_owned();
            (schedules.resume(name, actor, reason).await?, "resumed", message)
        }
        ToSchedule::Trigger => {
            let job = schedules.trigger(name, actor, reason).await?;
            let message = job.map(|job| format!("job {job} is enqueued")).unwrap_or_default();
            (job.is_some(), "triggered", message)
        }
        ToSchedule::Forget => {
            (schedules.forget(name, actor, reason).await?, "forgotten", "it is deleted; its jobs stay".to_owned())
        }
    };
    if !is_there {
        return Err(Problem::new(Code::NotFound, format!("there is no schedule {name}")).help("they are in the list"));
    }
    Ok(Done { id: name.to_owned(), outcome, message })
}

pub(crate) async fn pause_queue(ctx: &Ctx, queue: &str, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Pause)?;
    let queue = named(queue)?;
    ctx.app.client.pause_queue(&queue, &ctx.user.name, checked(reason)?).await?;
    let message = "nothing is claimed from it; what runs goes on".to_owned();
    Ok(Done { id: queue.to_string(), outcome: "paused", message })
}

pub(crate) async fn resume_queue(ctx: &Ctx, queue: &str, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Pause)?;
    let queue = named(queue)?;
    ctx.app.client.resume_queue(&queue, &ctx.user.name, checked(reason)?).await?;
    Ok(Done { id: queue.to_string(), outcome: "resumed", message: "workers claim from it again".into() })
}

/// What is asked of a worker.
pub(crate) async fn worker(ctx: &Ctx, id: &str, what: &str, reason: &str) -> Result<Done, Problem> {
    ctx.allow(Action::Workers)?;
    let unknown = || Problem::new(Code::NotFound, format!("there is no worker {id}")).help("they are in the list");
    let workers = ctx.app.client.inspect().workers().await?;
    let worker = workers.iter().find(|line| line.worker.to_string() == id).ok_or_else(unknown)?.worker;
    let (client, actor, reason) = (&ctx.app.client, &ctx.user.name, checked(reason)?);
    let (is_there, outcome, message) = match what {
        "quiet" => (client.quiet_worker(worker, actor, reason).await?, "asked", "it claims nothing more, and stays"),
        "drain" => {
            (client.drain_worker(worker, actor, reason).await?, "asked", "it finishes what it holds, and leaves")
        }
        "resume" => (client.resume_worker(worker, actor, reason).await?, "asked", "it claims again, unless it drains"),
        other => return Err(Problem::new(Code::NotFound, format!("nobody can ask a worker to {other}"))),
    };
    if !is_there {
        return Err(unknown());
    }
    Ok(Done { id: id.to_owned(), outcome, message: message.to_owned() })
}

fn named(queue: &str) -> Result<Queue, Problem> {
    Queue::new(queue).map_err(|e| Problem::invalid(format!("queue: {e}")))
}
