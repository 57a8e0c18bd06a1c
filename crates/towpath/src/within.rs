//! Enqueues, starts and signals inside an application's own transaction: they are there if it commits, and not if it does not.
//!
//! The store sends one statement more on the application's connection; nothing here begins or ends a transaction. Workers
//! are woken after the commit ([`Wake::ring`]), or else find the work at their next poll.

#[cfg(feature = "postgres")]
use std::error::Error as StdError;
use std::future::Future;

use bytes::Bytes;
#[cfg(feature = "postgres")]
use towpath_core::store::BoxFuture;
use towpath_core::store::{Arrival, Delivery, Enqueue, Enqueued, Item, Placed, Refusal, Signalled, Wake};
use towpath_core::{BlobName, DecodeError, Kind, Payload, Store};
use tracing::Instrument;

use crate::client::{Client, JobBuilder, JobHandle};
use crate::durable::RunHandle;
use crate::durable::{ForkBuilder, SignalBuilder, StartBuilder};
use crate::error::{Error, ForkError};
use crate::graph::{Graph, GraphHandle};
use crate::job::Job;
use crate::trace;

/// A transaction of an application's, in the database of the store.
///
/// With the features `sqlite` and `postgres` a `&rusqlite::Connection` (which a `rusqlite::Transaction` is), a
/// `&tokio_postgres::Transaction` and a `&tokio_postgres::Client` that is inside a transaction are such; any other driver of
/// PostgreSQL is by `SqlText`. In a task that may change its thread a `&mut rusqlite::Connection`, or one by value, can be held.
pub trait Enlist {
    /// Enqueues in it.
    fn enqueue(&mut self, store: &dyn Store, batch: Enqueue) -> impl Future<Output = Result<(Enqueued, Wake), Error>>;

    /// Signals in it.
    fn signal(
        &mut self,
        store: &dyn Store,
        arrivals: Vec<Arrival>,
    ) -> impl Future<Output = Result<(Signalled, Wake), Error>>;

    /// Keeps a large payload in a table of the store, before the job that names it.
    fn put_blob(&mut self, store: &dyn Store, name: BlobName, bytes: Bytes) -> impl Future<Output = Result<(), Error>>;

    /// The inputs of a kind's jobs that have not ended, as it sees them.
    fn enqueued(&mut self, store: &dyn Store, kind: Kind) -> impl Future<Output = Result<Vec<Payload>, Error>>;
}

/// A client inside a transaction of the application's. See [`Client::within`].
pub struct Within<'c, T> {
    client: &'c Client,
    transaction: T,
    wake: Wake,
}

impl Client {
    /// Enqueues, starts and signals inside a transaction of the application's in the store's own database.
    ///
    /// ```no_run
    /// # #[cfg(feature = "sqlite")]
    /// # mod doc {
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Client, Job, rusqlite};
    /// # #[derive(Serialize, Deserialize, Job)]
    /// # #[job(kind = "ship")]
    /// # struct Ship(u64);
    /// # async fn f(client: Client, db: &mut rusqlite::Connection) -> Result<(), Box<dyn std::error::Error>> {
    /// let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    /// tx.execute("insert into orders (id) values (7)", [])?;
    /// let mut within = client.within(&*tx);
    /// within.enqueue(&Ship(7)).await?;
    /// let wake = within.done();
    /// tx.commit()?;
    /// wake.ring();
    /// # Ok(())
    /// # }
    /// # }
    /// ```
    pub fn within<T: Enlist>(&self, transaction: T) -> Within<'_, T> {
        Within { client: self, transaction, wake: Wake::none() }
    }
}

