//! What a worker holds: jobs that wait for a slot, jobs in a handler, outcomes on their way.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::config::DispatchConfig;
use super::message::CancelWhy;
use super::share::{Choice, Room};
use crate::id::Fence;
use crate::store::{Claimed, Counters, Head};

/// Everything a worker holds, by its claim: a job that was lost and claimed again is held twice, while the handler of the
/// lost claim is still at work.
#[derive(Debug)]
pub(super) struct Holding {
    held: HashMap<Fence, Held>,
    queues: Vec<QueueHolding>,
    running: usize,
    /// Jobs that run at once, of all queues.
    slots_max: Option<u16>,
    choice: Choice,
    /// A job whose next crash puts it aside: held until it can run without another such job.
    suspect: Suspect,
    /// Runs that were stopped while something that they wrote was on its way: what becomes of that decides whether their
    /// stop still counts.
    stopped: Vec<Fence>,
    /// Other such jobs that are on their way back.
    returning: Vec<Fence>,
    /// The earliest time at which a running job must be looked at. May be too early, never too late.
    look_at: Duration,
}

#[derive(Debug, Default)]
enum Suspect {
    #[default]
    None,
    /// Not started.
    Held(Box<Claimed>),
    /// In a slot, or on its way there or back.
    Out(Fence),
}

#[derive(Debug)]
struct QueueHolding {
    name: crate::name::Queue,
    slots: u16,
    running: u16,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    job: Box<Claimed>,
    since: Duration,
}

#[derive(Debug)]
struct Held {
    fence: Fence,
    stage: HeldStage,
}

#[derive(Debug)]
enum HeldStage {
    Waiting,
    Running(Box<Running>),
    Settling,
}

/// A job in a handler.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) head: Head,
    queue: usize,
    timeout_at: Option<Duration>,
    deadline_at: Option<Duration>,
    pub(super) interruption: Option<Interruption>,
    stuck_at: Option<Duration>,
    commit: Commit,
}

impl Running {
    /// Whether something that it wrote is not answered.
    pub(super) fn was_committing(&self) -> bool {
        self.commit != Commit::None
    }
}

/// Where a run stands that may write while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commit {
    /// Nothing is on its way.
    None,
    /// Something is, and the run goes on after it.
    Stays,
    /// Something is, after which it is no longer here: its slot is free already.
    Leaves,
}

/// Why and since when a handler is to stop.
#[derive(Debug, Clone)]
pub(super) struct Interruption {
    pub(super) why: CancelWhy,
    pub(super) abort_at: Duration,
    pub(super) aborted: bool,
}

