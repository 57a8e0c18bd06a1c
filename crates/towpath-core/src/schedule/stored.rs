//! A schedule as it is stored, and everything that may become of it: each change is a row that was read, made into the row to
//! write. A store compares the revision and writes; it knows nothing of ticks.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Activity, LastRun, Look, Plan, Schedule, SkippedTicks, plan};
use crate::fingerprint::fingerprint;
use crate::id::JobId;
use crate::job::NewJob;
use crate::limits;
use crate::name::{Kind, Queue, ScheduleName};
use crate::payload::Payload;
use crate::rules::JobRules;
use crate::store::Refusal;
use crate::time::Timestamp;

/// The job that each tick mints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickJob {
    /// What routes it to a handler.
    pub kind: Kind,
    /// The version of its input.
    pub version: u16,
    /// The queue it stands in.
    pub queue: Queue,
    /// Higher first.
    pub priority: i16,
    /// Its input, JSON text.
    pub input: String,
    /// Retry, timeout, crash limit, retention.
    pub rules: JobRules,
    /// Labels for people.
    pub tags: Vec<String>,
}

impl TickJob {
    /// Takes what a job has; its id, due, deadline and headers are those of each tick.
    ///
    /// # Errors
    /// [`Refusal::Invalid`]: it is a run or has a unique key, or its input is no JSON text; [`Refusal`] of a limit.
    pub fn of(job: &NewJob) -> Result<Self, Refusal> {
        job.check()?;
        let invalid =
            |problem: &str| Refusal::Invalid { problem: format!("the job of a schedule ({}) {problem}", job.kind) };
        if job.run.is_some() || job.unique.is_some() {
            return Err(invalid(
                "is a run or has a unique key: let it be a plain job, and `overlap` keep two from running",
            ));
        }
        let input = std::str::from_utf8(&job.input.bytes).map_err(|_| invalid("has an input that is no JSON text"))?;
        Ok(Self {
            kind: job.kind.clone(),
            version: job.version,
            queue: job.queue.clone(),
            priority: job.priority,
            input: input.to_owned(),
            rules: job.rules.clone(),
            tags: job.tags.clone(),
        })
    }

    fn mint(&self, id: JobId, name: &ScheduleName, tick: Timestamp) -> NewJob {
        let headers = [("towpath-schedule", name.to_string()), ("towpath-tick", shown(tick))];
        let headers: BTreeMap<_, _> = headers.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        NewJob {
            version: self.version,
            queue: self.queue.clone(),
            priority: self.priority,
            input: Payload::json_bytes(self.input.clone().into_bytes()),
            rules: self.rules.clone(),
            tags: self.tags.clone(),
            headers,
            ..NewJob::new(id, self.kind.clone())
        }
    }
}

/// An instant as RFC 3339 has it, UTC.
fn shown(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).map_or_else(|_| at.as_micros().to_string(), |at| at.to_string())
}

/// Who keeps a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeper {
    /// A person, or a program that put it once.
    Hand,
    /// The code of workers, which say so again and again; this is when they last did.
    Workers {
        /// The store's clock then.
        declared_at: Timestamp,
    },
}

/// A schedule as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSchedule {
    /// Its name, unique in the store.
    pub name: ScheduleName,
    /// When its ticks are, and what becomes of them.
    pub rule: Schedule,
    /// What each mints.
    pub job: TickJob,
    /// Whether it mints.
    pub activity: Activity,
    /// Who keeps it.
    pub keeper: Keeper,
    /// When it was made: a schedule that is made anew under the same name mints other jobs.
    pub born: Timestamp,
    /// The last tick that was decided.
    pub cursor: Timestamp,
    /// When to look at it again; `None` when no tick will come.
    pub next: Option<Timestamp>,
    /// The newest jobs that it minted, newest last.
    pub minted: Vec<Minted>,
    /// The newest ticks that minted nothing, newest last.
    pub skipped: Vec<SkippedTicks>,
}

/// A job that a schedule minted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minted {
    /// Its tick; of one that was triggered, the moment.
    pub tick: Timestamp,
    /// The job.
    pub job: JobId,
}

