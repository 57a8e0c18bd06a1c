//! A folder of blobs: a file each, in 256 folders by the end of its name. Written beside, synced, then renamed, so that a name is
//! there with all of its bytes or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use towpath_core::store::{BoxFuture, StoreResult};
use towpath_core::{BlobLine, BlobName, BlobStore, StoreError, StoreErrorKind};

/// Large payloads in a folder, on a disk of this host or a file system that all hosts of the store share.
#[derive(Clone, Debug)]
pub struct DirBlobs {
    root: PathBuf,
}

static WRITTEN: AtomicU64 = AtomicU64::new(0);

impl DirBlobs {
    /// Keeps them below this folder, which is made when it is needed.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn path(&self, name: &BlobName) -> PathBuf {
        let text = name.as_str();
        self.root.join(text.get(text.len().saturating_sub(2)..).unwrap_or("00")).join(text)
    }

    fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(Self) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, StoreResult<T>> {
        let this = self.clone();
        Box::pin(async move {
            let root = this.root.clone();
            let done = tokio::task::spawn_blocking(move || work(this)).await;
            let failed = |error: io::Error| {
                let kind = match error.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreErrorKind::Full,
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
                    _ => StoreErrorKind::Unavailable,
                };
                StoreError::new(kind, doing, format!("{}: {error}", root.display()))
            };
            done.unwrap_or_else(|stopped| Err(io::Error::other(stopped))).map_err(failed)
        })
    }
}

impl BlobStore for DirBlobs {
    fn put(&self, name: BlobName, bytes: Bytes) -> BoxFuture<'_, StoreResult<()>> {
        self.run("put a blob", move |this| put(&this.path(&name), &bytes))
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, StoreResult<Option<Bytes>>> {
        self.run("read a blob", move |this| match fs::read(this.path(&name)) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn list(&self, after: Option<BlobName>, limit: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>> {
        self.run("list blobs", move |this| list(&this.root, after.as_ref(), limit as usize))
    }

    fn delete(&self, names: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>> {
        self.run("delete blobs", move |this| {
            for name in &names {
                match fs::remove_file(this.path(name)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let beside = format!(".{}-{}.part", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let beside = folder.join(beside);
    let written = (|| {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // The name is on disk once its folder is.
        File::open(folder)?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// All names are read for each part: a folder of blobs is looked through once in ten minutes.
fn list(root: &Path, after: Option<&BlobName>, limit: usize) -> io::Result<Vec<BlobLine>> {
    let mut names: Vec<(BlobName, PathBuf)> = Vec::new();
    for folder in entries(root)? {
        for path in entries(&folder)? {
            // What a crash left half written is none, and neither is what somebody else has put there.
            let name = path.file_name().and_then(|name| name.to_str()).map(BlobName::parse);
            if let Some(Ok(name)) = name
                && after.is_none_or(|after| name > *after)
            {
                names.push((name, path));
            }
        }
    }
    names.sort();
    names.truncate(limit);
    let mut lines = Vec::with_capacity(names.len());
    for (name, path) in names {
        match fs::metadata(&path).and_then(|about| about.modified()) {
            Ok(at) => lines.push(BlobLine { name, age: at.elapsed().unwrap_or_default() }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lines)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(all) => all.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
