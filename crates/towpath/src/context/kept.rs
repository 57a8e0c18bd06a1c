//! What a job keeps across its attempts: steps that are done once, cursors, and steps inside the store's database.

use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::store::{Mark, Note, Rows, Transact, Transacted, TxEnd};
use towpath_core::{Payload, limits};

use super::Context;
use crate::durable::{TxFault, TxStep};
use crate::failure::Failure;
use crate::notes::lost;

/// What a job has kept, read once an attempt: nobody else writes it while the claim holds.
pub(super) type Kept = Mutex<HashMap<String, Payload>>;

/// How far a job has come in a list, kept across its attempts.
///
/// Made by [`Context::cursor`].
#[derive(Debug)]
pub struct Cursor<T> {
    cx: Context,
    mark: String,
    value: Option<Payload>,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Cursor<T> {
    /// What was set last, in this attempt or in one before; `None` if nothing was.
    ///
    /// # Errors
    /// What is kept is of another shape: an older release of the application wrote it. The job is blocked until a worker of
    /// another build starts.
    pub fn get(&self) -> Result<Option<T>, Failure> {
        self.value.as_ref().map(|value| read(&self.mark, value)).transpose()
    }

    /// Keeps this value: on disk when it is answered. What comes after it is done again if the attempt fails.
    ///
    /// # Errors
    /// The store cannot be asked, the claim is lost, or the value has no stored form or more than 1 MiB of it.
    ///
    /// # Cancel safety
    /// Dropped, the value is kept or is not.
    pub async fn set(&mut self, value: &T) -> Result<(), Failure> {
        let value = encode(&self.mark, value)?;
        self.cx.keep(&self.mark, value.clone()).await?;
        self.value = Some(value);
        Ok(())
    }
}

impl Context {
    /// Does a step once in the life of the job: its result is kept, and a later attempt is given that instead of doing the step
    /// again. **At least once** in the world, for a process may die between the work and the note of it; steps on the store's own
    /// database that are done exactly once are [`transact`](Self::transact)'s.
    ///
    /// Each step of a job has a name of its own; in a loop, put a number into it, or use a [`cursor`](Self::cursor). A step whose
    /// work fails keeps nothing. What is kept is forgotten when the job, having succeeded, is requeued, and when its input is
    /// edited.
    ///
    /// ```
    /// # use towpath::{Context, Failure};
    /// async fn ship(cx: Context) -> Result<(), Failure> {
    ///     let parcel: u64 = cx.once("book-parcel", || async { Ok::<_, Failure>(book().await?) }).await?;
    ///     // If this fails, the next attempt has the same parcel.
    ///     print_label(parcel).await
    /// }
    /// # async fn book() -> Result<u64, Failure> { Ok(7) }
    /// # async fn print_label(_: u64) -> Result<(), Failure> { Ok(()) }
    /// ```
    ///
    /// # Errors
    /// That of the work; or the store cannot be asked, the claim is lost, the result has no stored form or more than 1 MiB of it,
    /// or the job keeps 1,000 steps and cursors already.
    ///
    /// # Cancel safety
    /// Dropped, the step may have been done and not noted.
    pub async fn once<T, E, Fut>(&self, name: &str, work: impl FnOnce() -> Fut) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Failure>,
        Fut: Future<Output = Result<T, E>>,
    {
        let mark = mark_name("step", name)?;
        if let Some(value) = self.kept(&mark).await? {
            return read(&mark, &value);
        }
        let done = work().await.map_err(Into::into)?;
        self.keep(&mark, encode(&mark, &done)?).await?;
        Ok(done)
    }

    /// How far the job has come under this name.
    ///
    /// ```
    /// # use towpath::{Context, Failure};
    /// async fn import(cx: Context) -> Result<(), Failure> {
    ///     let mut at = cx.cursor::<usize>("rows").await?;
    ///     let rows = vec!["a", "b", "c"];
    ///     for n in at.get()?.unwrap_or(0)..rows.len() {
    ///         import_row(rows[n]).await?;
    ///         at.set(&(n + 1)).await?;
    ///     }
    ///     Ok(())
    /// }
    /// # async fn import_row(_: &str) -> Result<(), Failure> { Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The store cannot be asked, or the name is longer than 128 bytes.
    pub async fn cursor<T: Serialize + DeserializeOwned>(&self, name: &str) -> Result<Cursor<T>, Failure> {
        let mark = mark_name("cursor", name)?;
        let value = self.kept(&mark).await?;
        Ok(Cursor { cx: self.clone(), mark, value, of: PhantomData })
    }

