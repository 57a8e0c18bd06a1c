//! Large payloads: put elsewhere before they are enqueued or reported, fetched before anybody reads them, swept once nobody can.

mod dir;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use towpath_core::store::{BoxFuture, Item, StoreResult, Upstream};
use towpath_core::{
    BlobLine, BlobName, BlobRef, BlobStore, JobId, NewJob, Payload, Report, Retry, Store, StoreError, StoreErrorKind,
    defaults, limits,
};

use crate::client::Client;
use crate::error::Error;
use crate::random;
use crate::within::Enlist;

pub use dir::DirBlobs;

/// Where a client keeps large payloads, and from which size on.
#[derive(Clone)]
pub(crate) struct Blobs {
    home: Arc<dyn BlobStore>,
    above: usize,
    /// Whether it is a table of the client's own store, where an open transaction may stand in the way.
    is_in_store: bool,
}

/// The table of blobs in a client's own store.
pub(crate) struct Table(pub(crate) Arc<dyn Store>);

impl BlobStore for Table {
    fn put(&self, name: BlobName, bytes: Bytes) -> BoxFuture<'_, StoreResult<()>> {
        self.0.blobs().put(name, bytes)
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, StoreResult<Option<Bytes>>> {
        self.0.blobs().get(name)
    }

    fn list(&self, after: Option<BlobName>, limit: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>> {
        self.0.blobs().list(after, limit)
    }

    fn delete(&self, names: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>> {
        self.0.blobs().delete(names)
    }
}

impl Blobs {
    pub(crate) fn new(home: Arc<dyn BlobStore>, above: usize) -> Self {
        Self { home, above: above.min(limits::PAYLOAD_BYTES_MAX), is_in_store: false }
    }

    /// What is to be stored in the place of a payload, if it is large.
    fn reference(&self, owner: JobId, payload: &Payload) -> StoreResult<Option<BlobRef>> {
        let bytes = payload.bytes.len();
        if bytes <= self.above || bytes > limits::BLOB_BYTES_MAX || payload.codec == towpath_core::Codec::Blob {
            return Ok(None);
        }
        // Refused before anything is written, as a small one is.
        if let Err(e) = payload.check_text() {
            return Err(StoreError::new(StoreErrorKind::Invalid, "put a blob", e.to_string()));
        }
        Ok(Some(BlobRef::to(owner, payload)))
    }

    /// Puts a payload away if it is large; what is to be stored in its place.
    async fn put_away(&self, owner: JobId, payload: Payload) -> StoreResult<Payload> {
        let Some(blob) = self.reference(owner, &payload)? else { return Ok(payload) };
        self.home.put(blob.name.clone(), payload.bytes).await?;
        Ok(blob.to_payload())
    }
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blobs").field("above", &self.above).finish_non_exhaustive()
    }
}

impl Client {
    /// The same client that keeps inputs and outputs of jobs elsewhere which are larger than so many bytes (at most 1 MiB, from
    /// which on the store would refuse them), up to 64 MiB. Every client and worker of the store needs the same home.
    ///
    /// What the store has in their place shows how they begin. Handlers, [`Client::output`] and [`Context::upstream`] read them as any
    /// other; gates and lists of a graph that are written as data, and runs that await a child, do not: their outputs stay below
    /// 1 MiB. A blob goes within the hour after its job was pruned.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use towpath::{Client, DirBlobs};
    /// # async fn f() -> Result<(), towpath::Error> {
    /// let client = Client::open("postgres://app@db/app").await?;
    /// let client = client.keep_large(Arc::new(DirBlobs::new("/srv/blobs")), 256 << 10);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Context::upstream`]: crate::Context::upstream
    pub fn keep_large(mut self, home: Arc<dyn BlobStore>, above_bytes: usize) -> Self {
        self.blobs = Some(Blobs::new(home, above_bytes));
        self
    }

    /// As [`keep_large`](Self::keep_large), in a table of the client's own store.
    pub fn keep_large_in_store(self, above_bytes: usize) -> Self {
        let home = Arc::new(Table(Arc::clone(self.store())));
        let mut client = self.keep_large(home, above_bytes);
        if let Some(blobs) = &mut client.blobs {
            blobs.is_in_store = true;
        }
        client
    }

    /// Puts large inputs away, before the jobs are written: a blob without a job is swept, a job without its blob would be lost.
    pub(crate) async fn put_inputs_away(&self, items: &mut [Item]) -> StoreResult<()> {
        let Some(blobs) = &self.blobs else { return Ok(()) };
        for job in items.iter_mut().filter_map(large_may_be) {
            let input = std::mem::take(&mut job.input);
            job.input = blobs.put_away(job.id, input).await?;
        }
        Ok(())
    }

    /// The same for what rides on an application's transaction. A table of the store is written in that: on SQLite nobody else could.
    pub(crate) async fn put_inputs_away_in(&self, within: &mut impl Enlist, items: &mut [Item]) -> Result<(), Error> {
        let Some(blobs) = &self.blobs else { return Ok(()) };
        if !blobs.is_in_store {
            return Ok(self.put_inputs_away(items).await?);
        }
        for job in items.iter_mut().filter_map(large_may_be) {
            if let Some(blob) = blobs.reference(job.id, &job.input)? {
                let input = std::mem::replace(&mut job.input, blob.to_payload());
                within.put_blob(&**self.store(), blob.name, input.bytes).await?;
            }
        }
        Ok(())
    }

