//! The one writer, and how calls share it.
//!
//! A call puts its verb into a queue. Whoever then gets the writer runs everything queued as one
//! transaction, commits, and answers the others. So a lone call runs on its caller's thread and pays no
//! hop, and calls that meet pay one fsync together. A leader serves a bounded number of rounds; what is
//! queued then goes to a thread that otherwise sleeps, so that no caller works for others for long, and
//! a dropped future leaves nobody waiting.
//!
//! Each verb of a group runs inside its own savepoint: one that fails is undone alone. If the commit
//! fails, all of the group have failed.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use rusqlite::Connection;
use towpath_core::store::{Commits, Hints, StoreResult};
use towpath_core::{StoreError, StoreErrorKind, defaults};

use crate::checkpoint;
use crate::db::Db;
use crate::error::Fault;
use crate::hints::{self, Watch};
use crate::open::{self, SqliteOptions, Synchronous};
use crate::queries::Query;
use crate::tx::{Memory, Rings, Sequence, Tx};

/// Groups that one caller runs before it hands over.
const ROUNDS: usize = 2;
/// Verbs in one group: a transaction that others wait for stays short.
const GROUP_MAX: usize = 256;

/// Whether a verb must be on disk before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// It must.
    Durable,
    /// Losing it in a power cut only means that it is done again.
    Lazy,
}

/// The writer, its queue, and the threads that serve both.
pub(crate) struct Core {
    path: PathBuf,
    options: SqliteOptions,
    writer: Mutex<Writer>,
    queue: Mutex<VecDeque<Box<dyn Verb>>>,
    pub(crate) hints: Hints,
    pub(crate) commits: Commits,
    /// Pages that the log has grown by since the last checkpoint was asked for.
    grown: AtomicU64,
    served: Arc<Signal>,
    checkpoints: Arc<Signal>,
}

/// What belongs to whoever writes.
struct Writer {
    conn: Connection,
    memory: Memory,
    watch: Watch,
    /// The value that the connection has now.
    synchronous: Option<Synchronous>,
}

/// A call that is queued. One that is dropped before it leads leaves the queue to the thread that otherwise sleeps.
struct Queued<'a>(&'a Core);

impl Queued<'_> {
    fn lead(self) {
        self.0.lead();
        std::mem::forget(self);
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.served.raise();
    }
}