impl Holding {
    pub(super) fn new(config: &DispatchConfig) -> Self {
        let queues = config
            .queues
            .iter()
            .map(|q| QueueHolding { name: q.queue.clone(), slots: q.slots, running: 0, waiting: VecDeque::new() })
            .collect();
        Self {
            held: HashMap::new(),
            queues,
            running: 0,
            slots_max: config.slots_max,
            choice: config.choice(),
            suspect: Suspect::None,
            stopped: Vec::new(),
            returning: Vec::new(),
            look_at: Duration::MAX,
        }
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// In their order: the same events are to have the same effects.
    pub(super) fn fences(&self) -> Vec<Fence> {
        let mut fences: Vec<Fence> = self.held.values().map(|h| h.fence).collect();
        fences.sort_unstable();
        fences
    }

    pub(super) fn running_fences(&self) -> Vec<Fence> {
        let running = |h: &&Held| matches!(h.stage, HeldStage::Running(_));
        let mut fences: Vec<Fence> = self.held.values().filter(running).map(|h| h.fence).collect();
        fences.sort_unstable();
        fences
    }

    pub(super) fn is_running(&self, fence: Fence) -> bool {
        self.held.get(&fence).is_some_and(|h| matches!(h.stage, HeldStage::Running(_)))
    }

    /// What is known of a job in a handler.
    pub(super) fn head(&self, fence: Fence) -> Option<&Head> {
        match &self.held.get(&fence)?.stage {
            HeldStage::Running(run) => Some(&run.head),
            _ => None,
        }
    }

    /// Takes in a claimed job. A job of a queue that is not served (which no store gives) waits in the first.
    pub(super) fn wait(&mut self, job: Box<Claimed>, now: Duration) {
        let fence = job.head.fence;
        self.held.insert(fence, Held { fence, stage: HeldStage::Waiting });
        let at = self.place_of(&job.head);
        if let Some(queue) = self.queues.get_mut(at) {
            queue.waiting.push_back(Waiting { job, since: now });
            self.look_at = self.look_at.min(now + Duration::from_secs(1));
        }
    }

    pub(super) fn has_suspect(&self) -> bool {
        !matches!(self.suspect, Suspect::None)
    }

    /// Holds a job back that may run beside no other suspect.
    pub(super) fn suspect(&mut self, job: Box<Claimed>) {
        let fence = job.head.fence;
        self.held.insert(fence, Held { fence, stage: HeldStage::Waiting });
        self.suspect = Suspect::Held(job);
    }

    /// Notes that a suspect goes back, since another one is held.
    pub(super) fn return_suspect(&mut self, fence: Fence) {
        self.settling(fence);
        self.returning.push(fence);
    }

    /// Whether no suspect is held besides the one.
    pub(super) fn is_alone(&self) -> bool {
        self.returning.is_empty()
    }

    /// The suspect, if it has not started. From now on it is out.
    pub(super) fn take_suspect(&mut self) -> Option<Box<Claimed>> {
        match std::mem::take(&mut self.suspect) {
            Suspect::Held(job) => {
                self.suspect = Suspect::Out(job.head.fence);
                Some(job)
            }
            other => {
                self.suspect = other;
                None
            }
        }
    }

    /// Takes in a job that is the next to start in its queue.
    pub(super) fn wait_first(&mut self, job: Box<Claimed>, now: Duration) {
        let at = self.place_of(&job.head);
        if let Some(queue) = self.queues.get_mut(at) {
            queue.waiting.push_front(Waiting { job, since: now });
            self.look_at = self.look_at.min(now + Duration::from_secs(1));
        }
    }

    /// The place of a job's queue in the configuration.
    pub(super) fn place_of(&self, head: &Head) -> usize {
        self.queues.iter().position(|q| q.name == head.queue).unwrap_or(0)
    }

    /// The next job that has a slot. The caller starts it or settles it.
    pub(super) fn next_to_start(&mut self) -> Option<Box<Claimed>> {
        if self.slots_max.is_some_and(|most| self.running >= usize::from(most)) {
            return None;
        }
        let waits =
            |(at, q): (usize, &QueueHolding)| (q.running < q.slots && !q.waiting.is_empty()).then_some((at, q.running));
        let waiting: Vec<(usize, u16)> = self.queues.iter().enumerate().filter_map(waits).collect();
        let queue = self.queues.get_mut(self.choice.next(&waiting)?)?;
        queue.waiting.pop_front().map(|w| w.job)
    }

    pub(super) fn start(&mut self, head: &Head, timeout_at: Option<Duration>, deadline_at: Option<Duration>) {
        let queue = self.place_of(head);
        let run = Running {
            head: head.clone(),
            queue,
            timeout_at,
            deadline_at,
            interruption: None,
            stuck_at: None,
            commit: Commit::None,
        };
        for at in [timeout_at, deadline_at].into_iter().flatten() {
            self.look_at = self.look_at.min(at);
        }
        self.held.insert(head.fence, Held { fence: head.fence, stage: HeldStage::Running(Box::new(run)) });
        self.running += 1;
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.running += 1;
        }
    }

    /// Marks a held job as one whose outcome is on its way.
    pub(super) fn settling(&mut self, fence: Fence) {
        self.held.insert(fence, Held { fence, stage: HeldStage::Settling });
    }

    /// Notes that a run was stopped while something that it wrote was on its way.
    pub(super) fn stopped_in_flight(&mut self, fence: Fence) {
        self.stopped.push(fence);
    }

    /// Whether a run was, once.
    pub(super) fn take_stopped(&mut self, fence: Fence) -> bool {
        let before = self.stopped.len();
        self.stopped.retain(|stopped| *stopped != fence);
        self.stopped.len() < before
    }

    /// A handler is done: frees its slot. `None` if it is not known (any more).
    pub(super) fn finish(&mut self, fence: Fence) -> Option<Box<Running>> {
        let held = self.held.get_mut(&fence)?;
        match std::mem::replace(&mut held.stage, HeldStage::Settling) {
            HeldStage::Running(run) => {
                if run.commit != Commit::Leaves {
                    self.vacate(run.queue);
                }
                Some(run)
            }
            other => {
                held.stage = other;
                None
            }
        }
    }

