//! A worker's mind: a state machine without IO. Events go in with the time, effects come out.
//!
//! It decides what to claim, when to settle, whom to cancel, when to beat and when to look after the
//! dead. It reads no clock and spawns nothing; the pump of a worker, a test or a simulator drives it.
//! Times are durations since the worker's start, on a clock that never goes back.

mod config;
mod exchange;
mod health;
mod hold;
mod message;
mod share;
#[cfg(test)]
mod tests;

pub use config::{DispatchConfig, QueueSlots};
pub use message::{CancelWhy, Command, Effect, Event, Failure, PeerNews};

use std::time::Duration;

use crate::id::{Fence, Incarnation};
use crate::outcome::{
    Report, RunCommit, postpone, settle_decision, settle_refused, settle_report, settle_rescued, settle_run,
};
use crate::store::{
    Assigned, BeatReply, Claimed, Intent, Lease, Move, RescueReply, Rescued, Settle, Settled, TurnReply, Wish, WishLine,
};
use exchange::{Exchange, Traffic};
use health::Health;
use hold::{Holding, Interruption, Running};
use share::Room;

/// Where a worker is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not registered, or no longer; then quiet, or serving.
    Joining { quiet: bool },
    /// Claims.
    Serving,
    /// Claims nothing until told to resume.
    Quiet,
    /// Lets handlers finish until this moment, then cancels them.
    Draining { until: Duration },
    /// Cancels what is left.
    Cancelling,
    /// Is about to say goodbye.
    Leaving,
    /// Has said goodbye and waits for the answer.
    SayingGoodbye,
    /// Gone.
    Gone,
}

/// The state machine of one worker.
#[derive(Debug)]
pub struct Dispatcher {
    config: DispatchConfig,
    stage: Stage,
    holding: Holding,
    traffic: Traffic,
    health: Health,
    effects: Vec<Effect>,
    /// When a worker that shuts down stops waiting for anything.
    leave_by: Duration,
    /// What an operator has asked for, as it was seen last.
    wish: Option<WishLine>,
}

impl Dispatcher {
    /// A worker that has not spoken to its store yet. Its first effect is the beat that registers it.
    pub fn new(config: DispatchConfig) -> Self {
        let holding = Holding::new(&config);
        let traffic = Traffic::new(&config);
        let health = Health::new(&config);
        Self {
            config,
            stage: Stage::Joining { quiet: false },
            holding,
            traffic,
            health,
            effects: Vec::new(),
            leave_by: Duration::MAX,
            wish: None,
        }
    }

    /// Takes in one event. Nothing is decided until [`Dispatcher::decide`]: a pump takes in all that
    /// is there, then lets it decide once.
    pub fn take(&mut self, event: Event, now: Duration) {
        match event {
            Event::Timer => {}
            Event::Hint => self.traffic.look_at_once(),
            Event::CancelHint => self.health.beat_at_once(),
            Event::Finished { fence, report } => self.finished(fence, report, now),
            Event::Commit { fence, commit } => self.commit(fence, commit, now),
            Event::Turn(Ok(reply)) => self.turned(*reply, now),
            Event::Rescued(Ok(reply)) => self.rescued(reply, now),
            Event::Turn(Err(failure)) | Event::Rescued(Err(failure)) => self.exchange_failed(failure, now),
            Event::Beat(Ok(reply)) => self.beaten(reply, now),
            Event::Beat(Err(_)) => self.health.beat_failed(now),
            Event::Peers(news) => self.health.peers(news),
            Event::Command(command) => self.command(command, now),
        }
    }

    /// Takes in one event and decides.
    pub fn advance(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        self.take(event, now);
        self.decide(now)
    }

    /// What to do now, given all that was taken in.
    pub fn decide(&mut self, now: Duration) -> Vec<Effect> {
        self.start_waiting(now);
        self.enforce_times(now);
        self.move_on(now);
        self.keep_lease(now);
        self.exchange(now);
        std::mem::take(&mut self.effects)
    }

    /// When to call [`Dispatcher::decide`] again if nothing happens before.
    pub fn next_wake(&self) -> Duration {
        let stage = match self.stage {
            Stage::Draining { until } => until,
            _ => Duration::MAX,
        };
        let traffic = match self.stage {
            Stage::Joining { .. } | Stage::Leaving | Stage::SayingGoodbye | Stage::Gone => Duration::MAX,
            _ => self.traffic.next_wake(self.may_claim() && self.has_room()),
        };
        stage.min(traffic).min(self.health.next_wake(self.may_claim())).min(self.holding.next_wake()).min(self.leave_by)
    }

