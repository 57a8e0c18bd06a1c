//! What a worker is set up with.

use std::sync::Arc;
use std::time::Duration;

use super::share::Choice;
use crate::defaults;
use crate::id::{Fence, Incarnation};
use crate::name::Queue;
use crate::store::{Beat, Intent, Served, WorkerIdentity};

/// A queue that a worker serves.
#[derive(Clone, Debug)]
pub struct QueueSlots {
    /// Its name.
    pub queue: Queue,
    /// Jobs of it that run at once.
    pub slots: u16,
    /// The kinds served.
    pub serves: Arc<[Served]>,
}

impl QueueSlots {
    /// A queue with so many slots and the kinds that are served of it.
    pub fn new(queue: Queue, slots: u16, serves: Arc<[Served]>) -> Self {
        Self { queue, slots, serves }
    }
}

/// What a worker is set up with. The defaults are those of the table of defaults.
#[derive(Clone, Debug)]
pub struct DispatchConfig {
    /// Its life: sixteen random bytes.
    pub worker: Incarnation,
    /// Who it is.
    pub identity: WorkerIdentity,
    /// What it serves.
    pub queues: Vec<QueueSlots>,
    /// Jobs that run at once of all queues together; `None` for as many as the queues have slots.
    pub slots_max: Option<u16>,
    /// How much of those slots each queue gets while others have work too, by its place in `queues`; at least 1. Empty:
    /// the first queue that has work comes first.
    pub weights: Vec<u16>,
    /// How long its claims hold.
    pub lease: Duration,
    /// How often it renews them.
    pub heartbeat: Duration,
    /// How often it looks for work when no hint comes.
    pub poll: Duration,
    /// How often it looks for jobs of the dead, and for things to prune.
    pub maintenance: Duration,
    /// How long a handler that was told to stop may take.
    pub abort_grace: Duration,
    /// How long a shutdown waits for handlers.
    pub drain_limit: Duration,
    /// Most jobs to fetch beyond the free slots.
    pub prefetch_max: u32,
    /// How long a job that was fetched ahead may wait for a slot.
    pub prefetch_unused: Duration,
    /// For how long a job goes back that may not run now, because another one on its last chance is at work.
    pub suspect_pause: Duration,
    /// How long an outcome may wait for others in a busy worker.
    pub flush: Duration,
}

impl DispatchConfig {
    /// A worker with every default.
    pub fn new(worker: Incarnation, identity: WorkerIdentity, queues: Vec<QueueSlots>) -> Self {
        Self {
            worker,
            identity,
            queues,
            slots_max: None,
            weights: Vec::new(),
            lease: defaults::LEASE,
            heartbeat: defaults::HEARTBEAT,
            poll: defaults::POLL,
            maintenance: defaults::MAINTENANCE,
            abort_grace: defaults::ABORT_GRACE,
            drain_limit: defaults::DRAIN_LIMIT,
            prefetch_max: u32::from(crate::limits::CLAIM_MAX),
            prefetch_unused: Duration::from_secs(1),
            suspect_pause: Duration::from_millis(500),
            flush: defaults::FLUSH,
        }
    }

    pub(super) fn slots(&self) -> u32 {
        let all = self.queues.iter().map(|q| u32::from(q.slots)).sum();
        self.slots_max.map_or(all, |most| all.min(u32::from(most)))
    }

    pub(super) fn choice(&self) -> Choice {
        if self.weights.is_empty() { Choice::Strict } else { Choice::Weighted(self.weights.clone()) }
    }

    pub(super) fn beat(&self, acknowledged: u64, holds: Vec<Fence>, intent: Intent) -> Beat {
        Beat { worker: self.worker, identity: self.identity.clone(), lease: self.lease, acknowledged, holds, intent }
    }

    /// A number that differs from worker to worker and from call to call, to spread them out.
    pub(super) fn jitter(&self, count: u64, around: Duration, percent: u32) -> Duration {
        let (high, low) = self.worker.as_uuid().as_u64_pair();
        let mut z = (high ^ low).wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let roll = u32::try_from(z >> 40).unwrap_or(0) % (2 * percent + 1);
        around * (100 - percent + roll) / 100
    }
}