    /// Puts a large output away, before the outcome is written. One that is too large for the store, and has no other place,
    /// fails the attempt for good: running again would only make it again.
    pub(crate) async fn put_output_away(&self, job: JobId, may: bool, report: Report) -> Report {
        match report {
            Report::Succeeded { output: Some(output), branches } => {
                let put = match &self.blobs {
                    Some(blobs) if may => blobs.put_away(job, output).await,
                    _ => Ok(output),
                };
                match put {
                    Ok(output) if output.bytes.len() <= limits::PAYLOAD_BYTES_MAX => {
                        Report::Succeeded { output: Some(output), branches }
                    }
                    Ok(output) => too_large(output.bytes.len(), self.blobs.is_some() && may),
                    Err(error) => {
                        let error = format!("the output cannot be kept: {error}");
                        Report::Failed { error, retry: Retry::ByPolicy, log: None }
                    }
                }
            }
            other => other,
        }
    }

    /// A payload as it was given: fetched, if it is kept elsewhere.
    ///
    /// # Errors
    /// The home cannot be asked, or has it no more; or this client was not told of a home.
    pub async fn fetch(&self, payload: Payload) -> Result<Payload, StoreError> {
        let failed = |kind, problem: String| StoreError::new(kind, "fetch a blob", problem);
        let blob = BlobRef::of(&payload).map_err(|problem| failed(StoreErrorKind::Corrupt, problem))?;
        let Some(blob) = blob else { return Ok(payload) };
        let Some(blobs) = &self.blobs else {
            let problem = format!("the blob {} is kept elsewhere: tell this client where, by keep_large", blob.name);
            return Err(failed(StoreErrorKind::Unsupported, problem));
        };
        match blobs.home.get(blob.name.clone()).await? {
            Some(bytes) => blob.restore(bytes).map_err(|problem| failed(StoreErrorKind::Corrupt, problem)),
            None => Err(failed(StoreErrorKind::Corrupt, format!("the blob {} is not there any more", blob.name))),
        }
    }

    pub(crate) async fn fetch_outputs(&self, parents: Vec<Upstream>) -> Result<Vec<Upstream>, StoreError> {
        let mut fetched = Vec::with_capacity(parents.len());
        for mut parent in parents {
            if let Some(output) = parent.output.take() {
                parent.output = Some(self.fetch(output).await?);
            }
            fetched.push(parent);
        }
        Ok(fetched)
    }

    /// Deletes blobs that are older than this and whose jobs are not stored; answers how many. Workers do it by themselves with
    /// what is older than an hour, since what is enqueued just now has its blob before its job.
    ///
    /// # Errors
    /// The store or the home could not be asked.
    pub async fn sweep_blobs(&self, older_than: Duration) -> Result<u64, StoreError> {
        let Some(blobs) = &self.blobs else { return Ok(0) };
        let (mut after, mut swept) = (None, 0);
        loop {
            let lines = blobs.home.list(after, SWEPT_AT_ONCE).await?;
            let Some(last) = lines.last() else { return Ok(swept) };
            after = Some(last.name.clone());
            let mut orphans = Vec::new();
            for line in lines.into_iter().filter(|line| line.age >= older_than) {
                if self.inspect().job(line.name.owner()).await?.is_none() {
                    orphans.push(line.name);
                }
            }
            swept += orphans.len() as u64;
            if !orphans.is_empty() {
                blobs.home.delete(orphans).await?;
            }
        }
    }
}

/// Whose input may be kept elsewhere.
fn large_may_be(item: &mut Item) -> Option<&mut NewJob> {
    match item {
        Item::Job(job) if job.run.is_none() => Some(job),
        _ => None,
    }
}

/// Blobs that are looked at together.
const SWEPT_AT_ONCE: u32 = 200;

fn too_large(bytes: usize, has_home: bool) -> Report {
    let (max, remedy) = match has_home {
        true => (limits::BLOB_BYTES_MAX, "store it elsewhere and return a reference"),
        false => (
            limits::PAYLOAD_BYTES_MAX,
            "store it elsewhere and return a reference, or give the client a home for what is large (keep_large)",
        ),
    };
    let error = format!("the output has {bytes} bytes, at most {max} are allowed: {remedy}");
    Report::Failed { error, retry: Retry::Never, log: None }
}

/// Sweeps until it is dropped, first after a part of the pause that is drawn, so that workers come one after the other.
pub(crate) async fn keep_sweeping(client: Client) {
    if client.blobs.is_none() {
        return;
    }
    tokio::time::sleep(defaults::BLOB_SWEEP.mul_f64(random::fraction())).await;
    loop {
        match client.sweep_blobs(defaults::BLOB_ORPHAN_AGE).await {
            Ok(0) => {}
            Ok(blobs) => tracing::debug!(blobs, "deleted blobs of jobs that are gone"),
            Err(error) => tracing::warn!(%error, "cannot sweep blobs; trying again"),
        }
        tokio::time::sleep(defaults::BLOB_SWEEP).await;
    }
}
