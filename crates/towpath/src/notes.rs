//! What handlers say of their jobs while they work. How far they are is written about once a second, the newest only; tags
//! and what is kept for the next attempt are written at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use towpath_core::store::{Note, Noted};
use towpath_core::{Fence, Progress, Store, StoreError, defaults, limits};

use crate::failure::Failure;

/// What the handlers of a worker have said and nobody has written yet.
#[derive(Clone, Default)]
pub(crate) struct Notebook(Arc<Shared>);

#[derive(Default)]
struct Shared {
    said: Mutex<HashMap<Fence, Progress>>,
    bell: Notify,
}

/// The page of one attempt.
#[derive(Clone)]
pub(crate) struct Notes {
    fence: Fence,
    book: Notebook,
}

impl Notebook {
    pub(crate) fn page(&self, fence: Fence) -> Notes {
        Notes { fence, book: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fence, Progress>> {
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Note> {
        let all = std::mem::take(&mut *self.lock());
        let note = |(fence, progress)| Note { progress: Some(progress), ..Note::new(fence) };
        all.into_iter().map(note).collect()
    }

    async fn hand_over(&self, store: &Arc<dyn Store>) {
        let mut notes = self.take();
        // The order in which rows are locked.
        notes.sort_unstable_by_key(|note| note.fence);
        while !notes.is_empty() {
            let rest = notes.split_off(notes.len().min(limits::SETTLE_MAX));
            if let Err(error) = store.note(notes).await {
                tracing::debug!(%error, "how far jobs are is not shown for a moment");
            }
            notes = rest;
        }
    }
}

/// Writes what is said until it is dropped: the first word at once, those that follow together a second later.
pub(crate) async fn keep_writing(store: Arc<dyn Store>, notebook: Notebook) {
    loop {
        notebook.0.bell.notified().await;
        notebook.hand_over(&store).await;
        tokio::time::sleep(defaults::PROGRESS).await;
    }
}

impl Notes {
    pub(crate) fn fence(&self) -> Fence {
        self.fence
    }

    pub(crate) fn progress(&self, progress: Progress) {
        self.book.lock().insert(self.fence, progress);
        self.book.0.bell.notify_one();
    }

    /// What was said last, if it is not written: for the moment before the outcome is.
    pub(crate) fn take(&self) -> Option<Note> {
        let progress = self.book.lock().remove(&self.fence)?;
        Some(Note { progress: Some(progress), ..Note::new(self.fence) })
    }

    /// Writes tags or marks, and with them how far the job is.
    pub(crate) async fn write(&self, store: &dyn Store, note: Note) -> Result<(), Failure> {
        let progress = self.take().and_then(|said| said.progress);
        let (tags, marks) = (note.tags.len(), note.marks.len());
        let noted = store.note(vec![Note { progress, ..note }]).await?;
        match noted.first() {
            Some(Noted::Done) => Ok(()),
            Some(Noted::Full) if tags > 0 => Err(Failure::permanent(format!(
                "the job has too many tags with these {tags}: at most {} are kept of a job",
                limits::TAGS_MAX
            ))),
            Some(Noted::Full) => Err(Failure::permanent(format!(
                "the job keeps too much with these {marks} marks: at most {} steps and cursors are kept of a job",
                limits::MARKS_MAX
            ))),
            Some(Noted::Stale) | None => Err(lost()),
        }
    }
}

/// The job is somebody else's; what this attempt reports will not count.
pub(crate) fn lost() -> Failure {
    Failure::new("the job is another worker's by now: this attempt is over, and what it says does not count")
}

/// What was said last before an attempt failed is worth a write of its own: it is where to look.
pub(crate) async fn last_words(store: &dyn Store, notes: &Notes, has_failed: bool) {
    let Some(note) = notes.take().filter(|_| has_failed) else { return };
    let written: Result<_, StoreError> = store.note(vec![note]).await;
    if let Err(error) = written {
        tracing::debug!(%error, "how far a job was before it failed is not shown");
    }
}
