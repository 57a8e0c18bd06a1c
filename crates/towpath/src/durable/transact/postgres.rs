//! Transactional steps on PostgreSQL: async functions of a client that is inside a transaction of the store's.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use super::{Finish, Postgres, TxFault, TxFn};

/// An async function of a borrowed client.
pub trait PostgresFn<'c, I, O, E>: Send + Sync {
    /// What it returns.
    type Work: Future<Output = Result<O, E>> + Send + 'c;

    /// Calls it.
    fn call(&self, client: &'c towpath_postgres::tokio_postgres::Client, input: I) -> Self::Work;
}

impl<'c, F, Work, I, O, E> PostgresFn<'c, I, O, E> for F
where
    F: Fn(&'c towpath_postgres::tokio_postgres::Client, I) -> Work + Send + Sync,
    Work: Future<Output = Result<O, E>> + Send + 'c,
{
    type Work = Work;

    fn call(&self, client: &'c towpath_postgres::tokio_postgres::Client, input: I) -> Work {
        self(client, input)
    }
}

impl<F, I, O, E> TxFn<Postgres, I, O, E> for F
where
    F: for<'c> PostgresFn<'c, I, O, E>,
    I: Send + 'static,
    O: Send + 'static,
    E: Send + 'static,
{
    fn body(&'static self, input: I, limit: Duration, finish: Finish<O, E>) -> Box<dyn Any + Send> {
        let body: towpath_postgres::PostgresBody = Box::new(move |client| {
            Box::pin(async move {
                let work = AssertUnwindSafe(async move { self.call(client, input).await }).catch_unwind();
                finish(match tokio::time::timeout(limit, work).await {
                    Ok(result) => result.map_err(TxFault::Panicked),
                    Err(_) => Err(TxFault::TimedOut(limit)),
                })
            })
        });
        Box::new(body)
    }
}
