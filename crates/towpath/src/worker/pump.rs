//! The pump: carries events to the dispatcher and its effects to the store and the handlers.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use towpath_core::dispatch::{CancelWhy, Command, Dispatcher, Effect, Event, Failure, PeerNews};
use towpath_core::store::{Beat, BeatReply, Hint, HintStream, HostId, Move, Settle, Settled};
use towpath_core::tally::Counted;
use towpath_core::{
    Fence, Incarnation, Report, RunCommit, RunId, Store, StoreError, StoreErrorKind, Timestamp, defaults,
};

use super::attempt::{Around, Attempt};
use super::failed::Hooks;
use super::peers;
use super::recorder::{Tallies, Timed};
use crate::client::Client;
use crate::notes::Notebook;
use crate::registry::Handlers;
use crate::states::States;

/// What tasks tell the pump.
pub(crate) enum Message {
    Finished {
        fence: Fence,
        report: Report,
    },
    /// A run writes, and waits for what became of it.
    Commit {
        fence: Fence,
        commit: Box<RunCommit>,
        answer: oneshot::Sender<Settled>,
    },
    Beat(Result<BeatReply, Failure>),
    Peers(PeerNews),
    Command(Command),
}

pub(super) struct Pump {
    client: Client,
    store: Arc<dyn Store>,
    handlers: Handlers,
    host: HostId,
    dispatcher: Dispatcher,
    worker: Incarnation,
    /// By claim: a job that was lost and claimed again may be at work twice.
    attempts: HashMap<Fence, (Attempt, Timed)>,
    /// Runs that wait for what became of what they wrote.
    commits: HashMap<Fence, (oneshot::Sender<Settled>, Option<Counted>)>,
    /// Runs at work, each with a bell for signals.
    bells: HashMap<RunId, (Fence, Arc<Notify>)>,
    states: States,
    hooks: Hooks,
    inbox: mpsc::UnboundedReceiver<Message>,
    outbox: mpsc::UnboundedSender<Message>,
    running: watch::Sender<u32>,
    /// Whether the worker shuts down, for handlers to see.
    draining: watch::Sender<bool>,
    started: Instant,
    graphs_told: Arc<Notify>,
    tallies: Tallies,
    notebook: Notebook,
    /// The store's clock as last seen, and when.
    clock: (Timestamp, Instant),
}

/// How often other tasks are let before a turn leaves.
const ROUNDS_MAX: usize = 8;

type Exchange = Pin<Box<dyn Future<Output = Event> + Send>>;

impl Pump {
    pub(super) fn new(
        client: Client,
        handlers: Handlers,
        states: States,
        hooks: Hooks,
        host: HostId,
        dispatcher: Dispatcher,
    ) -> (Self, mpsc::UnboundedSender<Message>) {
        let (outbox, inbox) = mpsc::unbounded_channel();
        let store = client.store().clone();
        let started = Instant::now();
        let worker = dispatcher.worker();
        let pump = Self {
            client,
            store,
            handlers,
            host,
            dispatcher,
            worker,
            attempts: HashMap::new(),
            commits: HashMap::new(),
            bells: HashMap::new(),
            states,
            hooks,
            inbox,
            outbox: outbox.clone(),
            running: watch::channel(0).0,
            draining: watch::channel(false).0,
            started,
            graphs_told: Arc::default(),
            tallies: Tallies::default(),
            notebook: Notebook::default(),
            clock: (Timestamp::ZERO, started),
        };
        (pump, outbox)
    }

    pub(super) fn running(&self) -> watch::Receiver<u32> {
        self.running.subscribe()
    }

    /// What rings when a turn has put the retry of a graph off, or stopped one by a failure.
    pub(super) fn graphs_told(&self) -> Arc<Notify> {
        Arc::clone(&self.graphs_told)
    }

    /// What handlers say of their jobs.
    pub(super) fn notebook(&self) -> Notebook {
        self.notebook.clone()
    }

    /// What is counted for the charts.
    pub(super) fn tallies(&self) -> Tallies {
        self.tallies.clone()
    }

