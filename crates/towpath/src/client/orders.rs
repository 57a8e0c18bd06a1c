//! What is ordered of jobs, graphs and queues that are there: to stop, to change, to wait.

use std::time::Duration;

use towpath_core::store::{Change, Changed, Edit, Order, StopCounts, Wish};
use towpath_core::{
    GraphId, Incarnation, JobId, Queue, StopReason, StoreError, StoreErrorKind, abandon_job, cancel_graph, cancel_job,
    terminate_job,
};

use super::Client;
use crate::{caretaker, stops};

impl Client {
    // ---- cancel -------------------------------------------------------------------------------

    /// Cancels a job: at once if it has not started; if it runs, its handler is asked to stop. A run that has begun is asked
    /// too, and ends after its undos.
    ///
    /// # Errors
    /// The store could not do it.
    pub async fn cancel(&self, job: JobId, actor: &str, reason: &str) -> Result<Changed, StoreError> {
        let applied = self.inner.store.apply(cancel_job(job, actor, reason)).await?;
        Ok(applied.changes.into_iter().next().unwrap_or(Changed::Unknown))
    }

    /// Ends a job at once, whatever it does. What its handler does from then on counts for nothing.
    ///
    /// # Errors
    /// The store could not do it.
    pub async fn terminate(&self, job: JobId, actor: &str, reason: &str) -> Result<Changed, StoreError> {
        let applied = self.inner.store.apply(terminate_job(job, actor, reason)).await?;
        Ok(applied.changes.into_iter().next().unwrap_or(Changed::Unknown))
    }

    /// Gives up a job that runs, for one that does not stop though it was asked to; whether it was is not looked at. It ends cancelled, on record
    /// ([`Cause::Abandoned`](crate::Cause::Abandoned)), what waits for it goes on, and the undos of its graph may run. Its
    /// handler may still be at work; what it does counts for nothing. A job that does not run is cancelled.
    ///
    /// # Errors
    /// The store could not do it.
    pub async fn abandon(&self, job: JobId, actor: &str, reason: &str) -> Result<Changed, StoreError> {
        let applied = self.inner.store.apply(abandon_job(job, actor, reason)).await?;
        Ok(applied.changes.into_iter().next().unwrap_or(Changed::Unknown))
    }

    /// Cancels a graph. The stop is one write and holds from then on; the nodes that have not started are then
    /// settled in batches, and what runs is asked to stop. Answers how its nodes stood, or `None` if there is no
    /// such graph.
    ///
    /// # Errors
    /// The store could not do it. If the stop was written, it holds: call again to go on.
    pub async fn cancel_graph(
        &self,
        graph: GraphId,
        actor: &str,
        reason: &str,
    ) -> Result<Option<StopCounts>, StoreError> {
        let store = &self.inner.store;
        let applied = store.apply(cancel_graph(graph, actor, reason)).await?;
        let Some(Changed::Stopped(counts)) = applied.changes.into_iter().next() else { return Ok(None) };
        stops::settle(store, (graph, StopReason::Cancel, Duration::ZERO), (actor, reason)).await?;
        self.settle_left().await?;
        Ok(Some(counts))
    }

    // ---- edit ---------------------------------------------------------------------------------

    /// Changes the input, the priority or the time of a job that no worker has: it waits, is ready, not due yet, between two
    /// attempts, or blocked, and is then tried again. [`Changed::Left`] says that it is in another state, or a run that has
    /// begun: nothing changed. The input must be of the version with which the job was enqueued.
    ///
    /// ```
    /// # use towpath::{Client, JobId, Payload, Timestamp};
    /// # async fn f(client: Client, job: JobId) -> Result<(), Box<dyn std::error::Error>> {
    /// use towpath::core::store::Edit;
    /// let edit = Edit::default().input(Payload::json(&serde_json::json!({ "to": "ann" }))?).priority(5);
    /// client.edit(job, edit, "bob", "the address was wrong").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The edit breaks a limit, or the store could not do it; nothing was changed then.
    pub async fn edit(&self, job: JobId, edit: Edit, actor: &str, reason: &str) -> Result<Changed, StoreError> {
        self.change(Change::Edit { job, edit: Box::new(edit) }, actor, reason).await
    }

