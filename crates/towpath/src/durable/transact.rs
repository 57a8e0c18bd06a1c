//! Transactional steps: the application's rows and the line of the journal in one commit, so that they happen exactly once.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::Outcome;
use towpath_core::store::{MemoryBody, TxEnd};

use super::function::check_name;
use super::step::{self, Attempted, Policy, StepWork};

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
pub use postgres::PostgresFn;

/// The file of a SQLite store.
#[derive(Clone, Copy, Debug)]
pub struct Sqlite;

/// The database of a PostgreSQL store.
#[derive(Clone, Copy, Debug)]
pub struct Postgres;

/// The store in memory, which keeps no rows of an application's: for tests.
#[derive(Clone, Copy, Debug)]
pub struct Memory;

/// What is told when the work is over; it answers what becomes of the rows.
pub type Finish<O, E> = Box<dyn FnOnce(Result<Result<O, E>, TxFault>) -> TxEnd + Send>;

/// Why a transactional step returned nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum TxFault {
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
    /// It took longer than it may.
    TimedOut(Duration),
}

/// Something that can be run as a transactional step on a database.
///
/// On [`Sqlite`] any `fn(&rusqlite::Connection, I) -> Result<O, E>`, on [`Postgres`] any
/// `async fn(&tokio_postgres::Client, I) -> Result<O, E>`, in [`Memory`] any `fn(I) -> Result<O, E>`.
pub trait TxFn<K, I, O, E>: Send + Sync {
    /// The work as the store takes it.
    fn body(&'static self, input: I, limit: Duration, finish: Finish<O, E>) -> Box<dyn Any + Send>;
}

impl<F, I, O, E> TxFn<Memory, I, O, E> for F
where
    F: Fn(I) -> Result<O, E> + Send + Sync,
    I: Send + 'static,
    O: 'static,
    E: 'static,
{
    fn body(&'static self, input: I, _limit: Duration, finish: Finish<O, E>) -> Box<dyn Any + Send> {
        let body: MemoryBody = Box::new(move || {
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| self(input)));
            finish(result.map_err(TxFault::Panicked))
        });
        Box::new(body)
    }
}

#[cfg(feature = "sqlite")]
impl<F, I, O, E> TxFn<Sqlite, I, O, E> for F
where
    F: Fn(&towpath_sqlite::rusqlite::Connection, I) -> Result<O, E> + Send + Sync,
    I: Send + 'static,
    O: 'static,
    E: 'static,
{
    fn body(&'static self, input: I, _limit: Duration, finish: Finish<O, E>) -> Box<dyn Any + Send> {
        let body: towpath_sqlite::SqliteBody = Box::new(move |connection| {
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| self(connection, input)));
            finish(result.map_err(TxFault::Panicked))
        });
        Box::new(body)
    }
}

/// How long a transactional step may take on PostgreSQL, unless it says otherwise.
const LIMIT: Duration = Duration::from_secs(30);

/// The definition of a transactional step: what it writes and its line in the journal are committed together, or not at all.
///
/// It works on the store's own database, inside a transaction that is the store's: it must not begin or end one. On an
/// error its rows are undone. On SQLite everybody who writes waits for it, so it is to be short.
///
/// ```
/// use towpath::durable::{Sqlite, TxStep};
/// use towpath::{Failure, rusqlite};
///
/// const ACTIVATE: TxStep<Sqlite, u64, usize, Failure> = TxStep::new("activate", &activate);
///
/// fn activate(db: &rusqlite::Connection, user: u64) -> Result<usize, Failure> {
///     Ok(db.execute("update users set active = 1 where id = ?1", [user as i64])?)
/// }
/// ```
pub struct TxStep<K: 'static, I: 'static, O: 'static, E: 'static> {
    pub(super) name: &'static str,
    pub(super) policy: Policy,
    run: &'static dyn TxFn<K, I, O, E>,
    retry_if: Option<fn(&E) -> bool>,
}

impl<K, I, O, E> TxStep<K, I, O, E> {
    /// Defines a transactional step. The name is 1 to 64 of a-z 0-9 and inner hyphens.
    ///
    /// # Panics
    /// On a bad name; in a `const` that is a compile error.
    pub const fn new(name: &'static str, run: &'static dyn TxFn<K, I, O, E>) -> Self {
        check_name(name);
        Self { name, policy: Policy::DEFAULT, run, retry_if: None }
    }

    /// The same step under another name.
    pub const fn named(mut self, name: &'static str) -> Self {
        check_name(name);
        self.name = name;
        self
    }

    /// Sets its version (1).
    pub const fn version(mut self, version: u16) -> Self {
        self.policy.version = version;
        self
    }

    /// How often it is tried (10 times).
    ///
    /// # Panics
    /// For zero; in a `const` that is a compile error.
    pub const fn attempts(mut self, attempts: u32) -> Self {
        assert!(attempts > 0, "a step is tried at least once");
        self.policy.retry.attempts_max = attempts;
        self
    }

    /// How long it may take on PostgreSQL (30 s). On SQLite it cannot be stopped.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// Which errors are worth another attempt (all).
    pub const fn retry_if(mut self, retry_if: fn(&E) -> bool) -> Self {
        self.retry_if = Some(retry_if);
        self
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its work as the store takes it, for one attempt of a job.
    pub(crate) fn body(self, input: I, finish: Finish<O, E>) -> Box<dyn Any + Send> {
        self.run.body(input, self.policy.timeout.unwrap_or(LIMIT), finish)
    }
}

impl<K, I, O, E> Clone for TxStep<K, I, O, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, I, O, E> Copy for TxStep<K, I, O, E> {}

impl<K, I, O, E> fmt::Debug for TxStep<K, I, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transactional step {} v{}", self.name, self.policy.version)
    }
}

impl<K, I, O, E> TxStep<K, I, O, E>
where
    I: Serialize + DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    /// Its work, with an input that went through its stored form.
    pub(super) fn work(self, input: &I) -> Result<StepWork, String> {
        let stored = Outcome::of(input).map_err(|e| e.problem)?;
        stored.decode::<I>().map_err(|e| e.problem)?;
        let limit = self.policy.timeout.unwrap_or(LIMIT);
        StepWork::inside(stored.clone(), self.policy, move |judge| {
            let input = stored.decode::<I>().map_err(|e| e.problem)?;
            let finish: Finish<O, E> = Box::new(move |result| {
                let attempted = match result {
                    Ok(result) => step::attempted(result, self.retry_if),
                    Err(TxFault::Panicked(panic)) => step::panicked::<O, E>(panic),
                    Err(TxFault::TimedOut(limit)) => step::timed_out::<O, E>(limit),
                };
                judge(attempted)
            });
            Ok(self.run.body(input, limit, finish))
        })
    }
}

/// Tells what becomes of a transactional step after an attempt, and of its rows.
pub(crate) type Judge = Box<dyn FnOnce(Attempted) -> TxEnd + Send>;
