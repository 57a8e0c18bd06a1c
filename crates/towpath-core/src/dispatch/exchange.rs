//! What goes to the store and when: outcomes, claims, and what to do when an answer is lost.
//!
//! One exchange is under way at a time. An exchange whose answer was lost is sent again with the same number, so
//! the store answers what it did the first time.

use std::time::Duration;

use super::config::DispatchConfig;
use super::message::Effect;
use super::share::Room;
use crate::id::{Fence, Incarnation};
use crate::limits;
use crate::store::{Claim, Move, QueueClaim, Rescue, Settle, Turn};
use crate::time::Timestamp;

/// Something the store was asked.
#[derive(Clone, Debug)]
pub(super) enum Exchange {
    Turn(Box<Turn>),
    Rescue(Box<Rescue>),
}

/// How the store's clock stands to the worker's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset {
    store: Timestamp,
    local: Duration,
}

impl Offset {
    /// The store's instant at a moment of the worker's.
    pub(super) fn instant(self, now: Duration) -> Timestamp {
        self.store + now.saturating_sub(self.local)
    }

    /// The worker's moment of a store's instant; at once if that is past.
    pub(super) fn moment(self, at: Timestamp) -> Duration {
        self.local.saturating_add(at.since(self.store))
    }
}

#[derive(Debug)]
pub(super) struct Traffic {
    /// Outcomes that wait for a turn.
    outbox: Vec<Settle>,
    outbox_bytes: usize,
    outbox_since: Duration,
    /// What the store was asked and has not answered.
    pending: Option<Exchange>,
    /// When to send it again; `None` while an answer is expected.
    retry_at: Option<Duration>,
    retries: u32,
    last_number: u64,
    acknowledged: u64,
    offset: Option<Offset>,
    /// When to look for work if nothing hints at it.
    look_at: Duration,
    poll: Duration,
    flush: Duration,
    /// How many jobs to fetch beyond the free slots.
    prefetch: u32,
    finished_since_turn: u32,
    finished_last_turn: u32,
    /// Outcomes and lines of runs that go on: what a turn carries.
    said_since_turn: u32,
    said_last_turn: u32,
    /// By queue: whether it gave less than it was asked for.
    empty: Vec<bool>,
}

/// From how many finished jobs a turn a worker is busy: outcomes then wait a little for company.
const BUSY: u32 = 64;

impl Traffic {
    pub(super) fn new(config: &DispatchConfig) -> Self {
        Self {
            outbox: Vec::new(),
            outbox_bytes: 0,
            outbox_since: Duration::ZERO,
            pending: None,
            retry_at: None,
            retries: 0,
            last_number: 0,
            acknowledged: 0,
            offset: None,
            look_at: Duration::ZERO,
            poll: config.poll,
            flush: config.flush,
            prefetch: config.slots().min(config.prefetch_max),
            finished_since_turn: 0,
            finished_last_turn: 0,
            said_since_turn: 0,
            said_last_turn: 0,
            empty: vec![false; config.queues.len()],
        }
    }

    // ---- what happened ------------------------------------------------------------------------

    pub(super) fn look_at_once(&mut self) {
        self.look_at = Duration::ZERO;
    }

    pub(super) fn finished(&mut self) {
        self.finished_since_turn += 1;
        self.said_since_turn += 1;
    }

    /// Looks for work this often from now on.
    pub(super) fn poll_every(&mut self, poll: Duration, now: Duration) {
        if self.poll != poll {
            self.poll = poll;
            self.look_at = self.look_at.min(now + poll);
        }
    }

    /// A run has written and goes on.
    pub(super) fn said(&mut self) {
        self.said_since_turn += 1;
    }

    pub(super) fn settle(&mut self, settle: Settle, now: Duration) {
        if self.outbox.is_empty() {
            self.outbox_since = now;
        }
        self.outbox_bytes += settle.bytes();
        self.outbox.push(settle);
    }

    /// An answer came: hands out what it answers.
    pub(super) fn replied(&mut self) -> Option<Exchange> {
        self.retry_at = None;
        self.retries = 0;
        self.acknowledged = self.last_number;
        self.pending.take()
    }

    pub(super) fn store_clock(&mut self, store: Timestamp, next_due: Option<Timestamp>, now: Duration) {
        let offset = Offset { store, local: now };
        self.offset = Some(offset);
        if let Some(due) = next_due {
            self.look_at = self.look_at.min(offset.moment(due));
        }
    }

