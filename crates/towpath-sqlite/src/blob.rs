//! Blobs: large payloads in a table of their own.

use bytes::Bytes;
use rusqlite::params;
use towpath_core::store::{BoxFuture, StoreResult};
use towpath_core::{BlobLine, BlobName, BlobStore, Timestamp};

use crate::combine::Commit;
use crate::error::Fault;
use crate::queries::Query;
use crate::store::SqliteStore;
use crate::tx::Tx;

impl BlobStore for SqliteStore {
    fn put(&self, name: BlobName, bytes: Bytes) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.shared().submit("put a blob", Commit::Durable, move |tx| put(tx, &name, &bytes)))
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, StoreResult<Option<Bytes>>> {
        Box::pin(async move {
            self.read("read a blob", |db| {
                let bytes = db.maybe(Query::BlobGet, [name.as_str()], |row| Ok(row.get::<_, Vec<u8>>(0)?))?;
                Ok(bytes.map(Bytes::from))
            })
        })
    }

    fn list(&self, after: Option<BlobName>, limit: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>> {
        let now = self.shared().options().clock.now();
        Box::pin(async move {
            let after = after.map(String::from).unwrap_or_default();
            self.read("list blobs", |db| {
                db.all(Query::BlobList, params![after, limit], |row| {
                    let name: String = row.get(0)?;
                    let name = BlobName::parse(&name).map_err(Fault::corrupt)?;
                    Ok(BlobLine { name, age: now.since(Timestamp::from_micros(row.get(1)?)) })
                })
            })
        })
    }

    fn delete(&self, names: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.shared().submit("delete blobs", Commit::Lazy, move |tx| {
            for name in &names {
                tx.db.run(Query::BlobDelete, [name.as_str()])?;
            }
            Ok(())
        }))
    }
}

/// Writes a blob.
pub(crate) fn put(tx: &mut Tx<'_, '_>, name: &BlobName, bytes: &[u8]) -> Result<(), Fault> {
    let now = tx.now_us();
    tx.db.run(Query::BlobPut, params![name.as_str(), now, bytes]).map(|_| ())
}
