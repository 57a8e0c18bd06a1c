//! The oracles: what the store was told and answered, kept beside it, and judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use towpath_core::store::{
    Assigned, AttemptOutcome, AttemptRecord, Beat, Census, Ending, Intent, Move, Rescue, RescueReply, Rescued, Settle,
    Settled, Turn, TurnReply,
};
use towpath_core::{End, Fence, Incarnation, JobId, Payload, Timestamp};

/// What the oracles know.
#[derive(Default)]
pub(super) struct Watch {
    /// The newest claim of every job that somebody has, by its key.
    claims: BTreeMap<i64, Fence>,
    ids: BTreeMap<i64, JobId>,
    /// The last exchange of every worker that the store has carried out.
    numbers: BTreeMap<Incarnation, u64>,
    leases: BTreeMap<Incarnation, Timestamp>,
    /// When a worker was seen without a lease.
    lapses: BTreeMap<Incarnation, Timestamp>,
    /// Workers whose jobs may be taken for crashed: killed, or unable to beat.
    pub(super) excused: BTreeSet<Incarnation>,
    successes: BTreeMap<JobId, u32>,
    pub(super) failures: BTreeMap<JobId, u32>,
    pub(super) crashes: u64,
    /// What the store has taken for journals.
    pub(super) journals: BTreeMap<JobId, Vec<Payload>>,
}

type Verdict = Result<(), String>;

impl Watch {
    /// A turn that the store has answered.
    pub(super) fn turned(&mut self, turn: &Turn, reply: &TurnReply) -> Verdict {
        if self.is_new(turn.worker, turn.number) {
            for (settle, settled) in turn.settle.iter().zip(&reply.settled) {
                self.settled(settle, *settled)?;
            }
        }
        for assigned in &reply.assigned {
            let (fence, id) = match assigned {
                Assigned::Job(job) => (job.head.fence, job.head.id),
                Assigned::Decision(undecided) => (undecided.fence, undecided.id),
            };
            self.claimed(fence, id);
        }
        Ok(())
    }

    pub(super) fn settled(&mut self, settle: &Settle, settled: Settled) -> Verdict {
        let key = settle.fence.key;
        let ending = match (settled, &settle.then) {
            (Settled::Stale | Settled::Refused, _) => return Ok(()),
            (Settled::Cancelled, _) => settle.if_cancelled.as_ref(),
            (Settled::Done, Move::End(ending)) => Some(ending),
            (Settled::Done | Settled::Unread | Settled::Paused, _) => None,
        };
        let id = self.ids.get(&key).copied().ok_or_else(|| format!("nobody has claimed {key}, and it is settled"))?;
        let is_written = matches!(settled, Settled::Done | Settled::Cancelled);
        if is_written {
            self.journals.entry(id).or_default().extend(settle.journal.iter().cloned());
        }
        let stays = !is_written || settled == Settled::Done && matches!(settle.then, Move::Stay { .. });
        match if stays { self.claims.get(&key).copied() } else { self.claims.remove(&key) } {
            Some(claim) if claim == settle.fence => {}
            newest => {
                return Err(format!("{id}: an outcome under {:?} was taken, but {newest:?} has it", settle.fence));
            }
        }
        if let Some(Ending { end: End::Succeeded, .. }) = ending {
            let successes = self.successes.entry(id).or_default();
            *successes += 1;
            if *successes > 1 {
                return Err(format!("{id}: its success is recorded twice"));
            }
        }
        let record = match (&settle.then, ending) {
            (_, Some(ending)) => ending.record.as_ref(),
            (Move::Again { record, .. }, None) => record.as_ref(),
            _ => None,
        };
        if let Some(record) = record {
            *self.failures.entry(id).or_default() += u32::from(is_failure(record));
            self.crashes += u64::from(record.outcome == AttemptOutcome::Crashed);
        }
        Ok(())
    }