/// A change to write: if the stored revision is still the one that was read.
#[derive(Clone, Debug)]
pub struct ScheduleWrite {
    /// The schedule.
    pub name: ScheduleName,
    /// The revision that was read; `None`: it must not be there.
    pub revision: Option<i64>,
    /// What is to stand there; `None`: nothing.
    pub row: Option<StoredSchedule>,
    /// Jobs to enqueue with it.
    pub mint: Vec<NewJob>,
    /// The line that the audit gets, if somebody ordered it.
    pub audit: Option<ScheduleAudit>,
}

/// Who ordered a change of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleAudit {
    /// Who.
    pub actor: String,
    /// Why, in their words.
    pub reason: String,
    /// What.
    pub action: &'static str,
}

impl StoredSchedule {
    /// A schedule that is put: made, or changed. One that is there keeps its cursor and its pause, so that a change that falls
    /// on a tick does not lose it. The revision is that of the row that was read.
    pub fn put(
        there: Option<(i64, Self)>,
        name: ScheduleName,
        (rule, job): (Schedule, TickJob),
        keeper: Keeper,
        now: Timestamp,
    ) -> ScheduleWrite {
        let revision = there.as_ref().map(|(revision, _)| *revision);
        let mut row = match there {
            Some((_, row)) => Self { rule, job, keeper, ..row },
            None => Self {
                name: name.clone(),
                rule,
                job,
                activity: Activity::Active,
                keeper,
                born: now,
                cursor: now,
                next: None,
                minted: Vec::new(),
                skipped: Vec::new(),
            },
        };
        let is_active = row.activity == Activity::Active;
        row.next = row.rule.spec.next_after(&row.rule.zone, row.cursor).filter(|_| is_active);
        ScheduleWrite { name, revision, row: Some(row), mint: Vec::new(), audit: None }
    }

    /// Decides the ticks up to now.
    pub fn look(mut self, revision: i64, now: Timestamp, last_run: LastRun) -> ScheduleWrite {
        let look = Look { now, cursor: self.cursor, activity: self.activity, last_run };
        let plan = plan(&self.rule, &look);
        let mint = plan.mint.iter().map(|tick| self.mint(*tick)).collect();
        self.decided(plan);
        self.write(revision, mint)
    }

    /// Stops it: its ticks are skipped from now on, and counted when it is resumed.
    pub fn pause(mut self, revision: i64) -> ScheduleWrite {
        self.activity = Activity::Paused;
        self.next = None;
        self.write(revision, Vec::new())
    }

    /// Lets it mint again. What was due while it was paused is skipped.
    pub fn resume(mut self, revision: i64, now: Timestamp) -> ScheduleWrite {
        let look = Look { now, cursor: self.cursor, activity: self.activity, last_run: LastRun::Ended };
        if self.activity == Activity::Paused {
            let plan = plan(&self.rule, &look);
            // Beyond the ticks that are counted it is done all the same: a pause is no outage.
            self.cursor = self.cursor.max(now);
            self.decided(Plan { cursor: self.cursor, ..plan });
        }
        self.activity = Activity::Active;
        self.next = self.rule.spec.next_after(&self.rule.zone, self.cursor);
        self.write(revision, Vec::new())
    }

    /// Mints a job now, whatever its ticks and its pause say.
    pub fn trigger(mut self, revision: i64, id: JobId, now: Timestamp) -> ScheduleWrite {
        let job = self.job.mint(id, &self.name, now);
        self.keep(Minted { tick: now, job: id });
        self.write(revision, vec![job])
    }

    /// Deletes it. What it has minted stays.
    pub fn forget(self, revision: i64) -> ScheduleWrite {
        ScheduleWrite { name: self.name, revision: Some(revision), row: None, mint: Vec::new(), audit: None }
    }

    /// The jobs that may still run, if that matters.
    pub fn may_run(&self) -> Vec<JobId> {
        match self.rule.policy.overlap {
            super::Overlap::Allow => Vec::new(),
            super::Overlap::Skip => self.minted.iter().map(|minted| minted.job).collect(),
        }
    }