impl<T: Enlist> Within<'_, T> {
    /// Enqueues a job with its kind's defaults.
    ///
    /// # Errors
    /// As [`Client::enqueue`]; besides, the transaction is not one of the store's database. PostgreSQL has then aborted the
    /// transaction if it was the database that refused; a refusal of the product's own leaves it as it was.
    pub async fn enqueue<J: Job>(&mut self, job: &J) -> Result<JobHandle<J>, Error> {
        let builder = self.client.job(job);
        self.job(builder).await
    }

    /// Enqueues a job with settings of its own, as [`Client::job`] makes it.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub async fn job<J: Job>(&mut self, job: JobBuilder<'_, J>) -> Result<JobHandle<J>, Error> {
        let job = job.build()?;
        let id = job.id;
        Ok(JobHandle::of(id, self.item(Item::job(job)).await?))
    }

    /// Enqueues a whole graph.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub async fn graph(&mut self, graph: Graph) -> Result<GraphHandle, Error> {
        let id = graph.id();
        Ok(GraphHandle::of(id, self.item(graph.into_item()).await?))
    }

    /// Starts a run, as [`Client::start`] makes it.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub async fn start<O, E>(&mut self, run: StartBuilder<'_, O, E>) -> Result<RunHandle<O, E>, Error> {
        let (item, started) = run.into_parts()?;
        let answers = self.send(vec![item]).await?;
        started.handle(answers.into_iter().next())
    }

    /// Starts a run that goes on from what another one has recorded, as [`Client::fork`] makes it. The other one's journal is read
    /// outside of the transaction; if its lines are gone by then, the fork is refused.
    ///
    /// # Errors
    /// As of [`Client::fork`], and of [`enqueue`](Self::enqueue).
    pub async fn fork<O, E>(&mut self, fork: ForkBuilder<'_, O, E>) -> Result<RunHandle<O, E>, ForkError> {
        let start = fork.prepare().await?;
        Ok(self.start(start).await?)
    }

    /// Sends a signal to a run, as [`Client::signal`] makes it.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub async fn signal(&mut self, signal: SignalBuilder<'_>) -> Result<Delivery, Error> {
        let arrivals = vec![signal.into_arrival()?];
        let (signalled, wake) = self.transaction.signal(&**self.client.store(), arrivals).await?;
        self.add(wake);
        match signalled.items.into_iter().next() {
            Some(answer) => Ok(answer?),
            None => Ok(Delivery::Duplicate),
        }
    }

    /// Enqueues what was put together by hand, in one statement; an answer for each, in order. A refusal is of one item alone:
    /// whoever wants all or nothing rolls back.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub async fn items(&mut self, items: Vec<Item>) -> Result<Vec<Result<Placed, Refusal>>, Error> {
        self.send(items).await
    }

    /// The jobs of a type that have not ended, as the transaction sees them, in the order in which they were enqueued: what a test asks
    /// before it rolls back. The newest 1,000; it goes through all jobs of the store.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue), and [`Error::Decode`]: one cannot be read as this type.
    pub async fn enqueued<J: Job>(&mut self) -> Result<Vec<J>, Error> {
        let kind = J::KIND.parse::<Kind>()?;
        let mut jobs = Vec::new();
        for input in self.transaction.enqueued(&**self.client.store(), kind).await? {
            let input = self.client.fetch(input).await?;
            let unreadable =
                |e: DecodeError| Error::Decode { what: format!("a stored {}", J::KIND), problem: e.problem };
            jobs.push(input.decode().map_err(unreadable)?);
        }
        Ok(jobs)
    }

    /// Lets the transaction go. Commit it, then [ring](Wake::ring).
    pub fn done(self) -> Wake {
        self.wake
    }

    async fn item(&mut self, item: Item) -> Result<Placed, Error> {
        match self.send(vec![item]).await?.into_iter().next() {
            Some(answer) => Ok(answer?),
            None => Err(Refusal::Invalid { problem: "the store answered nothing".into() }.into()),
        }
    }

    async fn send(&mut self, items: Vec<Item>) -> Result<Vec<Result<Placed, Refusal>>, Error> {
        let mut items = items.into_iter().map(|item| self.client.within_limits(item)).collect::<Result<Vec<_>, _>>()?;
        self.client.run_hooks(&mut items)?;
        self.client.put_inputs_away_in(&mut self.transaction, &mut items).await?;
        let span = trace::enqueue(&mut items);
        let enqueue = self.transaction.enqueue(&**self.client.store(), Enqueue { items });
        let (enqueued, wake) = enqueue.instrument(span).await?;
        self.add(wake);
        Ok(enqueued.items)
    }

    fn add(&mut self, wake: Wake) {
        self.wake = std::mem::replace(&mut self.wake, Wake::none()).and(wake);
    }
}

/// Any driver of PostgreSQL: what runs a statement that has one parameter, a text, and gives the one text that it answers.
#[cfg(feature = "postgres")]
#[derive(Debug)]
pub struct SqlText<'t, C, F> {
    connection: &'t mut C,
    run: F,
}

