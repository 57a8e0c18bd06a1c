//! A graph driven to its end in this process: a worker for its commands, and eyes on what becomes of its nodes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use towpath::core::store::{GraphDetail, Hint, HintStream, StopLine};
use towpath::core::{State, StopReason, Timestamp};
use towpath::{Client, Context, End, GraphEnd, GraphId, JobId, NodeName, OutputError, Worker, WorkerHandle};

use crate::error::CliError;
use crate::exec::{Event, Exec, Http, Runner};
use crate::flow::queue_of;
use crate::group::Groups;
use crate::progress::{NodeEnd, Progress};
use crate::summary;
use crate::waits::Waits;

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The graph has ended.
    Ended(GraphEnd),
    /// Somebody interrupted it; the rest waits in the store.
    Interrupted,
}

/// What is asked of a drive.
pub(crate) struct Drive<'a> {
    pub(crate) client: &'a Client,
    pub(crate) graph: GraphId,
    pub(crate) groups: Groups,
    /// Commands at once.
    pub(crate) parallel: u16,
    /// Queues besides the flow's own, and how many of their nodes run at once.
    pub(crate) queues: Vec<(String, u16)>,
    /// What to add to a command of this binary so that it finds the store.
    pub(crate) store_option: String,
    /// What was told of nodes that wait for somebody.
    pub(crate) waits: Waits,
    pub(crate) start: Start,
}

/// Since when the graph is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Since just now.
    Anew,
    /// Since an earlier process.
    Resumed,
}

impl Drive<'_> {
    /// Runs the graph until it has ended or somebody interrupts.
    ///
    /// # Errors
    /// The store cannot be used at all. While it only does not answer, this waits and says so.
    pub(crate) async fn run(mut self) -> Result<Outcome, CliError> {
        let (mut signals, since) = (Signals::listen()?, Instant::now());
        let detail = self.client.inspect().graph(self.graph).await?;
        let detail =
            detail.ok_or_else(|| CliError::failed("find the graph", format!("{} is not stored", self.graph)))?;
        let (events_in, mut events) = mpsc::unbounded_channel();
        let (hurry, hurried) = watch::channel(false);
        let mut hints = self.client.store().hints();
        let (progress, name) = (Progress::new(&detail), detail.line.name.clone());
        let mut board = Board::new(self.client, progress, detail);
        let worker = self.start(Runner::new(self.groups.clone(), events_in, hurried), name.as_str())?;
        let ended = self.client.wait_graph(self.graph);
        tokio::pin!(ended);
        let mut tick = tokio::time::interval(LOOK_AGAIN);
        let outcome = loop {
            tokio::select! {
                biased;
                () = signals.next() => {
                    board.progress.note("interrupted: stopping the commands (interrupt again to kill them)");
                    break Outcome::Interrupted;
                }
                Some(event) = events.recv() => board.event(event),
                end = &mut ended => match end {
                    Ok(end) => break Outcome::Ended(end),
                    Err(OutputError::Store(error)) if error.is_transient() => {
                        board.trouble(&error);
                        tokio::time::sleep(LOOK_AGAIN).await;
                        ended.set(self.client.wait_graph(self.graph));
                    }
                    Err(OutputError::Store(error)) => return Err(error.into()),
                    Err(error) => return Err(CliError::failed("wait for the graph", error)),
                },
                hint = hints.next() => board.hint(hint, &mut hints).await?,
                _ = tick.tick() => {
                    board.look(None).await?;
                    board.follow(self.graph).await?;
                    // Trouble was told by the look, and this is looked for again.
                    let waits = self.waits.inside(self.client).await.unwrap_or_default();
                    waits.iter().for_each(|line| board.progress.note(line));
                }
            }
        };
        let outcome = self.leave(outcome, worker, &mut signals, &hurry, &mut board, &mut events).await?;
        board.progress.finish();
        if let Outcome::Ended(end) = outcome {
            let resumed = (self.start == Start::Resumed).then(|| since.elapsed());
            let (graph, took, store_option) = (self.graph, &board.seen, &self.store_option);
            summary::About { graph, end, resumed, took, store_option }.print(self.client).await?;
        }
        Ok(outcome)
    }

    fn start(&self, runner: std::sync::Arc<Runner>, name: &str) -> Result<WorkerHandle, CliError> {
        let queue = queue_of(self.graph).map_err(|e| CliError::failed("name the queue", e))?;
        let caller = runner.clone();
        let handler = move |exec: Exec, cx: Context| {
            let runner = runner.clone();
            async move { runner.perform(exec, cx).await }
        };
        let call = move |http: Http, cx: Context| {
            let runner = caller.clone();
            async move { runner.call(http, cx).await }
        };
        let worker = Worker::builder(self.client)
            .name(&format!("{name}/{}", std::process::id()))
            .queue(queue.as_str(), self.parallel);
        self.queues
            .iter()
            .fold(worker, |worker, (queue, slots)| worker.queue(queue, *slots))
            .drain_limit(Duration::ZERO)
            // Commands are slow, and what is shown as running does run.
            .prefetch(0)
            .handle(handler)
            .handle(call)
            .start()
            .map_err(|e| CliError::failed("start the worker", e))
    }

    /// Lets the worker hand back what it holds. A further interrupt kills what still runs.
    async fn leave(
        &self,
        outcome: Outcome,
        worker: WorkerHandle,
        signals: &mut Signals,
        hurry: &watch::Sender<bool>,
        board: &mut Board<'_>,
        events: &mut mpsc::UnboundedReceiver<Event>,
    ) -> Result<Outcome, CliError> {
        let shutdown = worker.shutdown();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                () = signals.next() => {
                    board.progress.note("killing the commands");
                    hurry.send_replace(true);
                }
                Some(event) = events.recv() => board.event(event),
            }
        }
        while let Ok(event) = events.try_recv() {
            board.event(event);
        }
        board.look(None).await?;
        if let Outcome::Ended(_) = outcome {
            return Ok(outcome);
        }
        // The last node may have ended while the commands were told to stop.
        let line = self.client.inspect().graph_line(self.graph).await?;
        Ok(line.and_then(|line| line.end).map_or(outcome, Outcome::Ended))
    }
}

