//! One connection to PostgreSQL: statements, pipelined transactions, and the link that re-makes it.
//!
//! Nothing here relies on a session of the server: settings are local to a transaction, and prepared
//! statements are given up for good once a transaction pooler shows itself.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, SimpleQueryMessage, Statement};
use towpath_core::store::{BoxFuture, Commits, StoreResult};

use crate::error::{Fault, Remedy};
use crate::pooler::{self, Pooler};
use crate::queries::{Queries, Query};

/// What all connections of a store share.
pub(crate) struct Server {
    pub(crate) config: Config,
    pub(crate) queries: Queries,
    /// Whether statements go without names.
    pub(crate) unnamed: AtomicBool,
    pooler: Pooler,
    looked: OnceCell<()>,
    pub(crate) commits: Commits,
    /// Where a test holds a verb still. Never set otherwise.
    pub(crate) pause: OnceLock<Pause>,
}

/// Called around every statement with the name of its file, or the first word of a text. For tests.
pub type Pause = Arc<dyn Fn(Moment, &'static str) -> BoxFuture<'static, ()> + Send + Sync>;

/// On which side of a statement a verb is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It is about to be sent.
    Before,
    /// It is answered.
    After,
}

/// A connection. Cheap to clone; who holds the link's lock is alone on it.
#[derive(Clone)]
pub(crate) struct Session(Arc<Open>);

struct Open {
    client: Client,
    server: Arc<Server>,
    prepared: SyncMutex<Vec<Option<Statement>>>,
    /// When the last statement was answered, and whether its transaction waits for the disk.
    answered: SyncMutex<(Instant, Commit)>,
    /// Keeps statements in their order while a test pauses one of them.
    order: Mutex<()>,
}

/// Parameters of a statement, in the order of its header.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commit {
    Durable,
    Lazy,
}

/// Every join is on a key, and a plan is kept for as long as the connection: one that was made while the tables were small
/// must be no other than when they are large. Planning for each array anew would cost more than most statements. All of
/// it ends with the transaction.
const BEGIN: &str = "begin isolation level read committed; set local plan_cache_mode to force_generic_plan; \
    set local enable_seqscan to off; set local enable_hashjoin to off; set local enable_mergejoin to off; \
    set local jit to off";

/// A question of people, or one whose plan is long, sees one instant and changes nothing. Compiling its plan, or handing
/// parts of it to other processes, takes longer than a page may.
const LOOK: &str = "begin isolation level repeatable read read only; \
    set local enable_seqscan to off; set local enable_hashjoin to off; set local enable_mergejoin to off; \
    set local jit to off; set local max_parallel_workers_per_gather to 0";

/// How a question is planned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planned {
    /// Once for a connection: what is asked is found by its key. Planning a look at a job takes five times as long as the look.
    Once,
    /// For what is asked: most filters are not set.
    EachTime,
}

impl Session {
    /// Prepares statements that are about to be pipelined, all at once. Without this the first of them would be sent
    /// after those behind it.
    pub(crate) async fn prepare(&self, queries: &[Query]) -> Result<(), Fault> {
        if self.0.server.unnamed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let missing = queries.iter().filter(|query| self.prepared(**query).is_none());
        futures_util::future::try_join_all(missing.map(|query| self.prepare_one(*query))).await?;
        Ok(())
    }

    async fn prepare_one(&self, query: Query) -> Result<Statement, tokio_postgres::Error> {
        let statement = self.0.client.prepare_typed(self.0.server.queries.text(query), query.types()).await?;
        self.0.prepared.lock().unwrap_or_else(PoisonError::into_inner)[query as usize] = Some(statement.clone());
        Ok(statement)
    }

    fn prepared(&self, query: Query) -> Option<Statement> {
        self.0.prepared.lock().unwrap_or_else(PoisonError::into_inner)[query as usize].clone()
    }

