//! The worker: registers handlers, then runs a pump until it is told to stop.

mod attempt;
mod carrier;
mod failed;
pub(crate) mod peers;
mod pump;
mod recorder;

mod scheduler;
mod sweeper;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use towpath_core::dispatch::{Command, DispatchConfig, Dispatcher, QueueSlots};
use towpath_core::store::{Served, WorkerIdentity};
use towpath_core::{Queue, defaults};

use crate::batch::BatchSize;
use crate::blobs;
use crate::client::Client;
use crate::context::Context;
use crate::durable::{Durable, NeededState, Step};
use crate::failure::Failure;
use crate::handler::Perform;
use crate::host;
use crate::job::Job;
use crate::middleware::{Left, Next};
use crate::notes;
use crate::random;
use crate::registry::{Handlers, InvalidRegistry, Registry, RegistryProblem};
use crate::schedules::{Checked, Schedule};
use crate::states::States;
pub(crate) use attempt::{Around, Attempt, panic_text, panicked};
pub use failed::FailedAttempt;
use failed::Hooks;
pub(crate) use pump::Message;
use pump::Pump;

/// A set of handlers that serves queues of a store.
pub struct Worker {
    client: Client,
    schedules: Vec<Checked>,
    pump: Pump,
    messages: mpsc::UnboundedSender<Message>,
}

/// A worker that runs. Dropping the handle lets it run on.
#[derive(Debug)]
pub struct WorkerHandle {
    messages: mpsc::UnboundedSender<Message>,
    running: watch::Receiver<u32>,
    task: JoinHandle<()>,
}

/// Puts a worker together.
pub struct WorkerBuilder {
    client: Client,
    registry: Registry,
    queues: Vec<(String, u16)>,
    slots_max: Option<u16>,
    weights: Vec<(String, u16)>,
    name: Option<String>,
    lease: Duration,
    drain_limit: Duration,
    abort_grace: Duration,
    prefetch_max: Option<u32>,
    states: States,
    steps: Vec<(&'static str, &'static [NeededState])>,
    build_id: String,
    needed: Vec<NeededState>,
    hooks: Hooks,
    schedules: Vec<Schedule>,
}

impl Worker {
    /// A worker on the client's store. Without further settings it serves the queue `default` with 100 slots.
    pub fn builder(client: &Client) -> WorkerBuilder {
        WorkerBuilder {
            client: client.clone(),
            registry: Registry::new(),
            queues: Vec::new(),
            slots_max: None,
            weights: Vec::new(),
            name: None,
            lease: defaults::LEASE,
            drain_limit: defaults::DRAIN_LIMIT,
            abort_grace: defaults::ABORT_GRACE,
            prefetch_max: None,
            states: States::default(),
            steps: Vec::new(),
            build_id: host::this_program(),
            needed: Vec::new(),
            hooks: Hooks::new(),
            schedules: Vec::new(),
        }
    }

    /// Runs until `shutdown` is ready, or an operator has drained the worker ([`Client::drain_worker`]), then shuts down in good order: claims nothing more, hands back what it has not
    /// started, lets handlers finish up to the drain limit, then cancels them.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) {
        let mut handle = self.start();
        tokio::select! {
            () = shutdown => handle.shutdown().await,
            // An operator has drained it.
            _ = &mut handle.task => {}
        }
    }

    fn start(self) -> WorkerHandle {
        let running = self.pump.running();
        let Self { client, schedules, pump, .. } = self;
        let task = tokio::spawn(async move {
            let graphs = tokio::spawn(carrier::keep_carrying_on(client.store().clone(), pump.graphs_told()));
            let sweeps = tokio::spawn(sweeper::keep_sweeping(client.store().clone()));
            let (store, tallies) = (client.store().clone(), pump.tallies());
            let counts = tokio::spawn(recorder::keep_recording(store.clone(), tallies.clone()));
            let blobs = tokio::spawn(blobs::keep_sweeping(client.clone()));
            let notes = tokio::spawn(notes::keep_writing(store.clone(), pump.notebook()));
            let time = tokio::spawn(scheduler::keep_time(client, schedules));
            pump.run().await;
            counts.abort();
            notes.abort();
            blobs.abort();
            time.abort();
            graphs.abort();
            sweeps.abort();
            tallies.hand_over(&store).await;
        });
        WorkerHandle { messages: self.messages, running, task }
    }
}