/// Lets whatever else its task or executor has at hand go first, once.
async fn pass_once() {
    let mut passed = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut passed, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Core {
    /// Opens the file and starts the two threads.
    pub(crate) fn open(path: &Path, options: SqliteOptions) -> Result<Arc<Self>, Fault> {
        let conn = open::writer(path, &options)?;
        let core = Arc::new(Self {
            path: path.to_owned(),
            options,
            writer: Mutex::new(Writer { conn, memory: Memory::default(), watch: Watch::default(), synchronous: None }),
            queue: Mutex::default(),
            hints: Hints::new(),
            commits: Commits::default(),
            grown: AtomicU64::new(0),
            served: Arc::default(),
            checkpoints: Arc::default(),
        });
        let (weak, signal) = (Arc::downgrade(&core), core.served.clone());
        spawn("towpath-sqlite-writer", move || serve(&weak, &signal))?;
        let (weak, signal) = (Arc::downgrade(&core), core.checkpoints.clone());
        spawn("towpath-sqlite-checkpoint", move || checkpoint::keep(&weak, &signal))?;
        Ok(core)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn options(&self) -> &SqliteOptions {
        &self.options
    }

    /// Wakes the thread that looks for other processes' commits.
    pub(crate) fn listen(&self) {
        self.served.raise();
    }

    /// Runs a verb in a transaction, alone or with others.
    ///
    /// # Cancel safety
    /// Dropped before its first poll it does nothing, later it happens all the same, whole.
    pub(crate) async fn submit<T: Send + 'static>(
        &self,
        doing: &'static str,
        commit: Commit,
        work: impl FnOnce(&mut Tx<'_, '_>) -> Result<T, Fault> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        lock(&self.queue).push_back(Box::new(Call { doing, commit, work: Some(work), done: None, reply }));
        let queued = Queued(self);
        // Others that are ready to call share the commit.
        pass_once().await;
        queued.lead();
        answer.await.unwrap_or_else(|_| {
            Err(StoreError::new(StoreErrorKind::Unavailable, doing, "the writer stopped in the middle: try again"))
        })
    }

    /// Runs what is queued, if the writer is free. If it is not, whoever has it looks again.
    fn lead(&self) {
        let mut writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for _ in 0..ROUNDS {
            if !self.round(&mut writer) {
                break;
            }
        }
        self.release(writer);
    }

    /// Runs `work` while nobody writes.
    pub(crate) fn hold<T>(&self, work: impl FnOnce() -> T) -> T {
        let writer = lock(&self.writer);
        let done = work();
        self.release(writer);
        done
    }

    /// Gives the writer back. A verb that was queued after the last round, by a caller that found the
    /// writer taken, is seen here, since it was queued before that caller looked.
    fn release(&self, writer: MutexGuard<'_, Writer>) {
        drop(writer);
        if !lock(&self.queue).is_empty() {
            self.served.raise();
        }
    }

    /// Runs one group; whether there was one.
    fn round(&self, writer: &mut Writer) -> bool {
        let mut group: Vec<Box<dyn Verb>> = {
            let mut queue = lock(&self.queue);
            let count = queue.len().min(GROUP_MAX);
            queue.drain(..count).collect()
        };
        if group.is_empty() {
            return false;
        }
        let mut rings = Rings { heard: self.hints.is_heard(), ..Rings::default() };
        let committed = self.transact(writer, &mut group, &mut rings);
        if committed.is_ok() {
            hints::ring(&self.hints, rings);
        }
        for verb in group {
            verb.answer(committed.as_ref().err());
        }
        true
    }

    fn transact(&self, writer: &mut Writer, group: &mut [Box<dyn Verb>], rings: &mut Rings) -> Result<(), Fault> {
        writer.rest();
        let commit = match group.iter().any(|v| v.commit() == Commit::Durable) {
            true if self.options.synchronous == Synchronous::Full => Synchronous::Full,
            _ => Synchronous::Normal,
        };
        writer.set_synchronous(commit)?;
        let before = writer.conn.total_changes();
        let done = writer.run(group, rings, self);
        let done = done.map(|took| (took, writer.conn.total_changes() - before));
        if done.is_err() {
            // The first error is the one to tell; SQLite may have rolled back by itself already.
            writer.rest();
        }
        if let (Some(took), changes @ 1..) = done? {
            self.count(commit, took, changes);
        }
        Ok(())
    }

    fn count(&self, commit: Synchronous, took: Duration, changes: u64) {
        match commit {
            Synchronous::Full => self.commits.durable(took),
            Synchronous::Normal => self.commits.lazy(),
        }
        let pages = checkpoint::pages(changes);
        if self.grown.fetch_add(pages, Ordering::Relaxed) + pages > checkpoint::PAGES_WANTED {
            self.grown.store(0, Ordering::Relaxed);
            self.checkpoints.raise();
        }
    }
}

#[cfg(test)]
impl Core {
    pub(crate) fn queued(&self) -> usize {
        lock(&self.queue).len()
    }

    pub(crate) fn with_writer<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&lock(&self.writer).conn)
    }

    pub(crate) fn has_looked(&self) -> bool {
        lock(&self.writer).watch.has_looked()
    }

    pub(crate) fn checkpoint_now(&self) {
        self.checkpoints.raise();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.served.stop();
        self.checkpoints.stop();
    }
}

impl Writer {
    /// Runs a group in a transaction; answers how long its commit took, unless there was nothing to commit. With an error
    /// nothing of it has happened.
    fn run(&mut self, group: &mut [Box<dyn Verb>], rings: &mut Rings, core: &Core) -> Result<Option<Duration>, Fault> {
        let db = &mut Db::new(&self.conn);
        db.run(Query::Begin, [])?;
        if rings.heard {
            self.watch.look(db, &core.hints)?;
        }
        let mut sequence = Sequence::default();
        let alone = group.len() == 1;
        for verb in group {
            let mut own = Rings { heard: rings.heard, ..Rings::default() };
            if !alone {
                db.run(Query::VerbBegin, [])?;
            }
            let now = core.options.clock.now();
            let done = verb.run(&mut Tx::new(db, now, &mut self.memory, &mut sequence, &mut own));
            if let Err(fault) = done {
                self.memory.lanes.forget();
                if db.conn.is_autocommit() {
                    return Err(fault);
                }
                if alone {
                    db.run(Query::Rollback, [])?;
                    return Ok(None);
                }
                db.run(Query::VerbUndo, [])?;
            } else {
                rings.append(own);
            }
            if !alone {
                db.run(Query::VerbKeep, [])?;
            }
        }
        sequence.write(db)?;
        let before = Instant::now();
        db.run(Query::Commit, [])?;
        Ok(Some(before.elapsed()))
    }

    /// Leaves no transaction open, whatever was before, such as a panic.
    fn rest(&mut self) {
        if !self.conn.is_autocommit() {
            self.memory.lanes.forget();
            // If this fails too, the next BEGIN says why.
            let _ = self.conn.execute_batch(sql!("rollback"));
        }
    }