    /// Whether the worker has left its store and does nothing any more.
    pub fn is_gone(&self) -> bool {
        self.stage == Stage::Gone
    }

    /// Whether it claims nothing more, finishes what it holds, and leaves.
    pub fn is_leaving(&self) -> bool {
        !matches!(self.stage, Stage::Joining { .. } | Stage::Serving | Stage::Quiet)
    }

    /// The worker's life.
    pub fn worker(&self) -> Incarnation {
        self.config.worker
    }

    /// Looks for work this often from now on, if nothing hints at it.
    pub fn poll_every(&mut self, poll: Duration, now: Duration) {
        self.traffic.poll_every(poll, now);
    }

    /// Whether so many jobs finish between two turns that turns are worth a thread of their own.
    pub fn is_busy(&self) -> bool {
        self.traffic.is_crowded()
    }

    /// Whether a turn would leave now while other handlers may be about to say something: a pump that lets them first sends
    /// fewer and larger turns.
    pub fn may_hear_more(&self) -> bool {
        self.traffic.has_words_ready() && self.holding.running() > 1
    }

    /// How many jobs handlers have in hand.
    pub fn running(&self) -> usize {
        self.holding.running()
    }

    fn has_room(&self) -> bool {
        self.holding.room(self.traffic.prefetch()).is_any()
    }

    fn may_claim(&self) -> bool {
        self.stage == Stage::Serving
    }

    // ---- what happened ------------------------------------------------------------------------

    fn finished(&mut self, fence: Fence, report: Report, now: Duration) {
        let Some(run) = self.holding.finish(fence) else { return };
        self.traffic.finished();
        if run.interruption.as_ref().is_some_and(|i| i.why == CancelWhy::Lost) {
            self.holding.drop_held(fence);
            return;
        }
        // A run that was stopped while it wrote: what has not been sent is not written, and caused nothing.
        if run.was_committing() {
            if self.traffic.is_in_flight(fence) {
                self.holding.stopped_in_flight(fence);
            }
            self.traffic.withdraw(fence);
        }
        let report = reconcile(&run, report);
        self.traffic.settle(settle_report(&run.head, report), now);
    }

    /// A run writes while its handler goes on. One that is to park or end gives up its slot with that turn.
    fn commit(&mut self, fence: Fence, commit: RunCommit, now: Duration) {
        let leaves = commit.then.is_some();
        let Some(run) = self.holding.committing(fence, leaves) else {
            self.effects.push(Effect::Committed { fence, settled: Settled::Stale });
            return;
        };
        let settle = settle_run(&run.head, commit);
        if leaves {
            self.traffic.finished();
        } else {
            self.traffic.said();
        }
        self.traffic.settle(settle, now);
    }

    fn committed(&mut self, fence: Fence, settled: Settled, now: Duration) {
        if let Some(leaves) = self.holding.committed(fence) {
            let is_over = leaves && matches!(settled, Settled::Done | Settled::Cancelled);
            if is_over {
                self.holding.finish(fence);
                self.holding.drop_held(fence);
            } else if leaves {
                self.holding.stays(fence);
            }
            match settled {
                Settled::Stale => self.lose(fence, now),
                // It is put aside: see `refused`.
                Settled::Refused => return,
                _ => {}
            }
            self.effects.push(Effect::Committed { fence, settled });
        }
    }

    fn turned(&mut self, reply: TurnReply, now: Duration) {
        let Some(Exchange::Turn(turn)) = self.traffic.replied() else { return };
        self.health.contact(now);
        self.traffic.store_clock(reply.now, reply.next_due, now);
        let mut problems = reply.problems.into_iter();
        for (settle, settled) in turn.settle.iter().zip(&reply.settled) {
            if self.holding.is_committing(settle.fence) {
                if let (Move::Stay { counters: Some(counters) }, Settled::Done | Settled::Paused) =
                    (&settle.then, settled)
                {
                    self.holding.counts(settle.fence, *counters);
                }
                self.committed(settle.fence, *settled, now);
                if *settled != Settled::Refused {
                    continue;
                }
            }
            let goes_on = matches!(
                (&settle.then, settled),
                (Move::Stay { .. }, Settled::Done) | (_, Settled::Unread | Settled::Paused)
            );
            if self.holding.take_stopped(settle.fence) && !goes_on {
                self.traffic.withdraw(settle.fence);
            }
            match (&settle.then, settled) {
                (_, Settled::Refused) => self.refused(settle, problems.next(), now),
                // A run that goes on, or may not end yet, is still this worker's.
                (_, Settled::Unread | Settled::Paused) | (Move::Stay { .. }, Settled::Done) => {}
                (Move::Stay { .. }, Settled::Stale | Settled::Cancelled) => self.lose(settle.fence, now),
                _ => self.holding.drop_held(settle.fence),
            }
        }
        let claimed = self.accept(reply.assigned, now);
        if let Some(claim) = &turn.claim {
            self.traffic.claimed(&self.config, claim, &claimed);
        }
        if reply.lease == Lease::Over {
            self.traffic.look_at_once();
            self.health.lease_is_over();
        }
    }

