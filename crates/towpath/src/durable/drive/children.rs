//! Children: started once the line that says so is on disk, and asked to cancel when nobody waits for them any more.

use towpath_core::replay::{Command, Entry, Lost, Pos};
use towpath_core::store::{Child, Enqueue, Item, Refusal};
use towpath_core::{RunId, StoreErrorKind};

use super::{Driver, Step, later};
use crate::client::Client;
use crate::durable::child::ChildWork;

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
        for lost in lost {
            if !self.live.has_arrived(&lost.label) {
                cancel_child(&self.client, &self.run.id, lost.child).await?;
            }
        }
        Ok(others)
    }

    async fn enqueue_children(&mut self, starts: Vec<(Pos, ChildWork)>) -> Step<()> {
        let items: Vec<Item> = starts.iter().map(|(_, work)| work.item.clone()).collect();
        let answers = match self.client.store().enqueue(Enqueue { items }).await {
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

/// Asks a child to cancel. One that has ended, or was refused, stays as it is.
async fn cancel_child(client: &Client, run: &RunId, child: Child) -> Step<()> {
    let (actor, reason) = ("towpath", format!("the run {run} does not wait for it any more"));
    let asked = match child {
        Child::Job(job) => client.cancel(job, actor, &reason).await.map(|_| ()),
        Child::Graph(graph) => client.cancel_graph(graph, actor, &reason).await.map(|_| ()),
    };
    asked.map_err(|error| later(&error))
}

/// How many of these go into one batch: half of what is allowed, or one.
fn within_a_batch(starts: &[(Pos, ChildWork)]) -> usize {
    let mut bytes = 0;
    let fits = starts.iter().take_while(|(_, work)| {
        bytes += work.item.bytes();
        bytes <= towpath_core::limits::BATCH_BYTES_MAX / 2
    });
    fits.count().max(1)
}