    /// A rescue that the store has answered; the jobs of the living must not be among them.
    pub(super) fn rescued(&mut self, ask: &Rescue, reply: &RescueReply) -> Verdict {
        let is_new = self.is_new(ask.worker, ask.number);
        let mut verdict = Ok(());
        for rescued in &reply.rescued {
            let (fence, id) = match rescued {
                Rescued::Job(head) => (head.fence, head.id),
                Rescued::Decision(undecided) => (undecided.fence, undecided.id),
            };
            let victim = self.claims.get(&fence.key).map(|claim| claim.token.worker);
            self.claimed(fence, id);
            let Some(victim) = victim.filter(|victim| is_new && *victim != ask.worker) else { continue };
            if self.lapse_of(victim, reply.now).is_none() {
                verdict = Err(format!("{id}: {victim} was rescued and lives: it holds its lease"));
            } else if !self.excused.contains(&victim) {
                verdict = Err(format!("{id}: {victim} was rescued and lives: only the store was away"));
            }
        }
        verdict
    }

    /// A beat that the store has answered: what it does not list goes back.
    pub(super) fn beaten(&mut self, beat: &Beat, now: Timestamp) {
        if let Some(lapse) = self.lapse_of(beat.worker, now) {
            self.lapses.insert(beat.worker, lapse);
        }
        self.claims.retain(|_, claim| {
            let is_seen = claim.token.turn <= beat.acknowledged;
            let goes_back = beat.intent == Intent::Leave || is_seen && !beat.holds.contains(claim);
            claim.token.worker != beat.worker || !goes_back
        });
        match beat.intent {
            Intent::Stay => self.leases.insert(beat.worker, now + beat.lease),
            Intent::Leave => self.leases.remove(&beat.worker),
        };
    }

    /// A handler begins while another has not ended: one of the two must have lost its lease.
    pub(super) fn begins(&self, id: JobId, other: Fence, other_since: Timestamp, now: Timestamp) -> Verdict {
        let lapse = self.lapse_of(other.token.worker, now);
        match lapse.max(self.lapses.get(&other.token.worker).copied()) {
            Some(lapse) if lapse >= other_since => Ok(()),
            _ => Err(format!("{id} runs under two live leases; {} has never lost its own", other.token.worker)),
        }
    }

    /// How often a job has failed.
    pub(super) fn failures_of(&self, id: JobId) -> u32 {
        self.failures.get(&id).copied().unwrap_or(0)
    }

    /// Whether its success was recorded.
    pub(super) fn has_succeeded(&self, id: JobId) -> bool {
        self.successes.contains_key(&id)
    }

    /// Some job that has succeeded.
    pub(super) fn any_success(&self) -> Option<JobId> {
        self.successes.keys().next().copied()
    }

    pub(super) fn tell_twice(&mut self, id: JobId) -> Verdict {
        let successes = self.successes.entry(id).or_default();
        *successes += 1;
        if *successes > 1 { Err(format!("{id}: its success is recorded twice")) } else { Ok(()) }
    }

    fn claimed(&mut self, fence: Fence, id: JobId) {
        self.claims.insert(fence.key, fence);
        self.ids.insert(fence.key, id);
    }

    fn is_new(&mut self, worker: Incarnation, number: u64) -> bool {
        let last = self.numbers.entry(worker).or_default();
        let is_new = number > *last;
        *last = number.max(*last);
        is_new
    }

    fn lapse_of(&self, worker: Incarnation, now: Timestamp) -> Option<Timestamp> {
        self.leases.get(&worker).is_none_or(|until| *until <= now).then_some(now)
    }
}

fn is_failure(record: &AttemptRecord) -> bool {
    let is_overdue = record.error.as_deref() == Some("its deadline passed");
    match record.outcome {
        AttemptOutcome::Failed | AttemptOutcome::Panicked => true,
        AttemptOutcome::TimedOut => !is_overdue,
        _ => false,
    }
}

/// Nothing may be left over.
pub(super) fn is_empty(census: &Census) -> Verdict {
    if *census == Census::default() { Ok(()) } else { Err(format!("rows are left over: {census:?}")) }
}

/// How long a handler may be at work in calm times, and a shutdown may take.
pub(super) const LEAVE_MAX: Duration = Duration::from_secs(90);
