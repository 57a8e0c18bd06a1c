//! Blobs: large payloads in a table of their own.

use std::ops::Bound;

use bytes::Bytes;

use crate::blob::{BlobLine, BlobName, BlobStore};
use crate::store::{BoxFuture, StoreResult};

use super::MemoryStore;

impl BlobStore for MemoryStore {
    fn put(&self, name: BlobName, bytes: Bytes) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            self.write("put a blob", |tx| {
                tx.tables.blob.insert(name, (tx.now, bytes));
                Ok(())
            })
        })
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, StoreResult<Option<Bytes>>> {
        Box::pin(
            async move { self.read("read a blob", |tables| tables.blob.get(&name).map(|(_, bytes)| bytes.clone())) },
        )
    }

    fn list(&self, after: Option<BlobName>, limit: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>> {
        let now = self.clock.now();
        Box::pin(async move {
            self.read("list blobs", |tables| {
                let after = after.map_or(Bound::Unbounded, Bound::Excluded);
                let lines = tables.blob.range((after, Bound::Unbounded)).take(limit as usize);
                lines.map(|(name, (at, _))| BlobLine { name: name.clone(), age: now.since(*at) }).collect()
            })
        })
    }

    fn delete(&self, names: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            self.write("delete blobs", |tx| {
                names.iter().for_each(|name| _ = tx.tables.blob.remove(name));
                Ok(())
            })
        })
    }
}
