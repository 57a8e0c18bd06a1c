//! Notes: how far jobs are, their tags, and what they keep across their attempts.

use std::collections::BTreeSet;

use rusqlite::params;
use towpath_core::store::{Mark, MarkLine, Note, Noted, TagLine, TagQuery};
use towpath_core::{Fence, JobId, StopReason, limits, tag};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

pub(crate) fn note(tx: &mut Tx<'_, '_>, notes: &[Note]) -> Result<Vec<Noted>, Fault> {
    notes.iter().map(|note| tx.note(note)).collect()
}

impl Tx<'_, '_> {
    fn note(&mut self, note: &Note) -> Result<Noted, Fault> {
        let Some(attempt) = self.noting(note.fence)? else { return Ok(Noted::Stale) };
        let job = note.fence.key;
        let tags = note.tags.iter().map(String::as_str);
        let marks = note.marks.iter().map(|mark| mark.name.as_str());
        if !self.has_room(Query::TagOfJob, job, tags, limits::TAGS_MAX)?
            || !self.has_room(Query::MarkNames, job, marks, limits::MARKS_MAX)?
        {
            return Ok(Noted::Full);
        }
        if let Some(progress) = &note.progress {
            self.db.run(Query::ProgressPut, params![job, attempt, self.now_us(), progress.to_stored()])?;
        }
        self.put_tags(job, &note.tags)?;
        self.put_marks(job, &note.marks)?;
        Ok(Noted::Done)
    }

    /// The attempt of a claim that a handler holds.
    pub(crate) fn noting(&mut self, fence: Fence) -> Result<Option<i64>, Fault> {
        let token = fence.token;
        let claim = params![fence.key, &token.worker.as_bytes()[..], token.turn.cast_signed(), token.index];
        self.db.maybe(Query::NoteHeld, claim, |row| Ok(row.get(0)?))
    }

    /// Whether a job may have these besides those that a query lists.
    fn has_room<'n>(
        &mut self,
        there: Query,
        job: i64,
        new: impl ExactSizeIterator<Item = &'n str>,
        most: usize,
    ) -> Result<bool, Fault> {
        if new.len() == 0 {
            return Ok(true);
        }
        let mut all: BTreeSet<String> = self.db.all(there, [job], |row| Ok(row.get(0)?))?.into_iter().collect();
        all.extend(new.map(str::to_owned));
        Ok(all.len() <= most)
    }

    pub(crate) fn put_tags(&mut self, job: i64, tags: &[String]) -> Result<(), Fault> {
        for tag in tags {
            self.db.run(Query::TagInsert, params![job, tag])?;
        }
        Ok(())
    }

    pub(crate) fn put_marks(&mut self, job: i64, marks: &[Mark]) -> Result<(), Fault> {
        for Mark { name, value } in marks {
            self.db.run(Query::MarkPut, params![job, name, value.codec.code(), self.now_us(), &value.bytes[..]])?;
        }
        Ok(())
    }

    /// What a job has kept goes: it is to begin anew, or goes itself.
    pub(crate) fn forget_marks(&mut self, job: i64) -> Result<(), Fault> {
        self.db.run(Query::MarkDelete, [job]).map(|_| ())
    }

    /// Everything that was said of a job goes with it.
    pub(crate) fn forget_notes(&mut self, job: i64) -> Result<(), Fault> {
        for query in [Query::ProgressDelete, Query::TagDelete, Query::MarkDelete] {
            self.db.run(query, [job])?;
        }
        Ok(())
    }
}

pub(crate) fn marks(db: &mut Db<'_>, id: JobId) -> Result<Vec<MarkLine>, Fault> {
    db.all(Query::MarkList, params![&id.as_bytes()[..], StopReason::Prune.code()], |row| {
        let value = rows::payload(row, 1)?.unwrap_or_default();
        Ok(MarkLine { mark: Mark { name: row.get(0)?, value }, at: rows::instant(row, 3)? })
    })
}

pub(crate) fn tags(db: &mut Db<'_>, query: &TagQuery) -> Result<Vec<TagLine>, Fault> {
    let before = tag::after_prefix(&query.prefix);
    let limit = query.limit.clamp(1, limits::TAGS_LISTED_MAX);
    let which = params![query.prefix, before, query.after, limit, limits::TAG_JOBS_COUNTED_MAX];
    db.all(Query::TagList, which, |row| Ok(TagLine { tag: row.get(0)?, jobs: row.get::<_, i64>(1)?.unsigned_abs() }))
}

/// The tags of a job: those that it was given, then those that were added.
pub(crate) fn all_tags(db: &mut Db<'_>, job: i64, mut given: Vec<String>) -> Result<Vec<String>, Fault> {
    let all: Vec<String> = db.all(Query::TagOfJob, [job], |row| Ok(row.get(0)?))?;
    let added: Vec<String> = all.into_iter().filter(|tag| !given.contains(tag)).collect();
    given.extend(added);
    Ok(given)
}