#[cfg(feature = "postgres")]
impl<'t, C: Send, F> SqlText<'t, C, F> {
    /// A connection of the driver's that is inside a transaction, and how a statement runs on it.
    ///
    /// ```ignore
    /// let mut tx = pool.begin().await?; // sqlx
    /// let mut within = client.within(SqlText::on(&mut *tx, |db, statement, argument| {
    ///     Box::pin(async move { sqlx::query_scalar(AssertSqlSafe(statement)).bind(argument).fetch_one(db).await })
    /// }));
    /// within.enqueue(&Ship(7)).await?;
    /// let wake = within.done();
    /// tx.commit().await?;
    /// wake.ring();
    /// ```
    pub fn on<E>(connection: &'t mut C, run: F) -> Self
    where
        F: for<'a> FnMut(&'a mut C, String, String) -> BoxFuture<'a, Result<String, E>>,
    {
        Self { connection, run }
    }
}

/// A refusal of a transaction that is none of the store's.
#[cfg_attr(not(any(feature = "postgres", feature = "sqlite")), allow(dead_code))]
fn another_store(wanted: &str) -> Error {
    let problem = format!("the transaction is one of {wanted}, and the client's store is not: use its own database");
    Refusal::Invalid { problem }.into()
}

#[cfg(feature = "postgres")]
mod postgres {
    use towpath_core::{StoreError, StoreErrorKind};
    use towpath_postgres::PostgresStore;
    use towpath_postgres::tokio_postgres::types::Type;
    use towpath_postgres::tokio_postgres::{self, GenericClient};

    use super::{
        Arrival, BlobName, BoxFuture, Bytes, Enlist, Enqueue, Enqueued, Error, Future, Kind, Payload, Signalled,
        SqlText, StdError, Store, Wake, another_store,
    };

    fn store_of(store: &dyn Store) -> Result<&PostgresStore, Error> {
        let own = store.as_any().and_then(|store| store.downcast_ref());
        own.ok_or_else(|| another_store("PostgreSQL"))
    }