    /// Since when no worker's code has it any more, though it came from there. It goes on until somebody forgets it.
    pub fn is_ghost(&self, now: Timestamp) -> bool {
        match self.keeper {
            Keeper::Hand => false,
            Keeper::Workers { declared_at } => declared_at + crate::defaults::SCHEDULE_GHOST <= now,
        }
    }

    /// The next ticks that are still to be decided, at most so many. None while it is paused.
    pub fn coming(&self, most: usize) -> Vec<Timestamp> {
        let most = if self.next.is_some() { most } else { 0 };
        self.rule.spec.ticks_after(&self.rule.zone, self.cursor).take(most).collect()
    }

    /// Whether it was to be looked at longer ago than its grace: no worker looks at schedules.
    pub fn is_late(&self, now: Timestamp) -> bool {
        let grace = std::time::Duration::from_micros(self.rule.policy.grace_us);
        self.next.is_some_and(|next| next + grace < now)
    }

    /// The stored form.
    pub fn to_stored(&self) -> String {
        // Names, numbers and texts: it always has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The text is not of that shape: the row is corrupt, or of a newer release.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    fn decided(&mut self, plan: Plan) {
        self.skipped.extend(plan.skipped);
        let over = self.skipped.len().saturating_sub(limits::SCHEDULE_SPANS_KEPT);
        self.skipped.drain(..over);
        (self.cursor, self.next) = (plan.cursor, plan.next);
    }

    fn mint(&mut self, tick: Timestamp) -> NewJob {
        let id = self.id_of(tick);
        self.keep(Minted { tick, job: id });
        self.job.mint(id, &self.name, tick)
    }

    fn keep(&mut self, minted: Minted) {
        self.minted.push(minted);
        let over = self.minted.len().saturating_sub(limits::SCHEDULE_MINTED_KEPT);
        self.minted.drain(..over);
    }

    /// The id of a tick's job, which follows from the schedule and the instant.
    fn id_of(&self, tick: Timestamp) -> JobId {
        let (name, born, tick) = (self.name.as_str(), self.born.as_micros(), tick.as_micros());
        let half = |salt: u8| fingerprint(&(salt, name, born, tick)).unwrap_or_default().to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half(1));
        bytes[8..].copy_from_slice(&half(2));
        JobId::from_bytes(bytes)
    }

    fn write(self, revision: i64, mint: Vec<NewJob>) -> ScheduleWrite {
        ScheduleWrite { name: self.name.clone(), revision: Some(revision), row: Some(self), mint, audit: None }
    }
}

impl ScheduleWrite {
    /// Says who ordered it.
    pub fn by(mut self, actor: &str, reason: &str, action: &'static str) -> Self {
        self.audit = Some(ScheduleAudit { actor: actor.to_owned(), reason: reason.to_owned(), action });
        self
    }

    /// When to look at it again.
    pub fn next(&self) -> Option<Timestamp> {
        self.row.as_ref().and_then(|row| row.next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, Spec, Zone};
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_to_come_follows_the_cursor_and_a_pause_ends_it() {
        let at = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
        let rule =
            Schedule { spec: Spec::parse("*/10 * * * *").unwrap(), zone: Zone::utc(), policy: Policy::default() };
        let job = TickJob::of(&NewJob::new(JobId::from_bytes([1; 16]), Kind::new("k").unwrap())).unwrap();
        let put = StoredSchedule::put(None, ScheduleName::new("s").unwrap(), (rule, job), Keeper::Hand, at(5));
        let row = put.row.unwrap();
        assert_eq!(row.coming(3), [at(10), at(20), at(30)]);
        assert!(!row.is_late(at(11)) && row.is_late(at(11) + Duration::from_micros(1)), "its grace is a minute");
        let row = row.pause(1).row.unwrap();
        assert!(row.coming(3).is_empty() && !row.is_late(at(100)));
        let row = row.resume(2, at(45)).row.unwrap();
        assert_eq!(row.coming(2), [at(50), at(60)]);
    }
}