    /// Runs a statement. Futures that are polled one after the other are sent in that order, without waiting.
    pub(crate) async fn run(&self, query: Query, params: Params<'_>) -> Result<Vec<Row>, Fault> {
        match self.0.server.pause.get() {
            None => self.send(query, params).await,
            Some(pause) => self.paused(pause, query.name(), self.send(query, params)).await,
        }
    }

    /// Gives a test time on both sides of a statement. Those behind it wait.
    async fn paused<T>(
        &self,
        pause: &Pause,
        name: &'static str,
        statement: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let _in_order = self.0.order.lock().await;
        pause(Moment::Before, name).await;
        let answer = statement.await?;
        pause(Moment::After, name).await;
        Ok(answer)
    }

    async fn send(&self, query: Query, params: Params<'_>) -> Result<Vec<Row>, Fault> {
        let rows = if self.0.server.unnamed.load(Ordering::Relaxed) {
            let typed: Vec<_> = params.iter().copied().zip(query.types().iter().cloned()).collect();
            self.0.client.query_typed(self.0.server.queries.text(query), &typed).await?
        } else {
            let statement = match self.prepared(query) {
                Some(statement) => statement,
                None => self.prepare_one(query).await?,
            };
            self.0.client.query(&statement, params).await?
        };
        self.answered().0 = Instant::now();
        Ok(rows)
    }

    fn answered(&self) -> MutexGuard<'_, (Instant, Commit)> {
        self.0.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement that answers one row.
    pub(crate) async fn one(&self, query: Query, params: Params<'_>) -> Result<Row, Fault> {
        let rows = self.run(query, params).await?;
        rows.into_iter().next().ok_or_else(|| Fault::corrupt("read an answer", format!("{query:?} answered no row")))
    }

    pub(crate) async fn begin(&self, commit: Commit) -> Result<(), Fault> {
        self.answered().1 = commit;
        match commit {
            Commit::Durable => self.bound("begin", BEGIN).await,
            Commit::Lazy => self.bound("begin", &format!("{BEGIN}; set local synchronous_commit to off")).await,
        }
    }

    /// Begins a transaction for questions, which [`end_look`](Self::end_look) ends.
    pub(crate) async fn begin_look(&self, planned: Planned) -> Result<(), Fault> {
        let mode = match planned {
            Planned::Once => "generic",
            Planned::EachTime => "custom",
        };
        self.bound("look", &format!("{LOOK}; set local plan_cache_mode to force_{mode}_plan")).await
    }

    /// Ends it. There is nothing to be kept, and no commit to be counted.
    pub(crate) async fn end_look(&self) -> Result<(), Fault> {
        self.bound("looked", "commit").await
    }

    /// Commits, and counts it. A commit is sent behind the statements before it, so its time begins when the last of them
    /// is answered: from then on the server does nothing else for this session.
    pub(crate) async fn commit(&self) -> Result<(), Fault> {
        let sent = Instant::now();
        self.bound("commit", "commit").await?;
        let (answered, commit) = *self.answered();
        match commit {
            Commit::Durable => self.0.server.commits.durable(answered.max(sent).elapsed()),
            Commit::Lazy => self.0.server.commits.lazy(),
        }
        Ok(())
    }

    /// Begins or ends a transaction.
    async fn bound(&self, name: &'static str, text: &str) -> Result<(), Fault> {
        match self.0.server.pause.get() {
            None => self.batch(text).await,
            Some(pause) => self.paused(pause, name, self.batch(text)).await,
        }
    }