    /// Runs until the dispatcher has left its store.
    pub(super) async fn run(mut self) {
        let mut hints = self.store.hints();
        let mut exchange: Option<Exchange> = None;
        let sleep = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(sleep);
        let mut inbox = Vec::new();
        loop {
            self.let_others_speak().await;
            let now = self.started.elapsed();
            let poll = if hints.is_deaf() { defaults::POLL_DEAF } else { defaults::POLL };
            self.dispatcher.poll_every(poll, now);
            for effect in self.dispatcher.decide(now) {
                if let Some(next) = self.carry_out(effect) {
                    exchange = Some(if self.dispatcher.is_busy() { aside(next) } else { next });
                }
            }
            if self.dispatcher.is_gone() {
                return;
            }
            // Whoever asked for it: this process, or an operator.
            self.draining.send_if_modified(|draining| {
                let is_new = self.dispatcher.is_leaving() && !*draining;
                *draining |= is_new;
                is_new
            });
            self.running.send_if_modified(|n| {
                let running = u32::try_from(self.dispatcher.running()).unwrap_or(u32::MAX);
                std::mem::replace(n, running) != running
            });
            let wake = self.started + self.dispatcher.next_wake().min(Duration::from_secs(86_400));
            let wake = tokio::time::Instant::from_std(wake);
            if sleep.deadline() != wake {
                sleep.as_mut().reset(wake);
            }
            tokio::select! {
                biased;
                // What handlers report rides with the next turn, so it is taken in before the store is asked.
                count = self.inbox.recv_many(&mut inbox, 4_096) => {
                    if count == 0 {
                        return;
                    }
                    for message in inbox.drain(..) {
                        self.take(message);
                    }
                }
                event = async { if let Some(exchange) = &mut exchange { exchange.await } else { std::future::pending().await } } => {
                    exchange = None;
                    self.note_clock(&event);
                    self.dispatcher.take(event, self.started.elapsed());
                }
                hint = hints.next() => self.hint(hint, &mut hints),
                () = &mut sleep => {}
            }
        }
    }

    /// Before a turn leaves, handlers that are about to report may: what they say rides with it. Each round lets the tasks
    /// that are ready run once; the first that brings nothing is the last.
    async fn let_others_speak(&mut self) {
        for _ in 0..ROUNDS_MAX {
            if !self.dispatcher.may_hear_more() {
                return;
            }
            tokio::task::yield_now().await;
            let Ok(first) = self.inbox.try_recv() else { return };
            self.take(first);
            while let Ok(message) = self.inbox.try_recv() {
                self.take(message);
            }
        }
    }

    fn take(&mut self, message: Message) {
        let now = self.started.elapsed();
        let event = match message {
            Message::Finished { fence, report } => {
                self.tell_of_failure(fence, Some(&report));
                let ended = self.attempts.remove(&fence);
                if let (Some((_, timed)), Some(counted)) = (&ended, Counted::of(&report)) {
                    self.tallies.ended(timed, counted, self.store_now());
                }
                let run = ended.and_then(|(attempt, _)| attempt.run);
                if let Some(run) = run.filter(|run| self.bells.get(run).is_some_and(|(of, _)| *of == fence)) {
                    self.bells.remove(&run);
                }
                self.commits.remove(&fence);
                Event::Finished { fence, report }
            }
            Message::Commit { fence, commit, answer } => {
                self.tell_of_failure(fence, commit.then.as_ref());
                let counted = commit.then.as_ref().and_then(Counted::of);
                self.commits.insert(fence, (answer, counted));
                Event::Commit { fence, commit: *commit }
            }
            Message::Beat(reply) => Event::Beat(reply),
            Message::Peers(news) => Event::Peers(news),
            Message::Command(command) => Event::Command(command),
        };
        self.dispatcher.take(event, now);
    }

    fn tell_of_failure(&self, fence: Fence, report: Option<&Report>) {
        if self.hooks.is_empty() {
            return;
        }
        if let Some(((attempt, _), report)) = self.attempts.get(&fence).zip(report)
            && let Some(failed) = attempt.failed(report)
        {
            self.hooks.iter().for_each(|hook| hook(&failed));
        }
    }

    fn hint(&mut self, first: Hint, hints: &mut HintStream) {
        let now = self.started.elapsed();
        let mut next = Some(first);
        while let Some(hint) = next {
            match hint {
                Hint::Ready(_) => self.dispatcher.take(Event::Hint, now),
                Hint::Released { by, .. } if by != self.worker => self.dispatcher.take(Event::Hint, now),
                Hint::Signalled(run) => {
                    if let Some((_, bell)) = self.bells.get(&run) {
                        bell.notify_one();
                    }
                }
                Hint::Cancel => self.dispatcher.take(Event::CancelHint, now),
                Hint::Anything => {
                    self.dispatcher.take(Event::Hint, now);
                }
                _ => {}
            }
            next = hints.try_next();
        }
    }

    fn note_clock(&mut self, event: &Event) {
        let seen = match event {
            Event::Turn(Ok(reply)) => reply.now,
            Event::Rescued(Ok(reply)) => reply.now,
            _ => return,
        };
        self.clock = (seen, Instant::now());
    }

