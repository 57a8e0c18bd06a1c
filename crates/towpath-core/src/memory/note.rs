//! Notes: how far jobs are, their tags, and what they keep across their attempts.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::id::JobId;
use crate::limits;
use crate::store::{MarkLine, Note, Noted, ProgressLine, StoreResult, TagLine, TagQuery};

use super::Transaction;
use super::tables::{Key, Tables, With};

impl Transaction<'_> {
    pub(super) fn note(&mut self, notes: Vec<Note>) -> StoreResult<Vec<Noted>> {
        Note::check_batch(&notes)?;
        Ok(notes.into_iter().map(|note| self.note_one(note)).collect())
    }

    fn note_one(&mut self, note: Note) -> Noted {
        let Note { fence, progress, tags, marks } = note;
        let Some(running) = self.tables.running_under(fence).filter(|row| row.with == With::Handler) else {
            return Noted::Stale;
        };
        let (job, attempt, at) = (fence.key, running.counters.attempt, self.now);
        let all_tags: BTreeSet<&str> = self.tables.tags_of(job).chain(tags.iter().map(String::as_str)).collect();
        let all_marks: BTreeSet<&str> =
            self.tables.marks_of(job).chain(marks.iter().map(|mark| mark.name.as_str())).collect();
        if (!tags.is_empty() && all_tags.len() > limits::TAGS_MAX)
            || (!marks.is_empty() && all_marks.len() > limits::MARKS_MAX)
        {
            return Noted::Full;
        }
        if let Some(progress) = progress {
            self.tables.progress.insert(job, ProgressLine { progress, attempt, at });
        }
        self.tables.put_tags(job, tags);
        for mark in marks {
            self.tables.mark.insert((job, mark.name.clone()), MarkLine { mark, at });
        }
        Noted::Done
    }
}

impl Tables {
    pub(super) fn put_tags(&mut self, job: Key, tags: impl IntoIterator<Item = String>) {
        for tag in tags {
            self.tagged.insert((tag.clone(), job));
            self.tag.insert((job, tag));
        }
    }

    /// The tags of a job, by their text.
    pub(super) fn tags_of(&self, job: Key) -> impl Iterator<Item = &str> {
        self.tag.range((job, String::new())..(job + 1, String::new())).map(|(_, tag)| tag.as_str())
    }

    fn marks_of(&self, job: Key) -> impl Iterator<Item = &str> {
        self.mark.range((job, String::new())..(job + 1, String::new())).map(|((_, name), _)| name.as_str())
    }

    pub(super) fn marks(&self, id: JobId) -> Vec<MarkLine> {
        let Some(job) = self.job_by_id.get(&id).copied().filter(|job| self.is_visible(*job)) else { return Vec::new() };
        let lines = self.mark.range((job, String::new())..(job + 1, String::new()));
        lines.map(|(_, line)| line.clone()).collect()
    }

    /// What a job has kept goes: it is to begin anew, or goes itself.
    pub(super) fn forget_marks(&mut self, job: Key) {
        for name in self.marks_of(job).map(str::to_owned).collect::<Vec<_>>() {
            self.mark.remove(&(job, name));
        }
    }

    /// Everything that was said of a job goes with it.
    pub(super) fn forget_notes(&mut self, job: Key) {
        self.progress.remove(&job);
        self.forget_marks(job);
        for tag in self.tags_of(job).map(str::to_owned).collect::<Vec<_>>() {
            self.tagged.remove(&(tag.clone(), job));
            self.tag.remove(&(job, tag));
        }
    }

    pub(super) fn tag_lines(&self, query: &TagQuery) -> Vec<TagLine> {
        let after = query.after.as_deref().unwrap_or_default().max(query.prefix.as_str()).to_owned();
        let mut lines: Vec<TagLine> = Vec::new();
        let limit = query.limit.clamp(1, limits::TAGS_LISTED_MAX) as usize;
        for (tag, _) in self.tagged.range((Bound::Included((after, Key::MIN)), Bound::Unbounded)) {
            if query.after.as_ref().is_some_and(|after| tag <= after) {
                continue;
            }
            if !tag.starts_with(&query.prefix) {
                break;
            }
            if let Some(line) = lines.last_mut().filter(|line| line.tag == *tag) {
                line.jobs = (line.jobs + 1).min(u64::from(limits::TAG_JOBS_COUNTED_MAX));
                continue;
            }
            if lines.len() == limit {
                break;
            }
            lines.push(TagLine { tag: tag.clone(), jobs: 1 });
        }
        lines
    }
}