    /// The database raised for an outcome: once more with hardly anything in it. If that is refused too the job stays here,
    /// in no slot, until the worker leaves: handed back it would only run again, for nothing.
    fn refused(&mut self, settle: &Settle, problem: Option<String>, now: Duration) {
        let fence = settle.fence;
        let problem = problem.unwrap_or_else(|| "the store no longer knows why".into());
        let later = self.traffic.withdraw(fence);
        if let Some(aside) = settle_refused(settle, later.as_ref(), self.holding.head(fence), &problem) {
            self.interrupt(fence, CancelWhy::Lost, now);
            self.traffic.settle(aside, now);
        }
        self.effects.push(Effect::Refused { fence, problem });
    }

    /// Answers how many jobs came of each queue.
    fn accept(&mut self, assigned: Vec<Assigned>, now: Duration) -> Vec<usize> {
        let mut claimed = vec![0; self.config.queues.len()];
        for item in assigned {
            if let Assigned::Job(job) = &item
                && let Some(count) = claimed.get_mut(self.holding.place_of(&job.head))
            {
                *count += 1;
            }
            match item {
                Assigned::Job(job) if job.run.as_ref().is_some_and(|run| run.paused) => {
                    self.holding.settling(job.head.fence);
                    self.traffic.settle(settle_report(&job.head, Report::Held), now);
                }
                Assigned::Job(job) if job.head.is_last_chance() => self.accept_suspect(job, now),
                Assigned::Job(job) => self.holding.wait(job, now),
                Assigned::Decision(undecided) => {
                    self.holding.settling(undecided.fence);
                    self.traffic.settle(settle_decision(&undecided), now);
                }
            }
        }
        claimed
    }

    /// A job whose next crash puts it aside runs beside no other such job: when the process dies, only one of them
    /// can have done it. The others go back until it is done.
    fn accept_suspect(&mut self, job: Box<Claimed>, now: Duration) {
        if self.holding.has_suspect() {
            self.holding.return_suspect(job.head.fence);
            self.traffic.settle(postpone(&job.head, self.config.suspect_pause), now);
        } else {
            self.holding.suspect(job);
        }
    }

    fn rescued(&mut self, reply: RescueReply, now: Duration) {
        let Some(Exchange::Rescue(ask)) = self.traffic.replied() else { return };
        self.health.contact(now);
        self.health.rescued(reply.rescued.len() >= usize::from(ask.limit), now);
        for item in reply.rescued {
            let settle = match &item {
                Rescued::Job(head) => settle_rescued(head, reply.now),
                Rescued::Decision(undecided) => settle_decision(undecided),
            };
            self.holding.settling(settle.fence);
            self.traffic.settle(settle, now);
        }
    }

    fn exchange_failed(&mut self, failure: Failure, now: Duration) {
        match failure {
            Failure::UnknownWorker => self.forgotten(now),
            Failure::StaleTurn => self.traffic.renumber(now),
            Failure::Other => {
                self.health.no_contact();
                self.traffic.failed(now);
            }
        }
    }

    /// The store does not know this worker: nothing that it held is its any more.
    fn forgotten(&mut self, now: Duration) {
        self.traffic.forget();
        for fence in self.holding.fences() {
            self.lose(fence, now);
        }
        if matches!(self.stage, Stage::Serving | Stage::Quiet) {
            self.stage = Stage::Joining { quiet: self.stage == Stage::Quiet };
        }
        self.health.lease_is_over();
    }