    /// A claim is answered: what each queue gave, by its place. A full one means that there is more.
    pub(super) fn claimed(&mut self, config: &DispatchConfig, claim: &Claim, got: &[usize]) {
        let asked: usize = claim.queues.iter().map(|queue| usize::from(queue.limit)).sum();
        let asked = asked.min(usize::from(claim.most));
        let mut total = got.iter().sum::<usize>();
        // By weight a queue is asked for a share only: if another left something of its own, there may be more of this.
        let gave_all =
            |queue: &QueueClaim| place_of(config, queue).and_then(|at| got.get(at)) == Some(&usize::from(queue.limit));
        let has_more = !config.weights.is_empty() && claim.queues.iter().any(gave_all);
        if asked > 0 && (total >= asked || has_more) {
            self.look_at = Duration::ZERO;
        }
        // A queue that stood behind the last job of the claim was not asked.
        for queue in claim.queues.iter().rev() {
            let Some(at) = place_of(config, queue) else { continue };
            let given = got.get(at).copied().unwrap_or(0);
            let was_asked = total < usize::from(claim.most);
            total = total.saturating_sub(given);
            if let Some(empty) = self.empty.get_mut(at) {
                *empty = given < usize::from(queue.limit) && was_asked;
            }
        }
    }

    pub(super) fn prefetch_was_unused(&mut self) {
        self.prefetch = 0;
        self.finished_last_turn = 0;
    }

    /// No answer came: the same again, a little later. A rescue is not repeated: whether others are to be rescued is
    /// asked anew once the store is there again. What one took over without an answer goes back with a beat, since
    /// that does not list it.
    pub(super) fn failed(&mut self, now: Duration) {
        if matches!(self.pending, Some(Exchange::Rescue(_))) {
            self.pending = None;
            // Nothing will be heard of it any more. A worker that claims nothing has no other exchange that says so.
            self.acknowledged = self.last_number;
            return;
        }
        let wait = Duration::from_millis(50) * 2_u32.saturating_pow(self.retries.min(6));
        self.retries += 1;
        self.retry_at = Some(now + wait.min(Duration::from_secs(2)));
    }

    /// The number was overtaken: the same content goes out under the next one.
    pub(super) fn renumber(&mut self, now: Duration) {
        match self.pending.take() {
            Some(Exchange::Turn(turn)) => {
                for settle in turn.settle {
                    self.settle(settle, now);
                }
            }
            Some(Exchange::Rescue(_)) | None => {}
        }
        self.retry_at = None;
        self.last_number += 1_000;
    }

    /// Nothing that was to be sent counts any more.
    pub(super) fn forget(&mut self) {
        self.outbox.clear();
        self.outbox_bytes = 0;
        self.pending = None;
        self.retry_at = None;
        self.look_at = Duration::ZERO;
    }

    /// Takes back what has not been sent of a claim; answers the last of it.
    pub(super) fn withdraw(&mut self, fence: Fence) -> Option<Settle> {
        let (withdrawn, kept) = std::mem::take(&mut self.outbox).into_iter().partition(|s| s.fence == fence);
        self.outbox = kept;
        self.outbox_bytes = self.outbox.iter().map(Settle::bytes).sum();
        let withdrawn: Vec<Settle> = withdrawn;
        withdrawn.into_iter().next_back()
    }

    // ---- questions ----------------------------------------------------------------------------