impl WorkerHandle {
    /// Shuts down in good order and waits until it is done: handlers see at once that the worker shuts down
    /// ([`Context::is_shutting_down`]), may finish up to the drain limit (25 s), and are then told to stop. Leases are renewed
    /// until the last handler is done.
    pub async fn shutdown(self) {
        self.tell(Command::Shutdown);
        if let Err(error) = self.task.await
            && error.is_panic()
        {
            tracing::error!(%error, "the worker's pump panicked; its lease hands its jobs over");
        }
    }

    /// Begins a shutdown. A second call does not wait for handlers but cancels them at once.
    pub fn begin_shutdown(&self) {
        self.tell(Command::Shutdown);
    }

    /// Claims nothing more until [`resume`](Self::resume).
    pub fn quiet(&self) {
        self.tell(Command::Quiet);
    }

    /// Claims again.
    pub fn resume(&self) {
        self.tell(Command::Resume);
    }

    /// How many handlers are at work.
    pub fn running(&self) -> u32 {
        *self.running.borrow()
    }

    /// Waits until the worker is gone.
    pub async fn join(self) {
        let _ = self.task.await;
    }

    fn tell(&self, command: Command) {
        // A worker that is gone needs no telling.
        let _ = self.messages.send(Message::Command(command));
    }
}

impl WorkerBuilder {
    /// Serves a queue with so many slots: jobs of it that run at once. May be called for several queues.
    pub fn queue(mut self, name: &str, slots: u16) -> Self {
        self.queues.push((name.to_owned(), slots));
        self
    }

    /// Most jobs that run at once of all its queues together; without it, as many as the queues have slots. The queue that
    /// was named first comes first, and a later one gets what it leaves, unless there are weights
    /// ([`queue_weight`](Self::queue_weight)).
    pub fn slots(mut self, most: u16) -> Self {
        self.slots_max = Some(most);
        self
    }

    /// Shares the slots by weight among the queues that have work; a queue without a weight has 1. What a queue leaves goes
    /// to the others. Weights say something only with fewer [`slots`](Self::slots) in all than the queues have.
    pub fn queue_weight(mut self, queue: &str, weight: u16) -> Self {
        self.weights.push((queue.to_owned(), weight));
        self
    }