    fn beaten(&mut self, reply: BeatReply, now: Duration) {
        self.health.beaten(now);
        match self.stage {
            Stage::Joining { quiet: true } => self.stage = Stage::Quiet,
            Stage::Joining { quiet: false } => {
                self.stage = Stage::Serving;
                self.traffic.look_at_once();
            }
            Stage::SayingGoodbye => return self.go(),
            _ => {}
        }
        for fence in reply.lost {
            self.lose(fence, now);
        }
        for (fence, cause) in reply.cancel {
            self.interrupt(fence, CancelWhy::Asked(cause), now);
        }
        self.asked(reply.wish, now);
    }

    /// Does what an operator asks, once. A drain that was asked for twice goes on as it does: to hurry is this process's own to say.
    fn asked(&mut self, wish: Option<WishLine>, now: Duration) {
        let Some(line) = wish.filter(|line| self.wish.as_ref() != Some(line)) else { return };
        match line.wish {
            Wish::Quiet => self.command(Command::Quiet, now),
            Wish::Resume => self.command(Command::Resume, now),
            Wish::Drain if self.is_leaving() => {}
            Wish::Drain => self.command(Command::Shutdown, now),
        }
        self.wish = Some(line);
    }

    fn lose(&mut self, fence: Fence, now: Duration) {
        if self.holding.is_running(fence) {
            self.interrupt(fence, CancelWhy::Lost, now);
            // What it wrote and nobody has sent is withdrawn: the job may come back under another claim, and a turn settles a
            // job once.
            if self.holding.is_committing(fence) && !self.traffic.is_in_flight(fence) {
                self.traffic.withdraw(fence);
                self.committed(fence, Settled::Stale, now);
            }
        } else if !self.traffic.is_in_flight(fence) {
            self.traffic.withdraw(fence);
            self.holding.drop_held(fence);
        }
    }

    fn interrupt(&mut self, fence: Fence, why: CancelWhy, now: Duration) {
        let abort_at = now + self.config.abort_grace;
        if self.holding.interrupt(fence, Interruption { why: why.clone(), abort_at, aborted: false }) {
            self.effects.push(Effect::Cancel { fence, why });
        }
    }

    fn command(&mut self, command: Command, now: Duration) {
        match (command, self.stage) {
            (_, Stage::Leaving | Stage::SayingGoodbye | Stage::Gone) => {}
            (Command::Quiet, Stage::Serving) => self.stage = Stage::Quiet,
            (Command::Quiet, Stage::Joining { .. }) => self.stage = Stage::Joining { quiet: true },
            (Command::Resume, Stage::Joining { .. }) => self.stage = Stage::Joining { quiet: false },
            (Command::Resume, Stage::Quiet) => {
                self.stage = Stage::Serving;
                self.traffic.look_at_once();
            }
            (Command::Shutdown, Stage::Joining { .. } | Stage::Serving | Stage::Quiet) => {
                self.drain(now + self.config.drain_limit);
            }
            (Command::Shutdown, Stage::Draining { .. }) => self.drain(now),
            _ => {}
        }
    }

    /// Leaves by then, and not much later even if the store is out of reach or a handler is stuck: the lease
    /// covers what is left.
    fn drain(&mut self, until: Duration) {
        self.stage = Stage::Draining { until };
        self.leave_by = until + self.config.abort_grace * 2;
    }

    fn go(&mut self) {
        self.stage = Stage::Gone;
        self.effects.push(Effect::Gone);
    }

    // ---- what to do ---------------------------------------------------------------------------

    fn start_waiting(&mut self, now: Duration) {
        // What waits under a lease that is over may be somebody else's by now; the next beat tells.
        if !matches!(self.stage, Stage::Serving | Stage::Quiet) || !self.health.is_leased(now) {
            return;
        }
        let offset = self.traffic.offset();
        if self.holding.is_alone()
            && let Some(job) = self.holding.take_suspect()
        {
            self.holding.wait_first(job, now);
        }
        while let Some(job) = self.holding.next_to_start() {
            let fence = job.head.fence;
            if let (Some(deadline), Some(offset)) = (job.head.deadline, offset)
                && offset.instant(now) >= deadline
            {
                self.holding.settling(fence);
                self.traffic.settle(settle_report(&job.head, Report::Overdue), now);
                continue;
            }
            let timeout_at = job.head.rules.timeout().map(|t| now + t);
            let deadline_at = job.head.deadline.zip(offset).map(|(at, offset)| offset.moment(at));
            self.holding.start(&job.head, timeout_at, deadline_at);
            self.effects.push(Effect::Start(job));
        }
    }

