//! Starts a run whose id may be taken.

use std::slice;

use towpath_core::JobId;
use towpath_core::store::{Arrival, Item, Placed, Refusal, Start, Taken};
use uuid::Uuid;

use crate::enqueue::{Written, enqueue_part, known_jobs};
use crate::error::Fault;
use crate::queries::Query;
use crate::rewind;
use crate::session::Session;
use crate::signal;
use crate::store::Inner;

/// Carries out one start, inside the transaction of its batch. Whoever starts the same id beside it is met as a unique
/// violation, and the verb is replayed.
pub(crate) async fn start(
    inner: &Inner,
    session: &Session,
    now: i64,
    start: &Start,
    written: &mut Written,
) -> Result<Result<Placed, Refusal>, Fault> {
    let (Ok(()), Some(run)) = (start.check(), &start.job.run) else {
        return Ok(start.check().map(|()| Placed::Inserted));
    };
    let Start { job, taken, signal, fork } = start;
    // No worker parks it, or ends it with this unread, from here on.
    signal::lock(session, &[run.as_str()]).await?;
    // One that is sent again, its signal with it, was carried out as a whole.
    let known = session.run(Query::ExistingJobs, &[&vec![job.id.as_uuid()]]).await?;
    if !known_jobs(&known)?.is_empty() {
        return enqueued(inner, session, now, start, written).await;
    }
    if let Some(row) = session.run(Query::RunStands, &[&run.as_str()]).await?.first() {
        let (key, id, has_ended, is_node): (i64, Uuid, bool, bool) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        match taken {
            Taken::ReplaceEnded if has_ended && !is_node => {
                session.run(Query::RunReplace, &[&key]).await?;
            }
            Taken::Join | Taken::ReplaceEnded if !has_ended => {
                let sent = send(session, now, signal.as_ref(), written).await?;
                return Ok(sent.map(|()| Placed::Run(JobId::from(id))));
            }
            // It says which job has the id.
            _ => return enqueued(inner, session, now, start, written).await,
        }
    }
    let of = match fork {
        Some(fork) => match rewind::hold(session, fork).await? {
            Ok(of) => Some((of, fork)),
            Err(refusal) => return Ok(Err(refusal)),
        },
        None => None,
    };
    if let Err(refusal) = send(session, now, signal.as_ref(), written).await? {
        return Ok(Err(refusal));
    }
    let placed = enqueued(inner, session, now, start, written).await?;
    if let (Some((of, fork)), Ok(Placed::Inserted)) = (of, &placed) {
        rewind::copy(session, now, of, job.id, fork).await?;
    }
    Ok(placed)
}

async fn enqueued(
    inner: &Inner,
    session: &Session,
    now: i64,
    start: &Start,
    written: &mut Written,
) -> Result<Result<Placed, Refusal>, Fault> {
    let item = Item::job(start.job.clone());
    let mut answers = enqueue_part(inner, session, now, slice::from_ref(&item), written).await?;
    answers.pop().ok_or(Fault::Again("nothing was answered"))
}

/// Sends a signal, behind the lock of its run.
async fn send(
    session: &Session,
    now: i64,
    signal: Option<&Arrival>,
    written: &mut Written,
) -> Result<Result<(), Refusal>, Fault> {
    let Some(arrival) = signal else { return Ok(Ok(())) };
    let looked = signal::look(session, slice::from_ref(arrival)).await?;
    let plan = signal::Plan::of(slice::from_ref(arrival), &looked)?;
    let (answer, woken) = plan.write_one(session, now).await?;
    if let Err(refusal) = answer {
        return Ok(Err(refusal));
    }
    written.signalled.push(arrival.run.clone());
    for (lane, seq) in woken {
        written.lanes.insert(lane);
        written.first = written.first.into_iter().chain([seq]).min();
    }
    Ok(Ok(()))
}
