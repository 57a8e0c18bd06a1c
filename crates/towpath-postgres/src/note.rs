//! Notes: how far jobs are, their tags, and what they keep across their attempts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use tokio_postgres::Row;
use towpath_core::store::{Mark, MarkLine, Note, Noted, ProgressLine, TagLine, TagQuery};
use towpath_core::{JobId, Payload, Progress, Timestamp, limits, tag};
use uuid::Uuid;

use crate::columns::columns;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, job_key, payload, signed, stored};
use crate::session::{Commit, Session};
use crate::store::{Inner, News};

columns!(Claims of ClaimRow {
    job: i64,
    worker: Uuid,
    turn: i64,
    index: i32,
});

columns!(Progresses of ProgressRow {
    job: i64,
    attempt: i32,
    body: String,
});

columns!(Tags of TagRow<'a> {
    job: i64,
    tag: &'a str,
});

columns!(Marks of MarkRow<'a> {
    job: i64,
    name: &'a str,
    codec: i16,
    bytes: &'a [u8],
});

/// Writes notes. Lock, then look: the claims are held while what is there already is counted.
pub(crate) async fn note(_: Arc<Inner>, session: Session, notes: Arc<Vec<Note>>) -> Result<(Vec<Noted>, News), Fault> {
    let is_durable = notes.iter().any(Note::is_durable);
    session.begin(if is_durable { Commit::Durable } else { Commit::Lazy }).await?;
    let now: i64 = session.one(Query::Clock, &[]).await?.try_get(0)?;
    let held = hold(&session, &notes).await?;
    let mut there = Names::look(&session, &notes, &held).await?;
    let mut written = Written::default();
    let answers = notes
        .iter()
        .map(|note| match held.get(&(note.fence.key, note.fence.token)) {
            None => Noted::Stale,
            Some(_) if !there.add(note) => Noted::Full,
            Some(attempt) => {
                written.add(note, *attempt);
                Noted::Done
            }
        })
        .collect();
    written.run(&session, now).await?;
    session.commit().await?;
    Ok((answers, News::default()))
}

type Held = HashMap<(i64, towpath_core::Token), i32>;

/// The claims that hold, each with its attempt.
async fn hold(session: &Session, notes: &[Note]) -> Result<Held, Fault> {
    let (mut claims, mut listed) = (Claims::default(), HashSet::new());
    for fence in notes.iter().map(|note| note.fence).filter(|fence| listed.insert(*fence)) {
        let (worker, turn) = (fence.token.worker.as_uuid(), signed(fence.token.turn));
        claims.push(ClaimRow { job: job_key(fence.key), worker, turn, index: i32::from(fence.token.index) });
    }
    let mut attempts: HashMap<(i64, Uuid, i64, i32), i32> = HashMap::new();
    for row in claims.run(session, Query::NoteHold, &[]).await? {
        attempts.insert((row.try_get(0)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?), row.try_get(1)?);
    }
    let attempt = |note: &Note| {
        let (key, token) = (note.fence.key, note.fence.token);
        let claim = (job_key(key), token.worker.as_uuid(), signed(token.turn), i32::from(token.index));
        Some(((key, token), *attempts.get(&claim)?))
    };
    Ok(notes.iter().filter_map(attempt).collect())
}

/// What jobs have of what there may be only so many.
#[derive(Default)]
struct Names {
    tags: HashMap<i64, BTreeSet<String>>,
    marks: HashMap<i64, BTreeSet<String>>,
}

impl Names {
    async fn look(session: &Session, notes: &[Note], held: &Held) -> Result<Self, Fault> {
        let gains = |which: fn(&Note) -> bool| -> Vec<i64> {
            let held = |note: &&Note| held.contains_key(&(note.fence.key, note.fence.token)) && which(note);
            notes.iter().filter(held).map(|note| job_key(note.fence.key)).collect()
        };
        let (tags, marks) = (gains(|note| !note.tags.is_empty()), gains(|note| !note.marks.is_empty()));
        let mut names = Self::default();
        if tags.is_empty() && marks.is_empty() {
            return Ok(names);
        }
        for row in session.run(Query::NoteNames, &[&tags, &marks]).await? {
            let of = if row.try_get(2)? { &mut names.marks } else { &mut names.tags };
            of.entry(row.try_get(0)?).or_default().insert(row.try_get(1)?);
        }
        Ok(names)
    }