    // ---- queues -------------------------------------------------------------------------------

    /// Asks a worker, in whichever process, to claim nothing more, finish what it holds, and stay. It hears of it within a
    /// heartbeat (3 s), mostly at once. Answers whether there is such a worker.
    ///
    /// # Errors
    /// The store cannot be asked.
    pub async fn quiet_worker(&self, worker: Incarnation, actor: &str, reason: &str) -> Result<bool, StoreError> {
        self.ask_worker(worker, Wish::Quiet, actor, reason).await
    }

    /// Asks a worker to claim nothing more, hand back what it has not begun, finish what it holds up to its drain limit, and
    /// leave: as a shutdown of its process begins. Its process goes on unless it waits for its worker
    /// ([`Worker::run_until`](crate::Worker::run_until) does).
    ///
    /// # Errors
    /// The store cannot be asked.
    pub async fn drain_worker(&self, worker: Incarnation, actor: &str, reason: &str) -> Result<bool, StoreError> {
        self.ask_worker(worker, Wish::Drain, actor, reason).await
    }

    /// Asks a worker to claim again that was quiet, whoever made it so. One that drains goes on draining.
    ///
    /// # Errors
    /// The store cannot be asked.
    pub async fn resume_worker(&self, worker: Incarnation, actor: &str, reason: &str) -> Result<bool, StoreError> {
        self.ask_worker(worker, Wish::Resume, actor, reason).await
    }

    async fn ask_worker(&self, worker: Incarnation, wish: Wish, actor: &str, reason: &str) -> Result<bool, StoreError> {
        let changed = self.change(Change::Command { worker, wish }, actor, reason).await?;
        Ok(changed != Changed::Unknown)
    }

    /// Pauses a queue: from their next turn on no worker claims from it, in whichever process. What was claimed before
    /// runs on; cancels and deadlines of its jobs are decided all the same. Pausing it again changes nothing.
    ///
    /// # Errors
    /// The store could not do it.
    pub async fn pause_queue(&self, queue: &Queue, actor: &str, reason: &str) -> Result<(), StoreError> {
        self.change(Change::Pause { queue: queue.clone() }, actor, reason).await.map(|_| ())
    }

    /// Lets workers claim from a queue again, and wakes them. A queue that is not paused stays as it is.
    ///
    /// # Errors
    /// The store could not do it.
    pub async fn resume_queue(&self, queue: &Queue, actor: &str, reason: &str) -> Result<(), StoreError> {
        self.change(Change::Unpause { queue: queue.clone() }, actor, reason).await.map(|_| ())
    }

    pub(crate) async fn change(&self, change: Change, actor: &str, reason: &str) -> Result<Changed, StoreError> {
        let order = Order { actor: actor.into(), reason: reason.into(), changes: vec![change] };
        let applied = self.inner.store.apply(order).await?;
        Ok(applied.changes.into_iter().next().unwrap_or(Changed::Unknown))
    }

    // ---- care ---------------------------------------------------------------------------------

    /// Takes over from workers whose process on this host is known to be gone, and makes decisions that wait for a
    /// worker, such as how a graph ended. Workers do this all the time; it is for commands where none may be running.
    ///
    /// # Errors
    /// The store could not do it; a worker will.
    pub async fn settle_left(&self) -> Result<(), StoreError> {
        caretaker::settle_left(&self.inner.store).await
    }

    /// Counts a graph's edges again and repairs counters that are wrong. Answers how many were.
    ///
    /// # Errors
    /// The store could not do it.
    pub async fn recount(&self, graph: GraphId, actor: &str) -> Result<u32, StoreError> {
        match self.change(Change::Recount { graph }, actor, "recount").await? {
            Changed::Recounted { repaired } => Ok(repaired),
            _ => Err(StoreError::new(StoreErrorKind::Invalid, "recount", format!("there is no graph {graph}"))),
        }
    }
}