/// The nodes that have not ended yet, as far as this process has seen.
struct Board<'a> {
    client: &'a Client,
    progress: Progress,
    /// The graph as it was at the start.
    detail: GraphDetail,
    open: HashMap<JobId, Open>,
    /// Those that have ended, which run again if the graph is retried.
    over: HashMap<JobId, Open>,
    /// When the retry began that was told last.
    retry_told: Option<Timestamp>,
    /// How long commands took that ended here. The store knows only since when a job is held.
    seen: HashMap<JobId, Duration>,
    /// The last trouble that was told.
    trouble: Option<String>,
}

#[derive(Debug)]
struct Open {
    name: NodeName,
    is_undo: bool,
    took: Option<Duration>,
    note: Option<String>,
}

impl<'a> Board<'a> {
    fn new(client: &'a Client, progress: Progress, detail: GraphDetail) -> Self {
        let (mut open, mut over) = (HashMap::new(), HashMap::new());
        for node in &detail.nodes {
            let nodes = if matches!(node.state, State::Ended(_)) { &mut over } else { &mut open };
            let (name, is_undo) = (node.name.clone(), node.guards.is_some());
            nodes.insert(node.job, Open { name, is_undo, took: None, note: None });
        }
        let (seen, retry_told, trouble) = (HashMap::new(), None, None);
        Self { client, progress, detail, open, over, retry_told, seen, trouble }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Started { job, attempt } => {
                self.reopen(job);
                if let Some(node) = self.open.get_mut(&job) {
                    self.progress.started(node.name.as_str(), attempt, node.note.take());
                }
            }
            Event::Over { job, took, note } => {
                if let Some(node) = self.open.get_mut(&job) {
                    node.took = Some(took);
                    node.note = note;
                    self.progress.over(node.name.as_str());
                }
            }
        }
    }

    async fn hint(&mut self, first: Hint, hints: &mut HintStream) -> Result<(), CliError> {
        let mut ended = Vec::new();
        let mut next = Some(first);
        while let Some(hint) = next {
            match hint {
                Hint::Ended(job) if self.open.contains_key(&job) => ended.push(job),
                Hint::Anything => return self.look(None).await,
                _ => {}
            }
            next = hints.try_next();
        }
        if ended.is_empty() { Ok(()) } else { self.look(Some(ended)).await }
    }

    /// Asks the store how these jobs ended, or all that are open.
    async fn look(&mut self, jobs: Option<Vec<JobId>>) -> Result<(), CliError> {
        let jobs = jobs.unwrap_or_else(|| self.open.keys().copied().collect());
        let mut found = Vec::new();
        for batch in jobs.chunks(BATCH) {
            match self.client.store().ended(batch.to_vec()).await {
                Ok(ended) => found.extend(ended.into_iter().flatten()),
                Err(error) if error.is_transient() => {
                    self.trouble(&error);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.trouble = None;
        found.sort_by_key(|ended| ended.ended_at);
        for ended in found {
            let Some(node) = self.open.remove(&ended.id) else { continue };
            let again = Open { name: node.name.clone(), is_undo: node.is_undo, took: None, note: None };
            self.over.insert(ended.id, again);
            if node.is_undo && matches!(ended.state, State::Ended(End::Skipped(_))) {
                self.progress.passed_over();
                continue;
            }
            let why = match ended.state {
                State::Ended(End::Succeeded) => node.note,
                _ => summary::why(&self.detail, &node.name, ended.cause.as_ref(), ended.error.as_deref()),
            };
            self.progress.ended(&NodeEnd { name: node.name.as_str(), state: ended.state, took: node.took, why });
            self.seen.extend(node.took.map(|took| (ended.id, took)));
        }
        Ok(())
    }

    /// A node that had ended runs again: its graph was retried.
    fn reopen(&mut self, job: JobId) {
        if let Some(node) = self.over.remove(&job) {
            self.open.insert(job, node);
            self.progress.reopened();
        }
    }

    /// Once all that was open has ended, looks whether the graph waits to be tried again, or is.
    async fn follow(&mut self, graph: GraphId) -> Result<(), CliError> {
        if self.open.values().any(|node| !node.is_undo) {
            return Ok(());
        }
        let detail = match self.client.inspect().graph(graph).await {
            Ok(Some(detail)) if detail.line.end.is_none() => detail,
            Ok(_) => return Ok(()),
            Err(error) if error.is_transient() => {
                self.trouble(&error);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        match &detail.stopped {
            Some(StopLine { reason: StopReason::Retry, at, why, .. }) if self.retry_told != Some(*at) => {
                self.progress.note(&format!("it has failed and is tried again: {why}"));
                self.retry_told = Some(*at);
            }
            Some(_) => {}
            None => {
                let open = detail.nodes.iter().filter(|node| !matches!(node.state, State::Ended(_)));
                open.for_each(|node| self.reopen(node.job));
            }
        }
        Ok(())
    }

    /// Says once that the store does not answer, and that this goes on.
    fn trouble(&mut self, error: &towpath::core::StoreError) {
        let text = error.to_string();
        if self.trouble.as_ref() != Some(&text) {
            self.progress.note(&format!("{text}; waiting for the store"));
            self.trouble = Some(text);
        }
    }
}

/// What interrupts: Ctrl-C, a polite kill, a terminal that closes.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|e| CliError::failed("listen for signals", e));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// How often the store is asked beside its hints, which may be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const BATCH: usize = 1_000;
