//! What is asked of workers; and pauses of runs: a mark on the run, at which a worker holds it, and a place where nothing wakes it.

use towpath_core::store::{Changed, Order, PauseLine, Wish, WishLine};
use towpath_core::{Incarnation, RunId, State, Timestamp};

use crate::apply::Orders;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{json, state};
use crate::session::Session;
use crate::signal;
use crate::told::Told;

impl Orders<'_> {
    /// Asks something of a worker, which is told to beat.
    pub(crate) async fn command(&mut self, worker: Incarnation, wish: Wish) -> Result<Changed, Fault> {
        let Order { actor, reason, .. } = self.order;
        let line = WishLine { wish, at: Timestamp::from_micros(self.now), actor: actor.clone(), why: reason.clone() };
        if self.session.run(Query::LeaseWish, &[&worker.as_uuid(), &json(&line)]).await?.is_empty() {
            return Ok(Changed::Unknown);
        }
        self.news.cancel = true;
        Ok(Changed::Asked)
    }

    pub(crate) async fn pause_run(&mut self, run: &RunId) -> Result<Changed, Fault> {
        let job = match self.live_run(run).await? {
            Ok(job) => job,
            Err(changed) => return Ok(changed),
        };
        let Order { actor, reason, .. } = self.order;
        let line = PauseLine { at: Timestamp::from_micros(self.now), actor: actor.clone(), why: reason.clone() };
        self.session.run(Query::RunPause, &[&job, &json(&line)]).await?;
        Ok(Changed::Paused)
    }

    pub(crate) async fn resume_run(&mut self, run: &RunId) -> Result<Changed, Fault> {
        if let Err(changed) = self.live_run(run).await? {
            return Ok(changed);
        }
        self.told.append(lift(self.session, &[run.as_str()]).await?);
        Ok(Changed::Unpaused)
    }

    /// The key of a run that has not ended, or what is to be said of it. It is not held unseen from here on.
    async fn live_run(&self, run: &RunId) -> Result<Result<i64, Changed>, Fault> {
        signal::lock(self.session, &[run.as_str()]).await?;
        let found = self.session.run(Query::RunFind, &[&vec![run.as_str()]]).await?;
        let Some(job) = found.first().map(|row| row.try_get::<_, i64>(0)).transpose()? else {
            return Ok(Err(Changed::Unknown));
        };
        let stands = self.session.run(Query::StateOf, &[&vec![job]]).await?;
        let Some(row) = stands.first() else { return Ok(Err(Changed::Unknown)) };
        Ok(match state(row.try_get(1)?)? {
            state @ State::Ended(_) => Err(Changed::Left(state)),
            _ => Ok(job),
        })
    }
}

/// Lets runs go on that are paused, behind the locks of their ids.
pub(crate) async fn lift(session: &Session, runs: &[&str]) -> Result<Told, Fault> {
    let held = session.run(Query::RunResume, &[&runs, &Timestamp::NEVER.as_micros()]).await?;
    let woken = held.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, Fault>>()?;
    Ok(Told::woken(woken))
}