    /// The connection itself, for statements of an application inside a transaction of the store's.
    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    /// Asks for one value, as text, without a statement of its own.
    pub(crate) async fn ask(&self, text: &str) -> Result<Option<String>, Fault> {
        let messages = self.0.client.simple_query(text).await?;
        Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// Runs texts without parameters or answers.
    pub(crate) async fn batch(&self, text: &str) -> Result<(), Fault> {
        Ok(self.0.client.batch_execute(text).await?)
    }
}

/// The way to the server for one purpose: a connection that is made when it is first needed, and again when it is lost.
pub(crate) struct Link {
    server: Arc<Server>,
    slot: Mutex<Slot>,
}

struct Slot {
    session: Option<Session>,
    failures: u32,
    not_before: Instant,
}

/// Attempts at a verb before others are said to be in the way.
const ATTEMPTS_MAX: u32 = 8;
/// How long a verb may take; after that the connection is taken for dead.
const VERB_MAX: Duration = Duration::from_secs(60);
/// The longest pause between attempts to connect.
const RECONNECT_MAX: Duration = Duration::from_secs(2);

impl Link {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self { server, slot: Mutex::new(Slot { session: None, failures: 0, not_before: Instant::now() }) }
    }

    /// Carries out a verb, replaying it while that can help. A verb that fails is rolled back.
    pub(crate) async fn work<T, F>(&self, doing: &'static str, verb: impl Fn(Session) -> F) -> StoreResult<T>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let mut slot = self.slot.lock().await;
        let mut attempt = 1;
        loop {
            let session = self.session(&mut slot).await.map_err(|fault| fault.into_store(doing))?;
            let outcome = tokio::time::timeout(VERB_MAX, verb(session.clone())).await;
            let fault = match outcome.unwrap_or(Err(Fault::Slow)) {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let remedy = fault.remedy();
            if remedy == Remedy::Reconnect || session.batch("rollback").await.is_err() {
                slot.session = None;
            }
            match remedy {
                Remedy::Unnamed if !self.server.unnamed.swap(true, Ordering::Relaxed) => {
                    tracing::info!("a transaction pooler shows itself: statements go without names from now on");
                }
                Remedy::Replay | Remedy::Unnamed if attempt < ATTEMPTS_MAX => {
                    tracing::debug!(doing, attempt, ?fault, "replaying");
                    tokio::time::sleep(jittered(Duration::from_millis(4) * attempt)).await;
                }
                _ => return Err(fault.into_store(doing)),
            }
            attempt += 1;
        }
    }

    async fn session(&self, slot: &mut Slot) -> Result<Session, Fault> {
        if let Some(session) = slot.session.as_ref().filter(|session| !session.0.client.is_closed()) {
            return Ok(session.clone());
        }
        tokio::time::sleep_until(slot.not_before).await;
        match self.server.connect().await {
            Ok(session) => {
                slot.failures = 0;
                Ok(slot.session.insert(session).clone())
            }
            Err(fault) => {
                let pause = Duration::from_millis(50) * 2_u32.pow(slot.failures.min(6));
                slot.failures += 1;
                slot.not_before = Instant::now() + jittered(pause.min(RECONNECT_MAX));
                Err(fault)
            }
        }
    }
}

impl Server {
    pub(crate) fn new(config: Config, queries: Queries, pooler: Pooler) -> Self {
        let unnamed = AtomicBool::new(pooler != Pooler::None);
        Self {
            config,
            queries,
            unnamed,
            pooler,
            looked: OnceCell::new(),
            commits: Commits::default(),
            pause: OnceLock::new(),
        }
    }

    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Session, Fault> {
        let (client, connection) = self.config.connect(NoTls).await?;
        self.looked.get_or_init(|| self.look_for_pooler()).await;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "a connection to PostgreSQL is lost");
            }
        });
        let prepared = SyncMutex::new(vec![None; Query::COUNT]);
        let answered = SyncMutex::new((Instant::now(), Commit::Lazy));
        Ok(Session(Arc::new(Open { client, server: Arc::clone(self), prepared, answered, order: Mutex::new(()) })))
    }
}

impl Server {
    /// Once the server can be reached: statements get names if nothing stands between.
    async fn look_for_pooler(&self) {
        if self.pooler == Pooler::Unsaid && pooler::is_direct(&self.config).await {
            self.unnamed.store(false, Ordering::Relaxed);
        }
    }
}

/// A pause of about this length, so that those who met once do not meet again.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let percent = 50 + RandomState::new().hash_one(()) % 101;
    pause * u32::try_from(percent).unwrap_or(100) / 100
}
