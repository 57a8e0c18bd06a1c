//! Group commit of enqueues: while one transaction is under way, the calls that come meanwhile are gathered into the next.
//!
//! A lone call waits for nobody. A group that fails as a whole is tried again call by call, so that nobody pays for
//! another's batch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use towpath_core::store::{Enqueue, Enqueued, Item, StoreResult};
use towpath_core::{StoreError, StoreErrorKind, limits};

use crate::store::Inner;

/// The calls that wait.
#[derive(Default)]
pub(crate) struct Combine(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Call>,
    has_leader: bool,
}

struct Call {
    items: Vec<Item>,
    bytes: usize,
    answer: oneshot::Sender<StoreResult<Enqueued>>,
}

/// Most items of a group. A single call may have more.
const GROUP_MAX: usize = 4_096;

/// Enqueues a batch, in one transaction with others. A caller that goes away changes nothing: its batch is written whole.
pub(crate) async fn enqueue(inner: Arc<Inner>, batch: Enqueue) -> StoreResult<Enqueued> {
    if let Err(refusal) = batch.check() {
        return Err(StoreError::new(StoreErrorKind::Invalid, "enqueue", refusal.to_string()));
    }
    let bytes = batch.items.iter().map(Item::bytes).sum();
    let (answer, answered) = oneshot::channel();
    let leads = {
        let mut queue = inner.combine.lock();
        queue.waiting.push_back(Call { items: batch.items, bytes, answer });
        !std::mem::replace(&mut queue.has_leader, true)
    };
    if leads {
        tokio::spawn(lead(Arc::clone(&inner)));
    }
    let lost =
        |_| StoreError::new(StoreErrorKind::Unavailable, "enqueue", "the task that wrote it was stopped: try again");
    answered.await.map_err(lost)?
}

impl Combine {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next group; with none, its leader is done.
    fn group(&self) -> Option<Vec<Call>> {
        let mut queue = self.lock();
        let (mut group, mut items, mut bytes) = (Vec::new(), 0, 0);
        while let Some(call) = queue.waiting.front() {
            items += call.items.len();
            bytes += call.bytes;
            if !group.is_empty() && (items > GROUP_MAX || bytes > limits::BATCH_BYTES_MAX) {
                break;
            }
            group.extend(queue.waiting.pop_front());
        }
        queue.has_leader = !group.is_empty();
        queue.has_leader.then_some(group)
    }
}

async fn lead(inner: Arc<Inner>) {
    while let Some(group) = inner.combine.group() {
        // In a task of its own: whatever becomes of one group, the next one is led.
        let written = tokio::spawn(write_group(Arc::clone(&inner), group)).await;
        if let Err(error) = written {
            tracing::error!(%error, "a group of enqueues was given up");
        }
        // Those who have just been answered may have more: without this the next group would be the one call that was
        // quickest, and every second commit nearly empty.
        tokio::task::yield_now().await;
    }
}

async fn write_group(inner: Arc<Inner>, group: Vec<Call>) {
    let lengths: Vec<usize> = group.iter().map(|call| call.items.len()).collect();
    let (items, answers): (Vec<_>, Vec<_>) = group.into_iter().map(|call| (call.items, call.answer)).unzip();
    let items: Arc<Vec<Item>> = Arc::new(items.into_iter().flatten().collect());
    let outcome = inner.enqueue(Arc::clone(&items)).await;
    // A caller that is gone needs no answer.
    match outcome {
        Ok(Enqueued { now, items }) => {
            let mut items = items.into_iter();
            for (answer, length) in answers.into_iter().zip(lengths) {
                let _ = answer.send(Ok(Enqueued { now, items: items.by_ref().take(length).collect() }));
            }
        }
        Err(error) => {
            let alone = lengths.len() == 1;
            let mut start = 0;
            let mut first = Some(error);
            for (answer, length) in answers.into_iter().zip(lengths) {
                let own = Arc::new(items[start..start + length].to_vec());
                start += length;
                let outcome = match first.take_if(|error| alone || error.is_transient()) {
                    Some(error) if alone => Err(error),
                    Some(error) => {
                        first = Some(StoreError::new(error.kind, error.doing, error.message.clone()));
                        Err(error)
                    }
                    None => inner.enqueue(own).await,
                };
                let _ = answer.send(outcome);
            }
        }
    }
}