    async fn enqueue<Fut, E>(
        store: &dyn Store,
        batch: Enqueue,
        run: impl FnOnce(String, String) -> Fut,
    ) -> Result<(Enqueued, Wake), Error>
    where
        Fut: Future<Output = Result<String, E>>,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        // In a box: a task of the application's is `Send` only if it need not look into this.
        let text: BoxFuture<'_, _> = Box::pin(store_of(store)?.enqueue_text(batch));
        let text = text.await?;
        let (statement, argument) = (text.statement().to_owned(), text.argument().to_owned());
        let answer = run(statement, argument).await.map_err(|e| refused("enqueue", e))?;
        Ok(text.answered(&answer)?)
    }

    async fn signal<Fut, E>(
        store: &dyn Store,
        arrivals: Vec<Arrival>,
        run: impl FnOnce(String, String) -> Fut,
    ) -> Result<(Signalled, Wake), Error>
    where
        Fut: Future<Output = Result<String, E>>,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let text = store_of(store)?.signal_text(arrivals)?;
        let (statement, argument) = (text.statement().to_owned(), text.argument().to_owned());
        let answer = run(statement, argument).await.map_err(|e| refused("signal", e))?;
        Ok(text.answered(&answer)?)
    }

    async fn enqueued<Fut, E>(
        store: &dyn Store,
        kind: Kind,
        run: impl FnOnce(String, String) -> Fut,
    ) -> Result<Vec<Payload>, Error>
    where
        Fut: Future<Output = Result<String, E>>,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let statement = store_of(store)?.enqueued_statement().to_owned();
        let answer = run(statement, kind.as_str().to_owned()).await.map_err(|e| refused("look", e))?;
        Ok(PostgresStore::read_enqueued(&answer)?)
    }

    fn refused(doing: &'static str, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let error = error.into();
        let message = format!("the application's transaction could not carry it ({error}): roll back, and begin anew");
        StoreError::new(StoreErrorKind::Unavailable, doing, message).because(error).into()
    }

    async fn ask(
        client: &impl GenericClient,
        statement: String,
        argument: String,
    ) -> Result<String, Box<dyn StdError + Send + Sync>> {
        let rows = client.query_typed(&statement, &[(&argument, Type::TEXT)]).await?;
        Ok(rows.first().ok_or("the statement gave no row")?.try_get(0)?)
    }

    macro_rules! enlist {
        ($client:ty) => {
            impl Enlist for $client {
                async fn enqueue(&mut self, store: &dyn Store, batch: Enqueue) -> Result<(Enqueued, Wake), Error> {
                    enqueue(store, batch, |statement, argument| ask(*self, statement, argument)).await
                }

                async fn signal(
                    &mut self,
                    store: &dyn Store,
                    arrivals: Vec<Arrival>,
                ) -> Result<(Signalled, Wake), Error> {
                    signal(store, arrivals, |statement, argument| ask(*self, statement, argument)).await
                }

                // On a connection of the store's: rolled back, it is swept as any blob without a job.
                async fn put_blob(&mut self, store: &dyn Store, name: BlobName, bytes: Bytes) -> Result<(), Error> {
                    Ok(store.blobs().put(name, bytes).await?)
                }

                async fn enqueued(&mut self, store: &dyn Store, kind: Kind) -> Result<Vec<Payload>, Error> {
                    enqueued(store, kind, |statement, argument| ask(*self, statement, argument)).await
                }
            }
        };
    }

    enlist!(&tokio_postgres::Transaction<'_>);
    enlist!(&tokio_postgres::Client);

    // The future of the driver comes in a box that is `Send`: of a closure's own future no task could tell.
    impl<C, F, E> Enlist for SqlText<'_, C, F>
    where
        C: Send,
        F: for<'a> FnMut(&'a mut C, String, String) -> BoxFuture<'a, Result<String, E>>,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        async fn enqueue(&mut self, store: &dyn Store, batch: Enqueue) -> Result<(Enqueued, Wake), Error> {
            enqueue(store, batch, |statement, argument| (self.run)(self.connection, statement, argument)).await
        }

        async fn signal(&mut self, store: &dyn Store, arrivals: Vec<Arrival>) -> Result<(Signalled, Wake), Error> {
            signal(store, arrivals, |statement, argument| (self.run)(self.connection, statement, argument)).await
        }

        async fn put_blob(&mut self, store: &dyn Store, name: BlobName, bytes: Bytes) -> Result<(), Error> {
            Ok(store.blobs().put(name, bytes).await?)
        }

        async fn enqueued(&mut self, store: &dyn Store, kind: Kind) -> Result<Vec<Payload>, Error> {
            enqueued(store, kind, |statement, argument| (self.run)(self.connection, statement, argument)).await
        }
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use towpath_sqlite::{SqliteStore, rusqlite};

    use super::{
        Arrival, BlobName, Bytes, Enlist, Enqueue, Enqueued, Error, Kind, Payload, Signalled, Store, Wake,
        another_store,
    };

    macro_rules! enlist {
        ($connection:ty) => {
            impl Enlist for $connection {
                async fn enqueue(&mut self, store: &dyn Store, batch: Enqueue) -> Result<(Enqueued, Wake), Error> {
                    Ok(store_of(store)?.enqueue_in(self, &batch)?)
                }

                async fn signal(
                    &mut self,
                    store: &dyn Store,
                    arrivals: Vec<Arrival>,
                ) -> Result<(Signalled, Wake), Error> {
                    Ok(store_of(store)?.signal_in(self, &arrivals)?)
                }

                async fn put_blob(&mut self, store: &dyn Store, name: BlobName, bytes: Bytes) -> Result<(), Error> {
                    Ok(store_of(store)?.put_blob_in(self, &name, &bytes)?)
                }

                async fn enqueued(&mut self, store: &dyn Store, kind: Kind) -> Result<Vec<Payload>, Error> {
                    Ok(store_of(store)?.enqueued_in(self, &kind)?)
                }
            }
        };
    }

    enlist!(&rusqlite::Connection);
    // A connection is no `Sync`: with one of these the calls are futures that may change their thread.
    enlist!(&mut rusqlite::Connection);
    enlist!(rusqlite::Connection);

    fn store_of(store: &dyn Store) -> Result<&SqliteStore, Error> {
        let own = store.as_any().and_then(|store| store.downcast_ref());
        own.ok_or_else(|| another_store("SQLite"))
    }
}