    /// Does a step inside the store's own database, **exactly once** in the life of the job: what it writes and the note that it
    /// is done are one commit. On an error its rows are undone. A later attempt is given the result.
    ///
    /// The same [`TxStep`] may be a step of a durable function; its attempts are the job's here. As there, it runs in a
    /// transaction of the store's, and must not begin or end one.
    ///
    /// ```
    /// use towpath::durable::{Sqlite, TxStep};
    /// use towpath::{Context, Failure, rusqlite};
    ///
    /// const BOOK: TxStep<Sqlite, u64, usize, Failure> = TxStep::new("book", &book);
    ///
    /// fn book(db: &rusqlite::Connection, cents: u64) -> Result<usize, Failure> {
    ///     Ok(db.execute("insert into booking (cents) values (?1)", [cents as i64])?)
    /// }
    ///
    /// async fn pay(cx: Context) -> Result<(), Failure> {
    ///     cx.transact(BOOK, 700).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// That of the work; or the store cannot be asked, the claim is lost, or the step is written for another database than the
    /// worker's store.
    ///
    /// # Cancel safety
    /// Dropped, all of it happens or nothing; the next attempt finds which.
    pub async fn transact<K, I, O, E>(&self, step: TxStep<K, I, O, E>, input: I) -> Result<O, Failure>
    where
        I: Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Into<Failure> + Send + 'static,
    {
        let mark = mark_name("step", step.name())?;
        if let Some(value) = self.kept(&mark).await? {
            return read(&mark, &value);
        }
        let told = Arc::new(Mutex::new(None));
        let (tell, named) = (Arc::clone(&told), mark.clone());
        let finish = Box::new(move |result: Result<Result<O, E>, TxFault>| {
            let done = result.map_err(|fault| failed(&named, &fault)).and_then(|done| done.map_err(Into::into));
            let kept = done.and_then(|done| encode(&named, &done));
            let line = kept.as_ref().ok().cloned().unwrap_or_default();
            let rows = if kept.is_ok() { Rows::Keep } else { Rows::Undo };
            *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
            TxEnd { rows, line }
        });
        let body = step.body(input, finish);
        let fence = self.inner.notes.fence();
        let work = Transact { fence, journal: Vec::new(), shows: Vec::new(), mark: Some(mark.clone()), body };
        match self.inner.client.store().transact(work).await? {
            Transacted::Done | Transacted::Paused => {}
            Transacted::Stale => return Err(lost()),
            Transacted::WrongDatabase => {
                let problem = "is written for another database than this worker's store";
                return Err(Failure::unfit(format!("the step {} {problem}", step.name())));
            }
        }
        let kept = told.lock().unwrap_or_else(PoisonError::into_inner).take();
        let value = kept.unwrap_or_else(|| Err(lost()))?;
        self.remember(&mark, value.clone()).await?;
        read(&mark, &value)
    }

    async fn kept(&self, mark: &str) -> Result<Option<Payload>, Failure> {
        let kept = self.all_kept().await?;
        Ok(kept.lock().unwrap_or_else(PoisonError::into_inner).get(mark).cloned())
    }

    async fn keep(&self, mark: &str, value: Payload) -> Result<(), Failure> {
        let notes = &self.inner.notes;
        let written = Mark { name: mark.to_owned(), value: value.clone() };
        let note = Note { marks: vec![written], ..Note::new(notes.fence()) };
        notes.write(&**self.inner.client.store(), note).await?;
        self.remember(mark, value).await
    }

    async fn remember(&self, mark: &str, value: Payload) -> Result<(), Failure> {
        let kept = self.all_kept().await?;
        kept.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.to_owned(), value);
        Ok(())
    }

    async fn all_kept(&self) -> Result<&Kept, Failure> {
        let read = || async {
            let lines = self.inner.client.store().marks(self.job()).await?;
            Ok(Mutex::new(lines.into_iter().map(|line| (line.mark.name, line.mark.value)).collect()))
        };
        self.inner.kept.get_or_try_init(read).await
    }
}

/// Longest name of a step or cursor, in bytes.
const NAME_BYTES_MAX: usize = 128;

fn mark_name(what: &str, name: &str) -> Result<String, Failure> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        let name = limits::cut(name, 60);
        let problem = format!("use 1 to {NAME_BYTES_MAX} bytes without control characters");
        return Err(Failure::permanent(format!("a {what} cannot be named {name:?}: {problem}")));
    }
    Ok(format!("{what}/{name}"))
}

fn encode<T: Serialize>(mark: &str, value: &T) -> Result<Payload, Failure> {
    let payload =
        Payload::json(value).map_err(|e| Failure::permanent(format!("the result of {mark} cannot be kept: {e}")))?;
    let (bytes, max) = (payload.bytes.len(), limits::PAYLOAD_BYTES_MAX);
    if bytes > max {
        let problem = format!("the result of {mark} has {bytes} bytes, at most {max} are kept: store it elsewhere");
        return Err(Failure::permanent(problem));
    }
    Ok(payload)
}

fn read<T: DeserializeOwned>(mark: &str, value: &Payload) -> Result<T, Failure> {
    value.decode().map_err(|e| Failure::unfit(format!("what is kept of {mark} is of another shape: {e}")))
}

fn failed(mark: &str, fault: &TxFault) -> Failure {
    match fault {
        TxFault::Panicked(panic) => Failure::new(format!("{mark} panicked: {}", crate::worker::panic_text(&**panic))),
        TxFault::TimedOut(limit) => timed_out(mark, *limit),
    }
}

fn timed_out(mark: &str, limit: Duration) -> Failure {
    Failure::new(format!("{mark} took longer than {limit:?}"))
}