    pub(super) fn offset(&self) -> Option<Offset> {
        self.offset
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn prefetch(&self) -> u32 {
        self.prefetch
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.said_last_turn >= BUSY
    }

    /// Whether there is something to say and nothing under way.
    pub(super) fn has_words_ready(&self) -> bool {
        !self.outbox.is_empty() && self.pending.is_none()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outbox.is_empty() && self.pending.is_none()
    }

    pub(super) fn is_in_flight(&self, fence: Fence) -> bool {
        match &self.pending {
            Some(Exchange::Turn(turn)) => turn.settle.iter().any(|s| s.fence == fence),
            _ => false,
        }
    }

    /// Whether an answer is expected, or a retry is not due yet.
    pub(super) fn is_busy(&self, now: Duration) -> bool {
        self.pending.is_some() && self.retry_at.is_none_or(|at| at > now)
    }

    /// When there is something to send. A worker without room does not look for work: for it, a moment to look that has
    /// passed would be a wake that never ends.
    pub(super) fn next_wake(&self, looks: bool) -> Duration {
        if self.pending.is_some() {
            return self.retry_at.unwrap_or(Duration::MAX);
        }
        let flush = if self.outbox.is_empty() { Duration::MAX } else { self.outbox_since + self.flush };
        if looks { self.look_at.min(flush) } else { flush }
    }

    // ---- what to send -------------------------------------------------------------------------

    pub(super) fn resend(&mut self, now: Duration) -> Option<Effect> {
        let Some(Exchange::Turn(turn)) = &self.pending else { return None };
        if self.retry_at.is_none_or(|at| at > now) {
            return None;
        }
        self.retry_at = None;
        Some(Effect::Turn(turn.clone()))
    }

    pub(super) fn send_rescue(&mut self, config: &DispatchConfig, gone: Vec<Incarnation>) -> Effect {
        let ask = Rescue { worker: config.worker, number: self.next_number(), gone, limit: limits::DECISIONS_MAX };
        self.pending = Some(Exchange::Rescue(Box::new(ask.clone())));
        Effect::Rescue(Box::new(ask))
    }

    /// A turn, if there is something to say or to ask. `active`: handlers are at work, so more outcomes may come.
    pub(super) fn send_turn(
        &mut self,
        config: &DispatchConfig,
        room: &Room,
        active: bool,
        now: Duration,
    ) -> Option<Effect> {
        let looks = now >= self.look_at && room.is_any();
        let flushes = self.should_flush(active, now);
        if !looks && !flushes {
            return None;
        }
        let settle = self.take_outbox();
        // A turn of runs that go on frees no slot: there is nothing to ask for that was not asked for at the last look.
        let asks = looks || settle.iter().any(|item| !matches!(item.then, Move::Stay { .. }));
        let claim = (asks && room.is_any()).then(|| self.claim(config, room));
        if claim.is_some() {
            self.look_at = now + config.jitter(self.last_number, self.poll, 20);
        }
        // What a worker finishes between two turns is what it can use at the next one; twice that keeps it fed
        // while the turn is under way.
        let finished = self.finished_since_turn;
        if finished > 0 {
            let most = u32::from(limits::CLAIM_MAX).saturating_sub(config.slots()).min(config.prefetch_max);
            self.prefetch = (2 * finished).max(self.prefetch / 2).min(most);
        }
        self.finished_last_turn = finished;
        self.finished_since_turn = 0;
        self.said_last_turn = std::mem::take(&mut self.said_since_turn);
        let turn = Turn { worker: config.worker, number: self.next_number(), settle, claim };
        self.pending = Some(Exchange::Turn(Box::new(turn.clone())));
        Some(Effect::Turn(Box::new(turn)))
    }

    /// Outcomes go out at once, except in a busy worker whose handlers will have more in a moment.
    fn should_flush(&self, active: bool, now: Duration) -> bool {
        if self.outbox.is_empty() {
            return false;
        }
        let enough = self.outbox.len() as u32 >= self.said_last_turn.min(512);
        let waited = now >= self.outbox_since + self.flush;
        !active || self.said_last_turn < BUSY || enough || waited
    }

    fn take_outbox(&mut self) -> Vec<Settle> {
        if self.outbox.len() <= limits::SETTLE_MAX && self.outbox_bytes <= limits::BATCH_BYTES_MAX / 2 {
            self.outbox_bytes = 0;
            return std::mem::take(&mut self.outbox);
        }
        let mut bytes = 0;
        let mut count = 0;
        for settle in self.outbox.iter().take(limits::SETTLE_MAX) {
            bytes += settle.bytes();
            if count > 0 && bytes > limits::BATCH_BYTES_MAX / 2 {
                break;
            }
            count += 1;
        }
        let rest = self.outbox.split_off(count);
        let taken = std::mem::replace(&mut self.outbox, rest);
        self.outbox_bytes = self.outbox.iter().map(Settle::bytes).sum();
        taken
    }

    fn claim(&self, config: &DispatchConfig, room: &Room) -> Claim {
        let mut left = limits::CLAIM_MAX;
        let mut queues = Vec::with_capacity(room.each.len());
        for (at, limit) in config.choice().shares(room, &self.empty) {
            let limit = limit.min(left);
            left -= limit;
            if let Some(queue) = config.queues.get(at).filter(|_| limit > 0) {
                queues.push(QueueClaim { queue: queue.queue.clone(), serves: queue.serves.clone(), limit });
            }
        }
        Claim { queues, most: room.all.min(limits::CLAIM_MAX), decisions_max: limits::DECISIONS_MAX }
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

fn place_of(config: &DispatchConfig, queue: &QueueClaim) -> Option<usize> {
    config.queues.iter().position(|known| known.queue == queue.queue)
}
