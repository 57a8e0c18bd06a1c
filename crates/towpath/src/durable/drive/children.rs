//! Children: started once the line that says so is on disk, and asked to cancel when nobody waits for them any more.

use towpath_core::replay::{Command, Entry, Lost, Pos};
use towpath_core::store::{Child, Enqueue, Refusal};
use towpath_core::{RunId, StoreErrorKind, cancel_jobs, defaults};
use tracing::Instrument;

use super::{Driver, Step, later};
use crate::client::Client;
use crate::durable::child::ChildWork;
use crate::trace;

impl Driver {
    /// Takes children out of what is to be started, and starts them; asks those to cancel that are not wanted any more.
    pub(super) async fn start_children(&mut self, commands: Vec<Command>, lost: Vec<Lost>) -> Step<Vec<Command>> {
        let (children, others): (Vec<_>, Vec<_>) =
            commands.into_iter().partition(|command| command.work.is::<ChildWork>());
        if children.is_empty() && lost.is_empty() {
            return Ok(others);
        }
        if self.must_commit {
            self.commit(None).await?;
        }
        let mut starts: Vec<(Pos, ChildWork)> = Vec::with_capacity(children.len());
        for Command { pos, work, .. } in children {
            // One that has ended already was started before a crash.
            if let Ok(work) = work.downcast::<ChildWork>()
                && !self.live.has_arrived(&work.label)
            {
                starts.push((pos, *work));
            }
        }
        while !starts.is_empty() {
            let rest = starts.split_off(within_a_batch(&starts));
            self.enqueue_children(std::mem::replace(&mut starts, rest)).await?;
        }
        let left = lost.into_iter().filter(|lost| !self.live.has_arrived(&lost.label)).map(|lost| lost.child);
        cancel_children(&self.client, &self.run.id, left.collect()).await?;
        Ok(others)
    }

    async fn enqueue_children(&mut self, starts: Vec<(Pos, ChildWork)>) -> Step<()> {
        let now = self.now();
        let (mut items, mut taken) = (Vec::with_capacity(starts.len()), Vec::with_capacity(starts.len()));
        for (pos, work) in starts {
            match self.client.within_limits(work.item.clone()) {
                Ok(item) => {
                    items.push(item);
                    taken.push((pos, work));
                }
                Err(too_much) => self.live.completed(pos, now, work.refused(too_much.to_string())),
            }
        }
        let starts = taken;
        let span = trace::enqueue(&mut items);
        let answers = match self.client.store().enqueue(Enqueue { items }).instrument(span).await {
            Ok(enqueued) => enqueued.items.into_iter().map(|item| item.map(|_| ())).collect(),
            Err(error) if error.kind == StoreErrorKind::Invalid && starts.len() == 1 => {
                vec![Err(Refusal::Invalid { problem: error.to_string() })]
            }
            Err(error) => return Err(later(&error)),
        };
        let now = self.now();
        for ((pos, work), answer) in starts.into_iter().zip(answers) {
            match answer {
                // Its ids follow from the place, so what has them is this child, started by an earlier version of the code.
                Ok(()) | Err(Refusal::JobConflict { .. } | Refusal::GraphConflict { .. }) => match work.detached {
                    Some(outcome) => self.live.completed(pos, now, outcome),
                    None => self.write(vec![Entry::Started { pos }])?,
                },
                Err(refusal) => self.live.completed(pos, now, work.refused(refusal.to_string())),
            }
        }
        Ok(())
    }
}

/// Asks children to cancel, many jobs in one transaction. Those that have ended, or were refused, stay as they are.
async fn cancel_children(client: &Client, run: &RunId, children: Vec<Child>) -> Step<()> {
    let (actor, reason) = (defaults::ACTOR, format!("the run {run} does not wait for it any more"));
    let mut jobs = Vec::new();
    for child in children {
        match child {
            Child::Job(job) => jobs.push(job),
            Child::Graph(graph) => {
                client.cancel_graph(graph, actor, &reason).await.map_err(|error| later(&error))?;
            }
        }
    }
    for batch in jobs.chunks(CANCELS_MAX) {
        let order = cancel_jobs(batch.iter().copied(), actor, &reason);
        client.store().apply(order).await.map_err(|error| later(&error))?;
    }
    Ok(())
}

/// Jobs that one transaction cancels at most: short transactions.
const CANCELS_MAX: usize = 100;

/// How many of these go into one batch: half of what is allowed, or one.
fn within_a_batch(starts: &[(Pos, ChildWork)]) -> usize {
    let mut bytes = 0;
    let fits = starts.iter().take_while(|(_, work)| {
        bytes += work.item.bytes();
        bytes <= towpath_core::limits::BATCH_BYTES_MAX / 2
    });
    fits.count().max(1)
}
