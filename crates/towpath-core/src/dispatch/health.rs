//! Keeping the own lease, and looking after those who lost theirs.

use std::time::Duration;

use super::config::DispatchConfig;
use super::message::PeerNews;
use crate::fault::{self, Fault};
use crate::id::Incarnation;

#[derive(Debug)]
pub(super) struct Health {
    lease: Duration,
    heartbeat: Duration,
    maintenance: Duration,
    beat_at: Duration,
    beat_pending: bool,
    beat_sent_at: Duration,
    /// How long the lease surely holds: the store counts from the arrival of a beat, the worker from its departure.
    leased_until: Duration,
    beats: u64,
    jitter: u32,
    /// Since when every word to the store was answered.
    contact_since: Option<Duration>,
    look_for_peers_at: Duration,
    prune_at: Duration,
    news: PeerNews,
}

impl Health {
    pub(super) fn new(config: &DispatchConfig) -> Self {
        // Workers of one deploy start together; a spread of ten percent keeps their beats apart.
        let jitter = u32::try_from(config.jitter(1, Duration::from_micros(100), 10).as_micros()).unwrap_or(100);
        Self {
            lease: config.lease,
            heartbeat: config.heartbeat,
            maintenance: config.maintenance,
            beat_at: Duration::ZERO,
            beat_pending: false,
            beat_sent_at: Duration::ZERO,
            leased_until: Duration::ZERO,
            beats: 0,
            jitter,
            contact_since: None,
            look_for_peers_at: Duration::ZERO,
            prune_at: config.maintenance,
            news: PeerNews::default(),
        }
    }

    pub(super) fn beat_at_once(&mut self) {
        self.beat_at = Duration::ZERO;
    }

    pub(super) fn should_beat(&self, now: Duration) -> bool {
        !self.beat_pending && now >= self.beat_at
    }

    pub(super) fn beat_sent(&mut self, now: Duration) {
        self.beat_pending = true;
        self.beat_sent_at = now;
        self.beats += 1;
        let spread = if self.beats.is_multiple_of(2) { self.jitter } else { 200 - self.jitter };
        self.beat_at = now + self.heartbeat * spread / 100;
    }

    pub(super) fn beaten(&mut self, now: Duration) {
        self.beat_pending = false;
        self.leased_until = self.beat_sent_at + self.lease;
        self.contact(now);
    }

    /// Whether what this worker holds is surely its own: another one may have what it claimed under a lease that is over.
    pub(super) fn is_leased(&self, now: Duration) -> bool {
        now < self.leased_until
    }

    /// The store says that the lease is over.
    pub(super) fn lease_is_over(&mut self) {
        self.leased_until = Duration::ZERO;
        self.beat_at_once();
    }

    pub(super) fn beat_failed(&mut self, now: Duration) {
        self.beat_pending = false;
        self.beat_at = self.beat_at.min(now + self.heartbeat / 6);
        self.no_contact();
    }

    pub(super) fn contact(&mut self, now: Duration) {
        self.contact_since.get_or_insert(now);
    }

    pub(super) fn no_contact(&mut self) {
        self.contact_since = None;
    }

    pub(super) fn should_look_for_peers(&mut self, now: Duration) -> bool {
        if now < self.look_for_peers_at {
            return false;
        }
        self.look_for_peers_at = now + self.lease / 5 * self.jitter / 100;
        true
    }

    pub(super) fn should_prune(&mut self, now: Duration) -> bool {
        if now < self.prune_at {
            return false;
        }
        self.prune_at = now + self.maintenance * self.jitter / 100;
        true
    }

    pub(super) fn peers(&mut self, news: PeerNews) {
        self.news = news;
    }

    /// Whom to rescue: those known to be gone at once; those whose lease is over only after a full lease of
    /// unbroken contact, since an outage of the store is nobody's crash.
    pub(super) fn should_rescue(&mut self, now: Duration) -> Option<Vec<Incarnation>> {
        let settled = self.contact_since.is_some_and(|since| now >= since + self.lease)
            || fault::is_put_back(Fault::RescueWithoutContact);
        if !self.news.gone.is_empty() || (self.news.expired && settled) {
            self.news.expired = false;
            return Some(std::mem::take(&mut self.news.gone));
        }
        None
    }

    /// A rescue is answered; when it was full, there may be more.
    pub(super) fn rescued(&mut self, full: bool, now: Duration) {
        if full {
            self.look_for_peers_at = now;
        }
    }

    /// When there is something to do. Only a worker that claims looks after others: for one that does not, a moment to
    /// look at them that has passed would be a wake that never ends.
    pub(super) fn next_wake(&self, claims: bool) -> Duration {
        let beat = if self.beat_pending { Duration::MAX } else { self.beat_at };
        if claims { beat.min(self.look_for_peers_at).min(self.prune_at) } else { beat }
    }
}