    /// Adds an async handler for the kind of its first parameter.
    pub fn handle<J, F, Fut, E>(mut self, handler: F) -> Self
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<J::Output, E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        self.registry.handle(handler);
        self
    }

    /// Adds a handler that blocks its thread. It cannot be stopped by force: look at [`Context::cancellation`].
    pub fn handle_blocking<J, F, E>(mut self, handler: F) -> Self
    where
        J: Job,
        F: Fn(J, Context) -> Result<J::Output, E> + Send + Sync + 'static,
        E: Into<Failure> + 'static,
    {
        self.registry.handle_blocking(handler);
        self
    }

    /// Adds a handler that takes many jobs of a kind at once, and answers a result for each, by position
    /// ([`Registry::handle_batch`]).
    ///
    /// Jobs are gathered until there are `size.max` of them, or the first has waited for `size.wait`. Each has its own claim,
    /// attempt and retry; a panic, or an answer of another length, fails them all. A job that is cancelled meanwhile is told by
    /// its own [`Context`].
    pub fn handle_batch<J, F, Fut, E>(mut self, size: BatchSize, handler: F) -> Self
    where
        J: Job,
        F: Fn(Vec<(J, Context)>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Result<J::Output, E>>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        self.registry.handle_batch(size, handler);
        self
    }

    /// Puts a middleware around every attempt of every job; the first one added is the outermost. It may look, wait, measure,
    /// or make something else of the result. Durable functions are not attempts with one beginning and one end: their steps
    /// and runs pass it by.
    ///
    /// ```
    /// # use towpath::{Client, Context, Failure, Worker, WorkerBuilder};
    /// # fn f(client: &Client) -> WorkerBuilder {
    /// Worker::builder(client).middleware(|cx: Context, next| async move {
    ///     let started = std::time::Instant::now();
    ///     let result = next.run().await;
    ///     println!("{} took {:?}", cx.kind(), started.elapsed());
    ///     // What a failure means is the application's to say.
    ///     result.map_err(|failure| match failure.to_string() {
    ///         text if text.contains("no such account") => Failure::permanent(text),
    ///         _ => failure,
    ///     })
    /// })
    /// # }
    /// ```
    pub fn middleware<F, Fut>(mut self, middleware: F) -> Self
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Left, Failure>> + Send + 'static,
    {
        self.registry.middleware(middleware);
        self
    }

    /// Calls this with every attempt of a job or a run that failed, for an error reporter. It is called on the worker's own
    /// task, so it should hand over and return.
    pub fn on_failure(mut self, hook: impl Fn(&FailedAttempt) + Send + Sync + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Says that handlers take a state of this type ([`Context::state`]): without it the worker does not start.
    pub fn needs<T: Send + Sync + 'static>(mut self) -> Self {
        self.needed.push(NeededState::of::<T>());
        self
    }

    /// Adds a job that performs itself.
    pub fn perform<J: Perform>(mut self) -> Self {
        self.registry.perform::<J>();
        self
    }

    /// Adds a durable function. Several versions of one may be served side by side.
    pub fn durable<I, O, E>(mut self, function: Durable<I, O, E>) -> Self
    where
        I: DeserializeOwned + Send + 'static,
        O: Serialize + Send + 'static,
        E: Serialize + fmt::Display + Send + 'static,
    {
        self.registry.durable(function);
        self
    }

    /// Declares a schedule: it is there as long as workers have it in their code. A change of it takes effect when a worker with
    /// the new code starts; one whose code has gone shows as a ghost after a day, and goes on until somebody forgets it.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Names a step that the worker's functions use. Nothing requires it: it lets [`build`](Self::build) say before
    /// anything starts that a state is missing, instead of blocking the first run that comes to the step.
    pub fn step<I, O, E>(mut self, step: Step<I, O, E>) -> Self {
        self.steps.push((step.name(), step.needed()));
        self
    }

    /// Gives handlers and steps a value of the application's, by its type: a pool, a client of a service.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Names the code that the worker runs, such as a commit. What a build could not read or go on with is tried again when
    /// another build starts. Without it a build is told by its program file.
    pub fn build_id(mut self, id: &str) -> Self {
        self.build_id = id.to_owned();
        self
    }

    /// Names the worker for people; otherwise it is called after its host and process.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// How long its claims hold without a heartbeat (10 s). A shorter one hands over sooner and bears less.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a shutdown waits for handlers (25 s).
    pub fn drain_limit(mut self, limit: Duration) -> Self {
        self.drain_limit = limit;
        self
    }

    /// How long a handler that was told to stop may take before it is dropped (10 s).
    pub fn abort_grace(mut self, grace: Duration) -> Self {
        self.abort_grace = grace;
        self
    }

    /// Most jobs that it fetches beyond its free slots. They count as running, so 0 shows people only what really runs;
    /// without a setting it follows from how fast the jobs are.
    pub fn prefetch(mut self, jobs: u32) -> Self {
        self.prefetch_max = Some(jobs);
        self
    }

    /// Checks everything and starts the worker.
    ///
    /// # Errors
    /// All problems of its kinds and queues at once.
    pub fn start(self) -> Result<WorkerHandle, InvalidRegistry> {
        Ok(self.build()?.start())
    }

    fn look_for_states(&mut self) {
        for state in self.needed.iter().filter(|state| !state.is_in(&self.states)) {
            self.registry.problem(RegistryProblem::MissingState { step: None, state: state.name() });
        }
        for (step, needs) in &self.steps {
            for state in needs.iter().filter(|state| !state.is_in(&self.states)) {
                self.registry.problem(RegistryProblem::MissingState { step: Some(step), state: state.name() });
            }
        }
    }

    /// What it does, without a worker around it.
    pub(crate) fn into_handlers(mut self) -> Result<(Handlers, States), InvalidRegistry> {
        self.look_for_states();
        Ok((self.registry.finish(&self.build_id)?, self.states))
    }

    /// Checks everything.
    ///
    /// # Errors
    /// All problems of its kinds and queues at once.
    pub fn build(mut self) -> Result<Worker, InvalidRegistry> {
        if self.queues.is_empty() {
            self.queues.push((Queue::DEFAULT.to_owned(), defaults::SLOTS));
        }
        let mut queues: Vec<(Queue, u16)> = Vec::new();
        for (name, slots) in &self.queues {
            let invalid = |problem: String| RegistryProblem::Invalid { problem };
            match Queue::new(name) {
                Err(e) => self.registry.problem(invalid(e.to_string())),
                Ok(_) if *slots == 0 => {
                    self.registry.problem(invalid(format!("queue {name} has no slot: give it at least 1")))
                }
                Ok(queue) if queues.iter().any(|(q, _)| *q == queue) => {
                    self.registry.problem(invalid(format!("queue {name} is named twice: remove one")));
                }
                Ok(queue) => queues.push((queue, *slots)),
            }
        }
        let mut schedules = Vec::with_capacity(self.schedules.len());
        for schedule in std::mem::take(&mut self.schedules) {
            match schedule.checked() {
                Ok(checked) => schedules.push(checked),
                Err(e) => self.registry.problem(RegistryProblem::Invalid { problem: e.to_string() }),
            }
        }
        let weights = self.check_shares(&queues);
        self.look_for_states();
        let names: Vec<Queue> = queues.iter().map(|(queue, _)| queue.clone()).collect();
        for (kind, queue) in self.registry.beside(&names) {
            tracing::warn!(
                kind,
                queue,
                "this worker has a handler for the kind but does not serve the queue in which its jobs stand: add \
                 .queue({queue:?}, 20), unless other workers serve it"
            );
        }
        let handlers = self.registry.finish(&self.build_id)?;
        let host = host::this_process();
        let identity = WorkerIdentity {
            name: self.name.unwrap_or_else(|| format!("{}/{}", host.machine.get(..8).unwrap_or("host"), host.pid)),
            host: host.clone(),
            build: handlers.build,
            queues: queues.iter().map(|(q, _)| q.to_string()).collect(),
            kinds: handlers.serves.iter().map(|served| (served.kind.clone(), served.versions.clone())).collect(),
        };
        let slots = |(queue, slots): (Queue, u16)| {
            let serves: Arc<[Served]> = handlers.serves.clone();
            QueueSlots { queue, slots, serves }
        };
        let mut config = DispatchConfig::new(random::incarnation(), identity, queues.into_iter().map(slots).collect());
        config.slots_max = self.slots_max;
        config.weights = weights;
        config.lease = self.lease;
        config.heartbeat = (self.lease * 3 / 10).min(defaults::HEARTBEAT);
        config.drain_limit = self.drain_limit;
        config.abort_grace = self.abort_grace;
        if let Some(jobs) = self.prefetch_max {
            config.prefetch_max = jobs;
        }
        let (pump, messages) =
            Pump::new(self.client.clone(), handlers, self.states, self.hooks, host, Dispatcher::new(config));
        Ok(Worker { client: self.client, schedules, pump, messages })
    }

    /// The weight of each queue, or none if there are no weights; notes what is wrong with them.
    fn check_shares(&mut self, queues: &[(Queue, u16)]) -> Vec<u16> {
        let mut problem = |problem: String| self.registry.problem(RegistryProblem::Invalid { problem });
        if self.slots_max == Some(0) {
            problem("the worker has no slot: give it at least 1, .slots(20)".into());
        }
        for (name, weight) in &self.weights {
            if *weight == 0 {
                problem(format!("queue {name} has the weight 0: give it at least 1, or pause the queue"));
            }
            if !queues.iter().any(|(queue, _)| queue.as_str() == name) {
                problem(format!("queue {name} has a weight but is not served: add .queue({name:?}, 20)"));
            }
        }
        if self.weights.is_empty() {
            return Vec::new();
        }
        let of = |queue: &Queue| self.weights.iter().rev().find(|(name, _)| name == queue.as_str());
        queues.iter().map(|(queue, _)| of(queue).map_or(1, |(_, weight)| *weight)).collect()
    }
}
