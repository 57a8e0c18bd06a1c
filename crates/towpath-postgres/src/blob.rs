//! Blobs: large payloads in a table of their own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_postgres::Row;
use towpath_core::store::{BoxFuture, StoreResult};
use towpath_core::{BlobLine, BlobName, BlobStore};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::stored;
use crate::store::PostgresStore;

impl BlobStore for PostgresStore {
    fn put(&self, name: BlobName, bytes: Bytes) -> BoxFuture<'_, StoreResult<()>> {
        let blob = Arc::new((name, bytes));
        self.read("put a blob", move |session| {
            let blob = Arc::clone(&blob);
            async move { session.run(Query::BlobPut, &[&blob.0.as_str(), &&blob.1[..]]).await.map(|_| ()) }
        })
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, StoreResult<Option<Bytes>>> {
        self.read("read a blob", move |session| {
            let name = name.clone();
            async move {
                let rows = session.run(Query::BlobGet, &[&name.as_str()]).await?;
                Ok(rows.first().map(|row| row.try_get::<_, Vec<u8>>(0)).transpose()?.map(Bytes::from))
            }
        })
    }

    fn list(&self, after: Option<BlobName>, limit: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>> {
        self.read("list blobs", move |session| {
            let after = after.clone().map(String::from).unwrap_or_default();
            async move {
                let rows = session.run(Query::BlobList, &[&after, &stored(limit)]).await?;
                rows.iter().map(line).collect()
            }
        })
    }

    fn delete(&self, names: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>> {
        let names: Arc<Vec<String>> = Arc::new(names.into_iter().map(String::from).collect());
        self.read("delete blobs", move |session| {
            let names = Arc::clone(&names);
            async move { session.run(Query::BlobDelete, &[&*names]).await.map(|_| ()) }
        })
    }
}

fn line(row: &Row) -> Result<BlobLine, Fault> {
    let name = BlobName::parse(row.try_get(0)?).map_err(|problem| Fault::corrupt("list blobs", problem))?;
    let age = Duration::from_micros(u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0));
    Ok(BlobLine { name, age })
}