    fn vacate(&mut self, queue: usize) {
        self.running -= 1;
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.running -= 1;
        }
    }

    fn run_mut(&mut self, fence: Fence) -> Option<&mut Running> {
        match &mut self.held.get_mut(&fence)?.stage {
            HeldStage::Running(run) => Some(run),
            HeldStage::Waiting | HeldStage::Settling => None,
        }
    }

    /// A run writes. `None` if it is not this worker's any more, or has written before and not heard of it.
    pub(super) fn committing(&mut self, fence: Fence, leaves: bool) -> Option<&Running> {
        let run = self.run_mut(fence)?;
        let is_lost = run.interruption.as_ref().is_some_and(|i| i.why == CancelWhy::Lost);
        if is_lost || run.commit != Commit::None {
            return None;
        }
        run.commit = if leaves { Commit::Leaves } else { Commit::Stays };
        let queue = run.queue;
        if leaves {
            self.vacate(queue);
        }
        self.run_mut(fence).map(|run| &*run)
    }

    pub(super) fn is_committing(&self, fence: Fence) -> bool {
        let held = self.held.get(&fence).map(|held| &held.stage);
        matches!(held, Some(HeldStage::Running(run)) if run.commit != Commit::None)
    }

    /// What a run wrote is answered: whether it was to leave with it. A slot that it gave up stays given up until
    /// [`Holding::stays`].
    pub(super) fn committed(&mut self, fence: Fence) -> Option<bool> {
        let run = self.run_mut(fence)?;
        match run.commit {
            Commit::None => None,
            Commit::Stays => {
                run.commit = Commit::None;
                Some(false)
            }
            Commit::Leaves => Some(true),
        }
    }

    /// A run's counters have changed, under the same claim.
    pub(super) fn counts(&mut self, fence: Fence, counters: Counters) {
        if let Some(run) = self.run_mut(fence) {
            run.head.counters = counters;
        }
    }

    /// A run that was to leave goes on: it takes a slot again, for a while perhaps one more than there are.
    pub(super) fn stays(&mut self, fence: Fence) {
        let Some(run) = self.run_mut(fence) else { return };
        run.commit = Commit::None;
        let queue = run.queue;
        self.running += 1;
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.running += 1;
        }
    }

    /// The job is no longer this worker's, and nothing of it runs here.
    pub(super) fn drop_held(&mut self, fence: Fence) {
        if self.held.get(&fence).is_none_or(|h| matches!(h.stage, HeldStage::Running(_))) {
            return;
        }
        self.returning.retain(|returning| *returning != fence);
        match &self.suspect {
            Suspect::Held(job) if job.head.fence == fence => self.suspect = Suspect::None,
            Suspect::Out(out) if *out == fence => self.suspect = Suspect::None,
            _ => {}
        }
        if let Some(Held { stage: HeldStage::Waiting, .. }) = self.held.remove(&fence) {
            for queue in &mut self.queues {
                queue.waiting.retain(|w| w.job.head.fence != fence);
            }
        }
    }

    /// Notes that a handler is to stop. A lost claim overrides another reason; otherwise the first stays.
    /// Answers whether the handler must be told.
    pub(super) fn interrupt(&mut self, fence: Fence, why: Interruption) -> bool {
        let Some(held) = self.held.get_mut(&fence) else { return false };
        let HeldStage::Running(run) = &mut held.stage else { return false };
        match &mut run.interruption {
            None => {
                self.look_at = self.look_at.min(why.abort_at);
                run.interruption = Some(why);
                true
            }
            Some(earlier) => {
                if why.why == CancelWhy::Lost {
                    earlier.why = CancelWhy::Lost;
                }
                false
            }
        }
    }

    /// Running jobs whose timeout or deadline has come and that were not told yet.
    pub(super) fn overdue(&mut self, now: Duration) -> Vec<(Fence, CancelWhy)> {
        if now < self.look_at {
            return Vec::new();
        }
        let mut found = Vec::new();
        for held in self.held.values() {
            let HeldStage::Running(run) = &held.stage else { continue };
            if run.interruption.is_some() {
                continue;
            }
            if run.deadline_at.is_some_and(|at| at <= now) {
                found.push((held.fence, CancelWhy::Deadline));
            } else if run.timeout_at.is_some_and(|at| at <= now) {
                found.push((held.fence, CancelWhy::Timeout));
            }
        }
        found.sort_unstable_by_key(|(fence, _)| *fence);
        found
    }

    /// Handlers that were told to stop, and whose grace is over.
    pub(super) fn past_grace(&mut self, now: Duration, grace: Duration) -> Vec<Fence> {
        if now < self.look_at {
            return Vec::new();
        }
        let mut found = Vec::new();
        for held in self.held.values_mut() {
            let HeldStage::Running(run) = &mut held.stage else { continue };
            let Some(interruption) = &mut run.interruption else { continue };
            if !interruption.aborted && interruption.abort_at <= now {
                interruption.aborted = true;
                run.stuck_at = Some(now + grace);
                found.push(held.fence);
            }
        }
        found.sort_unstable();
        found
    }

    /// Handlers that were aborted and still run. Each is named once.
    pub(super) fn stuck(&mut self, now: Duration) -> Vec<Fence> {
        if now < self.look_at {
            return Vec::new();
        }
        let mut found = Vec::new();
        for held in self.held.values_mut() {
            let HeldStage::Running(run) = &mut held.stage else { continue };
            if run.stuck_at.is_some_and(|at| at <= now) {
                run.stuck_at = None;
                found.push(held.fence);
            }
        }
        self.look_again();
        found
    }

    fn look_again(&mut self) {
        let running = self.held.values().filter_map(|h| match &h.stage {
            HeldStage::Running(run) => Some(match &run.interruption {
                None => run.timeout_at.into_iter().chain(run.deadline_at).min(),
                Some(i) if !i.aborted => Some(i.abort_at),
                Some(_) => run.stuck_at,
            }),
            _ => None,
        });
        let running = running.flatten().min();
        let waiting =
            self.queues.iter().filter_map(|q| q.waiting.front().map(|w| w.since + Duration::from_secs(1))).min();
        self.look_at = running.into_iter().chain(waiting).min().unwrap_or(Duration::MAX);
    }

    /// Jobs that have waited for a slot for longer than `limit`.
    pub(super) fn unused_since(&mut self, now: Duration, limit: Duration) -> Vec<Claimed> {
        let mut found = Vec::new();
        for queue in &mut self.queues {
            while queue.waiting.front().is_some_and(|w| w.since + limit <= now) {
                found.extend(queue.waiting.pop_front().map(|w| *w.job));
            }
        }
        found
    }

    /// Everything that waits for a slot.
    pub(super) fn take_waiting(&mut self) -> Vec<Claimed> {
        let suspect = self.take_suspect();
        let waiting = self.queues.iter_mut().flat_map(|q| q.waiting.drain(..)).map(|w| w.job);
        suspect.into_iter().chain(waiting).map(|job| *job).collect()
    }

    /// How many jobs each queue has room for, in the order of the configuration: free slots, and its share of
    /// what is fetched ahead.
    pub(super) fn room(&self, prefetch: u32) -> Room {
        let total: u32 = self.queues.iter().map(|q| u32::from(q.slots)).sum::<u32>().max(1);
        let target = |q: &QueueHolding| {
            u64::from(q.slots) + (u64::from(prefetch) * u64::from(q.slots)).div_ceil(u64::from(total))
        };
        let have = |q: &QueueHolding| u64::from(q.running) + q.waiting.len() as u64;
        let room = |q: &QueueHolding| u16::try_from(target(q).saturating_sub(have(q))).unwrap_or(u16::MAX);
        let each: Vec<u16> = self.queues.iter().map(room).collect();
        let all = match self.slots_max {
            None => each.iter().copied().fold(0, u16::saturating_add),
            Some(most) => {
                // What one queue holds beyond its own target takes nothing from the others.
                let held: u64 = self.queues.iter().map(|q| have(q).min(target(q))).sum();
                let room = (u64::from(most) + u64::from(prefetch)).saturating_sub(held);
                u16::try_from(room).unwrap_or(u16::MAX)
            }
        };
        Room { each, all }
    }

    pub(super) fn next_wake(&self) -> Duration {
        self.look_at
    }
}
