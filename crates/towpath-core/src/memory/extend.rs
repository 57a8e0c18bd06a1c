//! Heartbeats: keep what a worker holds, and tell it the news.

use std::collections::BTreeSet;

use crate::id::Fence;
use crate::lifecycle::Cause;
use crate::store::{Beat, BeatReply, Intent};

use super::Transaction;
use super::tables::{Key, With, WorkerRow};

impl Transaction<'_> {
    pub(super) fn extend(&mut self, beat: Beat) -> BeatReply {
        let lost: Vec<Fence> = beat.holds.iter().filter(|fence| !self.is_held(**fence, &beat)).copied().collect();
        let known = self.tables.worker_by_incarnation.get(&beat.worker).copied();
        let (worker, listed) = match (known, beat.intent) {
            (None, Intent::Leave) => {
                return BeatReply { now: self.now, lost, cancel: Vec::new(), handed_back: 0, wish: None };
            }
            (Some(worker), Intent::Leave) => (worker, BTreeSet::new()),
            (known, Intent::Stay) => {
                let worker = known.unwrap_or_else(|| self.register(&beat));
                self.tables.lease.insert(worker, self.now + beat.lease);
                (
                    worker,
                    beat.holds.iter().filter(|fence| self.is_held(**fence, &beat)).map(|fence| fence.key).collect(),
                )
            }
        };
        let acknowledged = if beat.intent == Intent::Leave { u64::MAX } else { beat.acknowledged };
        let handed_back = self.hand_back_unlisted(worker, acknowledged, &listed);
        let cancel = self.asked_to_stop(worker, &beat);
        let stays = beat.intent == Intent::Stay;
        let wish = self.tables.worker.get(&worker).filter(|_| stays).and_then(|row| row.wish.clone());
        if beat.intent == Intent::Leave {
            self.forget(worker);
        }
        BeatReply { now: self.now, lost, cancel, handed_back, wish }
    }

    fn is_held(&self, fence: Fence, beat: &Beat) -> bool {
        fence.token.worker == beat.worker && self.tables.running_under(fence).is_some()
    }

    /// Registers a worker. What other builds could not run is tried again.
    fn register(&mut self, beat: &Beat) -> Key {
        let worker = self.tables.draw();
        let identity = beat.identity.clone();
        let row = WorkerRow {
            incarnation: beat.worker,
            turn: beat.acknowledged,
            settled: Vec::new(),
            name: identity.name,
            host: identity.host,
            queues: identity.queues,
            kinds: identity.kinds,
            registered_at: self.now,
            wish: None,
        };
        self.tables.worker.insert(worker, row);
        self.tables.worker_by_incarnation.insert(beat.worker, worker);
        let blocked = self.tables.blocked.iter().filter(|(_, row)| row.build != identity.build);
        let blocked: Vec<Key> = blocked.map(|(job, _)| *job).collect();
        for job in blocked {
            if let Some(counters) = self.take_idle(job) {
                self.make_ready(job, counters);
            }
        }
        worker
    }

    fn hand_back_unlisted(&mut self, worker: Key, acknowledged: u64, listed: &BTreeSet<Key>) -> u32 {
        let all = (worker, 0, 0)..=(worker, acknowledged, u16::MAX);
        let held = self.tables.running_by_turn.range(all).map(|(_, job)| *job);
        let unlisted: Vec<Key> = held.filter(|job| !listed.contains(job)).collect();
        let ended: Vec<Key> = unlisted.iter().copied().filter(|job| self.hand_back(*job)).collect();
        self.release_to_nobody(&ended);
        unlisted.len() as u32
    }

    /// What a worker holds with a handler and should stop, by turn and index.
    fn asked_to_stop(&self, worker: Key, beat: &Beat) -> Vec<(Fence, Cause)> {
        let held = self.tables.held_by(worker).into_iter();
        held.filter_map(|job| {
            let row = self.tables.running.get(&job).filter(|row| row.with == With::Handler)?;
            // A run is told by an arrival.
            if self.tables.run.contains_key(&job) {
                return None;
            }
            let cause = row.cancel.clone().or_else(|| self.tables.cancelled_by(job))?;
            Some((self.tables.fence(job, row, beat.worker), cause))
        })
        .collect()
    }
}