    /// About what the store's clock shows now.
    fn store_now(&self) -> Timestamp {
        let (seen, at) = self.clock;
        seen + at.elapsed()
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Exchange> {
        match effect {
            Effect::Turn(turn) => {
                let store = self.store.clone();
                let tells = turn.settle.iter().any(is_for_its_graph);
                let told = tells.then(|| self.graphs_told());
                return Some(Box::pin(async move {
                    let reply = store.turn(*turn).await;
                    // Whether it was written or not: whoever is told looks.
                    told.inspect(|told| told.notify_one());
                    Event::Turn(reply.map(Box::new).map_err(|e| failed(&e)))
                }));
            }
            Effect::Rescue(ask) => {
                let store = self.store.clone();
                return Some(Box::pin(async move {
                    let reply = store.rescue(*ask).await;
                    if let Ok(reply) = &reply
                        && !reply.rescued.is_empty()
                    {
                        tracing::info!(jobs = reply.rescued.len(), "took over jobs of dead workers");
                    }
                    Event::Rescued(reply.map_err(|e| failed(&e)))
                }));
            }
            Effect::Beat(beat) => self.beat(*beat),
            Effect::LookForPeers => self.look_for_peers(),
            Effect::Prune => self.prune(),
            Effect::Start(claimed) => {
                let fence = claimed.head.fence;
                match self.handlers.get(&claimed.head.kind) {
                    Some(handler) => {
                        let bell = Arc::new(Notify::new());
                        if let Some(run) = &claimed.run {
                            self.bells.insert(run.id.clone(), (fence, Arc::clone(&bell)));
                        }
                        let around = Around {
                            bell,
                            client: self.client.clone(),
                            states: self.states.clone(),
                            build: self.handlers.build,
                            clock: self.clock,
                            draining: self.draining.subscribe(),
                            notebook: self.notebook.clone(),
                        };
                        let timed = self.tallies.started(&claimed, self.store_now());
                        let attempt = Attempt::start(handler, *claimed, around, self.outbox.clone());
                        self.attempts.insert(fence, (attempt, timed));
                    }
                    // No store gives a kind that was not asked for.
                    None => {
                        let _ = self.outbox.send(Message::Finished { fence, report: Report::HandedBack });
                    }
                }
            }
            Effect::Committed { fence, settled } => {
                if let Some((answer, counted)) = self.commits.remove(&fence) {
                    // What was not taken is said again, once the function has looked at what has come.
                    if let (Settled::Done, Some(counted), Some((_, timed))) =
                        (settled, counted, self.attempts.get(&fence))
                    {
                        self.tallies.ended(timed, counted, self.store_now());
                    }
                    let _ = answer.send(settled);
                }
            }
            Effect::Cancel { fence, why } => {
                if why == CancelWhy::Lost {
                    // Nobody will say what became of it.
                    self.commits.remove(&fence);
                }
                if let Some((attempt, _)) = self.attempts.get(&fence) {
                    attempt.cancel(why);
                }
            }
            Effect::Abort { fence } => {
                if let Some((attempt, _)) = self.attempts.get(&fence) {
                    attempt.abort();
                }
            }
            Effect::Stuck { fence } => {
                tracing::error!(job = fence.key, "a handler was aborted and does not stop: it keeps its slot");
            }
            Effect::Refused { fence, problem } => {
                tracing::error!(job = fence.key, %problem, "the store refused what became of a job: it is quarantined");
            }
            Effect::Gone => {}
        }
        None
    }

    /// Heartbeats go their own way, so that a slow turn never costs the lease.
    fn beat(&self, beat: Beat) {
        let store = self.store.clone();
        let outbox = self.outbox.clone();
        tokio::spawn(async move {
            let reply = store.extend(beat).await;
            let _ = outbox.send(Message::Beat(reply.map_err(|e| failed(&e))));
        });
    }

    fn look_for_peers(&self) {
        let store = self.store.clone();
        let outbox = self.outbox.clone();
        let host = self.host.clone();
        let worker = self.worker;
        let now = self.store_now();
        tokio::spawn(async move {
            match peers::look(&store, worker, &host, now).await {
                Ok(news) => {
                    let _ = outbox.send(Message::Peers(news));
                }
                Err(error) => tracing::warn!(%error, "cannot look for other workers; trying again"),
            }
        });
    }

    fn prune(&self) {
        let store = self.store.clone();
        tokio::spawn(async move {
            // Again at once while there is more, within bounds: the next round comes soon.
            for _ in 0..100 {
                match store.prune(defaults::PRUNE_BATCH).await {
                    Ok(pruned) if pruned.is_empty() => return,
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "cannot prune; trying again");
                        return;
                    }
                }
            }
        });
    }
}

/// Lets an exchange run beside the pump, which then refills slots meanwhile: an embedded store works on the thread
/// that asks it. An idle worker spares itself the hop.
fn aside(exchange: Exchange) -> Exchange {
    let task = tokio::spawn(exchange);
    Box::pin(async move {
        // A panic in a store is answered as a lost answer: the same turn is asked again.
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the store panicked");
            Event::Turn(Err(Failure::Other))
        })
    })
}

fn failed(error: &StoreError) -> Failure {
    match error.kind {
        StoreErrorKind::UnknownWorker => Failure::UnknownWorker,
        StoreErrorKind::StaleTurn => Failure::StaleTurn,
        _ => {
            tracing::warn!(%error, "the store did not answer; trying again");
            Failure::Other
        }
    }
}

/// Whether an outcome begins something with its graph that somebody is to carry on.
fn is_for_its_graph(item: &Settle) -> bool {
    match &item.then {
        Move::Retry(_) => true,
        Move::End(ending) => ending.stop.is_some(),
        _ => false,
    }
}