    /// Adds those of a note, unless there would be too many.
    fn add(&mut self, note: &Note) -> bool {
        let job = job_key(note.fence.key);
        let mut tags = self.tags.get(&job).cloned().unwrap_or_default();
        tags.extend(note.tags.iter().cloned());
        let mut marks = self.marks.get(&job).cloned().unwrap_or_default();
        marks.extend(note.marks.iter().map(|mark| mark.name.clone()));
        let is_full = (!note.tags.is_empty() && tags.len() > limits::TAGS_MAX)
            || (!note.marks.is_empty() && marks.len() > limits::MARKS_MAX);
        if !is_full {
            self.tags.insert(job, tags);
            self.marks.insert(job, marks);
        }
        !is_full
    }
}

/// What is written, each row once: of several that say the same, the last.
#[derive(Default)]
struct Written<'n> {
    progress: BTreeMap<i64, (i32, &'n Progress)>,
    tags: BTreeSet<(i64, &'n str)>,
    marks: BTreeMap<(i64, &'n str), &'n Payload>,
}

impl<'n> Written<'n> {
    fn add(&mut self, note: &'n Note, attempt: i32) {
        let job = job_key(note.fence.key);
        if let Some(progress) = &note.progress {
            self.progress.insert(job, (attempt, progress));
        }
        self.tags.extend(note.tags.iter().map(|tag| (job, tag.as_str())));
        self.marks.extend(note.marks.iter().map(|mark| ((job, mark.name.as_str()), &mark.value)));
    }

    async fn run(self, session: &Session, now: i64) -> Result<(), Fault> {
        let mut progress = Progresses::default();
        for (job, (attempt, said)) in self.progress {
            progress.push(ProgressRow { job, attempt, body: said.to_stored() });
        }
        let mut tags = Tags::default();
        self.tags.into_iter().for_each(|(job, tag)| tags.push(TagRow { job, tag }));
        let mut marks = Marks::default();
        for ((job, name), value) in self.marks {
            marks.push(MarkRow { job, name, codec: value.codec.code(), bytes: &value.bytes });
        }
        progress.run(session, Query::ProgressPut, &[&now]).await?;
        tags.run(session, Query::TagAdd, &[]).await?;
        marks.run(session, Query::MarkPut, &[&now]).await?;
        Ok(())
    }
}

/// What a job keeps, by name.
pub(crate) async fn marks(session: Session, id: JobId) -> Result<Vec<MarkLine>, Fault> {
    let line = |row: &Row| {
        let value = payload(row.try_get(1)?, row.try_get(2)?).unwrap_or_default();
        Ok(MarkLine { mark: Mark { name: row.try_get(0)?, value }, at: Timestamp::from_micros(row.try_get(3)?) })
    };
    session.run(Query::MarkList, &[&id.as_uuid()]).await?.iter().map(line).collect()
}

/// Tags by their text.
pub(crate) async fn tags(session: Session, query: Arc<TagQuery>) -> Result<Vec<TagLine>, Fault> {
    let before = tag::after_prefix(&query.prefix);
    let limit = stored(query.limit.clamp(1, limits::TAGS_LISTED_MAX));
    let most = stored(limits::TAG_JOBS_COUNTED_MAX);
    let line =
        |row: &Row| Ok(TagLine { tag: row.try_get(0)?, jobs: u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0) });
    let rows = session.run(Query::TagList, &[&query.prefix, &before, &query.after, &limit, &most]).await?;
    rows.iter().map(line).collect()
}

/// How far a job is, if it has said so in a way that this build can read.
pub(crate) fn progress(row: &Row) -> Result<Option<ProgressLine>, Fault> {
    let Some(body) = row.try_get::<_, Option<&str>>("progress")? else { return Ok(None) };
    let Ok(progress) = Progress::from_stored(body) else { return Ok(None) };
    let (attempt, at) = (count(row.try_get("progress_attempt")?), row.try_get("progress_at")?);
    Ok(Some(ProgressLine { progress, attempt, at: Timestamp::from_micros(at) }))
}

/// The tags of a job: those that it was given, then those that were added.
pub(crate) fn all_tags(mut given: Vec<String>, all: Vec<String>) -> Vec<String> {
    let added: Vec<String> = all.into_iter().filter(|tag| !given.contains(tag)).collect();
    given.extend(added);
    given
}
