//! One change of many jobs: those that a filter finds, in bounded batches.
//!
//! Each batch is one transaction and is recorded in it, with a line per job. A bulk that is interrupted has done whole
//! batches; doing it again goes on. Jobs that come meanwhile are left out: the list is walked from the newest back.

use towpath_core::store::{Change, Changed, Edit, JobFilter, JobLine, Order, Page};
use towpath_core::{End, JobId, State, StoreError, StoreErrorKind, cancel_job, limits};

use crate::client::Client;
use crate::error::RetryError;

/// What is done to each job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BulkChange {
    /// It is cancelled: at once if it has not started, else it is asked to stop.
    Cancel,
    /// Its input, priority or time is changed, as long as no worker has it.
    Edit(Edit),
    /// It is put back, if it ended badly or is blocked. A run that has begun goes on where it failed
    /// ([`Client::retry_run`]), after the batch and by itself.
    Requeue,
}

/// What came of a bulk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkDone {
    /// Jobs that the filter found in a state to which the change applies.
    pub matched: u64,
    /// Of those, jobs that were changed, or asked to stop.
    pub changed: u64,
    /// The others: they moved on meanwhile, or are not to be changed, such as nodes that wait, or runs that can only begin
    /// something once more which may be begun once.
    pub left: u64,
}

/// Jobs that a filter finds.
#[derive(Debug)]
#[must_use = "a bulk does nothing until it is counted or applied"]
pub struct Bulk<'c> {
    client: &'c Client,
    filter: JobFilter,
}

impl Client {
    /// Many jobs at once: those that the filter finds, which must say something.
    ///
    /// ```
    /// # async fn f(client: towpath::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use towpath::inspect::JobFilter;
    /// use towpath::{BulkChange, Kind};
    /// let bulk = client.bulk(JobFilter { kind: Some(Kind::new("send-mail")?), ..JobFilter::default() });
    /// if bulk.count(&BulkChange::Cancel).await? < 1_000 {
    ///     bulk.apply(&BulkChange::Cancel, "ann", "the campaign is over").await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn bulk(&self, filter: JobFilter) -> Bulk<'_> {
        Bulk { client: self, filter }
    }
}

impl Bulk<'_> {
    /// How many jobs the change would be tried on. Changes nothing.
    ///
    /// # Errors
    /// As [`Bulk::apply`].
    pub async fn count(&self, change: &BulkChange) -> Result<u64, StoreError> {
        let mut count = 0;
        for state in self.states(change)? {
            let mut page = Page { after: None, limit: limits::PAGE_MAX };
            loop {
                let lines = self.page(state, page).await?;
                count += lines.len() as u64;
                match lines.last() {
                    Some(last) if lines.len() >= page.limit as usize => page.after = Some(last.key),
                    _ => break,
                }
            }
        }
        Ok(count)
    }

    /// Does it, in batches of at most 500 jobs.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] for a filter that says nothing, a state to which the change does not apply, or an edit that
    /// breaks a limit; nothing was done then. Otherwise the store could not go on: what the audit says is done.
    ///
    /// # Cancel safety
    /// Dropped, whole batches are done; do it again for the rest.
    pub async fn apply(&self, change: &BulkChange, actor: &str, reason: &str) -> Result<BulkDone, StoreError> {
        let mut done = BulkDone::default();
        for state in self.states(change)? {
            let mut page = Page { after: None, limit: batch(change) };
            loop {
                let lines = self.page(state, page).await?;
                let Some(last) = lines.last() else { break };
                page.after = Some(last.key);
                let changes = lines.iter().flat_map(|line| match change {
                    BulkChange::Cancel => cancel_job(line.id, actor, reason).changes,
                    BulkChange::Edit(edit) => vec![Change::Edit { job: line.id, edit: Box::new(edit.clone()) }],
                    BulkChange::Requeue => vec![Change::Requeue { job: line.id, from: ends(state), input: None }],
                });
                let order = Order { actor: actor.into(), reason: reason.into(), changes: changes.collect() };
                let applied = self.client.store().apply(order).await?;
                done.matched += lines.len() as u64;
                let is_changed = |changed: &&Changed| {
                    matches!(changed, Changed::Ended | Changed::Asked | Changed::Edited | Changed::Requeued)
                };
                let mut changed = applied.changes.iter().filter(is_changed).count() as u64;
                for (line, _) in
                    lines.iter().zip(&applied.changes).filter(|(_, changed)| **changed == Changed::HasBegun)
                {
                    changed += u64::from(self.retry_run(line.id, actor, reason).await?);
                }
                done.changed += changed;
                done.left += lines.len() as u64 - changed;
            }
        }
        Ok(done)
    }

    /// Lets a run go on that has begun, where it failed; whether it does.
    async fn retry_run(&self, job: JobId, actor: &str, reason: &str) -> Result<bool, StoreError> {
        match self.client.requeue(job).by(actor, reason).await {
            Ok(()) => Ok(true),
            Err(RetryError::Store(error)) => Err(error),
            // Why it does not, a retry of it alone says.
            Err(_) => Ok(false),
        }
    }

    async fn page(&self, state: State, page: Page) -> Result<Vec<JobLine>, StoreError> {
        let filter = JobFilter { state: Some(state), ..self.filter.clone() };
        self.client.inspect().jobs(filter, page).await
    }

    /// The states that are looked through: of the filter, or all to which the change applies.
    fn states(&self, change: &BulkChange) -> Result<Vec<State>, StoreError> {
        let invalid = |problem: String| Err(StoreError::new(StoreErrorKind::Invalid, "change many jobs", problem));
        if self.filter == JobFilter::default() {
            return invalid("the filter says nothing: name a state, a queue, a kind or a graph".into());
        }
        let (of_itself, asked_for): (&[State], &[State]) = match change {
            BulkChange::Cancel => (&[State::Ready, State::Blocked, State::Running], &[]),
            BulkChange::Edit(_) => (&[State::Waiting, State::Ready, State::Blocked], &[]),
            // What somebody has cancelled comes back only if it is named.
            BulkChange::Requeue => (
                &[State::Blocked, State::Ended(End::Dead), State::Ended(End::Quarantined)],
                &[State::Ended(End::Cancelled)],
            ),
        };
        let apply: Vec<State> = of_itself.iter().chain(asked_for).copied().collect();
        match self.filter.state {
            Some(state) if apply.contains(&state) => Ok(vec![state]),
            Some(state) => {
                let states: Vec<String> = apply.iter().map(State::to_string).collect();
                invalid(format!("it does not apply to jobs that are {state}, but to {}", states.join(", ")))
            }
            None => Ok(of_itself.to_vec()),
        }
    }
}

fn ends(state: State) -> Vec<End> {
    match state {
        State::Ended(end) => vec![end],
        _ => Vec::new(),
    }
}

/// Jobs in one transaction.
fn batch(change: &BulkChange) -> u32 {
    let input = match change {
        BulkChange::Edit(edit) => edit.input.as_ref().map_or(0, |input| input.bytes.len()),
        _ => 0,
    };
    u32::try_from(limits::BATCH_BYTES_MAX / input.max(1)).unwrap_or(u32::MAX).clamp(1, 500)
}