    fn enforce_times(&mut self, now: Duration) {
        for (fence, why) in self.holding.overdue(now) {
            self.interrupt(fence, why, now);
        }
        for fence in self.holding.past_grace(now, self.config.abort_grace) {
            self.effects.push(Effect::Abort { fence });
        }
        for fence in self.holding.stuck(now) {
            self.effects.push(Effect::Stuck { fence });
        }
        for job in self.holding.unused_since(now, self.config.prefetch_unused) {
            self.hand_back(job, now);
            self.traffic.prefetch_was_unused();
        }
    }

    fn hand_back(&mut self, job: Claimed, now: Duration) {
        self.holding.settling(job.head.fence);
        self.traffic.settle(settle_report(&job.head, Report::HandedBack), now);
    }

    fn move_on(&mut self, now: Duration) {
        if matches!(self.stage, Stage::Draining { .. } | Stage::Cancelling) {
            for job in self.holding.take_waiting() {
                self.hand_back(job, now);
            }
        }
        if let Stage::Draining { until } = self.stage
            && now >= until
        {
            self.stage = Stage::Cancelling;
            for fence in self.holding.running_fences() {
                self.interrupt(fence, CancelWhy::Shutdown, now);
            }
        }
        let done = self.holding.running() == 0 && self.traffic.is_empty();
        if matches!(self.stage, Stage::Draining { .. } | Stage::Cancelling) && done {
            self.stage = Stage::Leaving;
            self.health.beat_at_once();
        }
        if now >= self.leave_by && self.stage != Stage::Gone {
            self.go();
        }
    }

    fn keep_lease(&mut self, now: Duration) {
        if self.stage == Stage::Gone {
            return;
        }
        if self.health.should_beat(now) {
            let intent = if matches!(self.stage, Stage::Leaving | Stage::SayingGoodbye) {
                self.stage = Stage::SayingGoodbye;
                Intent::Leave
            } else {
                Intent::Stay
            };
            let beat = self.config.beat(self.traffic.acknowledged(), self.holding.fences(), intent);
            self.health.beat_sent(now);
            self.effects.push(Effect::Beat(Box::new(beat)));
        }
        if self.may_claim() && self.health.should_look_for_peers(now) {
            self.effects.push(Effect::LookForPeers);
        }
        if self.may_claim() && self.health.should_prune(now) {
            self.effects.push(Effect::Prune);
        }
    }

    fn exchange(&mut self, now: Duration) {
        if matches!(self.stage, Stage::Joining { .. } | Stage::Leaving | Stage::SayingGoodbye | Stage::Gone)
            || self.traffic.is_busy(now)
        {
            return;
        }
        if let Some(again) = self.traffic.resend(now) {
            self.effects.push(again);
            return;
        }
        if self.may_claim()
            && let Some(gone) = self.health.should_rescue(now)
        {
            let effect = self.traffic.send_rescue(&self.config, gone);
            self.effects.push(effect);
            return;
        }
        let room = if self.may_claim() { self.holding.room(self.traffic.prefetch()) } else { Room::none() };
        let active = self.holding.running() > 0;
        if let Some(effect) = self.traffic.send_turn(&self.config, &room, active, now) {
            self.effects.push(effect);
        }
    }
}

/// What an attempt comes to when it was interrupted: a success stands; what else a handler says after it
/// was told to stop is its way of stopping.
fn reconcile(run: &Running, report: Report) -> Report {
    let Some(interruption) = &run.interruption else { return report };
    if let Report::Logged { report, log } = report {
        return Report::Logged { report: Box::new(reconcile(run, *report)), log };
    }
    if matches!(report, Report::Succeeded { .. }) {
        return report;
    }
    match &interruption.why {
        CancelWhy::Timeout => {
            let log = if let Report::Failed { log, .. } = report { log } else { None };
            Report::TimedOut { log }
        }
        CancelWhy::Deadline => Report::Overdue,
        CancelWhy::Shutdown => match report {
            Report::Stopped => Report::HandedBack,
            other => other,
        },
        CancelWhy::Asked(_) | CancelWhy::Lost => match report {
            Report::Failed { .. } | Report::Panicked { .. } | Report::Snoozed { .. } | Report::Stopped => {
                Report::Stopped
            }
            other => other,
        },
    }
}