    fn set_synchronous(&mut self, wanted: Synchronous) -> Result<(), Fault> {
        if self.synchronous != Some(wanted) {
            let value = match wanted {
                Synchronous::Full => "full",
                Synchronous::Normal => "normal",
            };
            self.conn.pragma_update(None, "synchronous", value)?;
            self.synchronous = Some(wanted);
        }
        Ok(())
    }
}

/// A verb in the queue.
trait Verb: Send {
    fn commit(&self) -> Commit;
    /// Runs it; an error means that it must be undone.
    fn run(&mut self, tx: &mut Tx<'_, '_>) -> Result<(), Fault>;
    /// Answers its caller, who may be gone.
    fn answer(self: Box<Self>, failed: Option<&Fault>);
}

struct Call<T, F> {
    doing: &'static str,
    commit: Commit,
    work: Option<F>,
    done: Option<StoreResult<T>>,
    reply: oneshot::Sender<StoreResult<T>>,
}

impl<T: Send, F: FnOnce(&mut Tx<'_, '_>) -> Result<T, Fault> + Send> Verb for Call<T, F> {
    fn commit(&self) -> Commit {
        self.commit
    }

    fn run(&mut self, tx: &mut Tx<'_, '_>) -> Result<(), Fault> {
        let Some(work) = self.work.take() else { return Ok(()) };
        // Whoever leads runs the verbs of others: a fault of ours in one must not end another's thread.
        let done = catch_unwind(AssertUnwindSafe(|| work(tx)))
            .unwrap_or_else(|_| Err(Fault::corrupt("it panicked: nothing of it was written, please report it")));
        match done {
            Ok(done) => {
                self.done = Some(Ok(done));
                Ok(())
            }
            Err(fault) => {
                let told = Fault::Refused(fault.kind(), fault.shared(self.doing).message);
                self.done = Some(Err(fault.during(self.doing)));
                Err(told)
            }
        }
    }

    fn answer(self: Box<Self>, failed: Option<&Fault>) {
        let answer = match (self.done, failed) {
            (Some(Err(own)), _) => Err(own),
            (_, Some(fault)) => Err(fault.shared(self.doing)),
            (Some(done), None) => done,
            (None, None) => Err(StoreError::new(StoreErrorKind::Unavailable, self.doing, "it was not run: try again")),
        };
        // A dropped future does not want to know.
        let _ = self.reply.send(answer);
    }
}

/// The thread behind the writer: serves what leaders left, and looks for other processes' commits while
/// somebody listens.
fn serve(core: &Weak<Core>, signal: &Signal) {
    let mut every = None;
    while signal.wait(every) {
        let Some(core) = core.upgrade() else { return };
        let mut writer = lock(&core.writer);
        while core.round(&mut writer) {}
        every = core.hints.is_heard().then_some(defaults::SQLITE_WATCH);
        if every.is_some() {
            let Writer { conn, watch, .. } = &mut *writer;
            // Hints may be lost: polling is the truth.
            let _ = watch.look(&mut Db::new(conn), &core.hints);
        }
        core.release(writer);
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    match thread::Builder::new().name(name.into()).spawn(body) {
        Ok(_) => Ok(()),
        Err(e) => Err(Fault::Refused(StoreErrorKind::Unavailable, format!("no thread could be started: {e}"))),
    }
}

/// Locks even after a panic: what the lock guards is brought to rest before it is used again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A bell that a thread sleeps by.
#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<Ringing>,
    bell: Condvar,
}

#[derive(Default)]
struct Ringing {
    raised: bool,
    stopped: bool,
}

impl Signal {
    /// Wakes the sleeper.
    pub(crate) fn raise(&self) {
        lock(&self.state).raised = true;
        self.bell.notify_one();
    }

    fn stop(&self) {
        lock(&self.state).stopped = true;
        self.bell.notify_one();
    }

    /// Sleeps until raised, or for `at_most`. Whether to go on.
    pub(crate) fn wait(&self, at_most: Option<Duration>) -> bool {
        let state = lock(&self.state);
        let asleep = |s: &mut Ringing| !s.raised && !s.stopped;
        let mut state = match at_most {
            None => self.bell.wait_while(state, asleep).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => self.bell.wait_timeout_while(state, limit, asleep).unwrap_or_else(PoisonError::into_inner).0,
        };
        state.raised = false;
        !state.stopped
    }

    /// Sleeps for that long, unless stopped.
    pub(crate) fn pause(&self, limit: Duration) {
        let state = lock(&self.state);
        let woken = self.bell.wait_timeout_while(state, limit, |s| !s.stopped);
        drop(woken);
    }
}
