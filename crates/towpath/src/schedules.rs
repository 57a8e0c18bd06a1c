//! Schedules in an application: put one by hand or let workers declare it, look at them, pause, resume, trigger, forget.

use std::fmt;
use std::time::Duration;

use towpath_core::schedule::{CatchUp, Keeper, Overlap, Policy, ScheduleWrite, Spec, StoredSchedule, TickJob, Zone};
use towpath_core::store::{Refusal, ScheduleWritten, Schedules as Stored};
use towpath_core::{JobId, NewJob, ScheduleName, Store, StoreError, StoreErrorKind, Timestamp};

use crate::client::{self, Client};
use crate::error::Error;
use crate::job::Job;
use crate::random;

/// A rule that mints a job at each of its ticks. [Put](Schedules::put) it once, or let every worker
/// [declare](crate::WorkerBuilder::schedule) it.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use towpath::Job;
/// # #[derive(Serialize, Deserialize, Job)]
/// # #[job(kind = "report")]
/// # struct Report;
/// use towpath::Schedule;
/// use towpath::schedule::Overlap;
/// let nightly = Schedule::new("nightly", "30 2 * * *", &Report).zone("Europe/Berlin").overlap(Overlap::Skip);
/// ```
#[derive(Debug)]
pub struct Schedule {
    name: String,
    spec: String,
    zone: String,
    policy: Policy,
    job: Result<NewJob, Error>,
}

impl Schedule {
    /// A schedule with this name (1 to 64 of `a-z 0-9 . _ -`) and spec, such as `30 9 * * mon-fri` or `@every 1h`, on the UTC clock. Late ticks
    /// become one; runs may overlap. Each tick mints a job as it is here.
    pub fn new<J: Job>(name: &str, spec: &str, job: &J) -> Self {
        Self::of(name, spec, client::new_job(job))
    }

    /// The same, with a job that was put together by [`JobBuilder::build`](crate::JobBuilder::build) or by hand; its id, due,
    /// deadline and headers are those of each tick.
    pub fn of(name: &str, spec: &str, job: Result<NewJob, Error>) -> Self {
        Self { name: name.into(), spec: spec.into(), zone: "UTC".into(), policy: Policy::default(), job }
    }

    /// The zone whose clock a cron expression reads, by its IANA name.
    pub fn zone(mut self, zone: &str) -> Self {
        self.zone = zone.to_owned();
        self
    }

    /// What becomes of ticks that nobody looked at in time.
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.policy.catch_up = catch_up;
        self
    }

    /// Whether a tick is minted while the job of an earlier one has not ended.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.policy.overlap = overlap;
        self
    }

    /// How long after its instant a tick is in time (1 minute).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.policy = self.policy.grace(grace);
        self
    }

    /// Checks it.
    ///
    /// # Errors
    /// [`Error::Refused`] names what is wrong, and what to write instead.
    pub(crate) fn checked(self) -> Result<Checked, Error> {
        let Self { name, spec, zone, policy, job } = self;
        let name = ScheduleName::new(&name)?;
        let invalid = |problem: String| Error::from(Refusal::Invalid { problem });
        let spec = Spec::parse(&spec).map_err(|e| invalid(e.to_string()))?;
        let zone = Zone::named(&zone).map_err(|e| invalid(format!("schedule {name}: {e}")))?;
        let job = TickJob::of(&job?)?;
        Ok(Checked { name, rule: towpath_core::schedule::Schedule { spec, zone, policy }, job })
    }
}

/// A schedule that was checked.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) name: ScheduleName,
    rule: towpath_core::schedule::Schedule,
    job: TickJob,
}

impl Checked {
    /// The write that puts it, given what is there.
    pub(crate) fn put(self, there: Option<(i64, StoredSchedule)>, keeper: Keeper, now: Timestamp) -> ScheduleWrite {
        StoredSchedule::put(there, self.name, (self.rule, self.job), keeper, now)
    }

    /// Whether it stands there as it is.
    pub(crate) fn is(&self, there: &StoredSchedule) -> bool {
        (&there.rule, &there.job) == (&self.rule, &self.job)
    }
}

/// The schedules of a store. See [`Client::schedules`].
#[derive(Clone, Copy)]
pub struct Schedules<'c> {
    client: &'c Client,
}

/// Attempts at a change that another keeps overtaking.
const ATTEMPTS: u32 = 32;

impl Client {
    /// The schedules of the store.
    pub fn schedules(&self) -> Schedules<'_> {
        Schedules { client: self }
    }
}

impl fmt::Debug for Schedules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedules").finish_non_exhaustive()
    }
}

impl Schedules<'_> {
    /// Makes a schedule, or changes the one of its name, which keeps its cursor and its pause: what another spec has since the
    /// last tick counts as missed, and the policy decides.
    ///
    /// # Errors
    /// [`Error::Refused`] for what is wrong with it, [`Error::Store`] when the store could not do it.
    pub async fn put(&self, schedule: Schedule, actor: &str, reason: &str) -> Result<(), Error> {
        let checked = schedule.checked()?;
        for _ in 0..ATTEMPTS {
            let (now, there) = self.find(&checked.name).await?;
            let write = checked.clone().put(there, Keeper::Hand, now).by(actor, reason, "put schedule");
            if self.write(write).await? == ScheduleWritten::Done {
                return Ok(());
            }
        }
        Err(overtaken().into())
    }

    /// Every schedule, by name.
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn list(&self) -> Result<Vec<StoredSchedule>, Error> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.client.store().schedules(after, PAGE).await?;
            let is_last = page.rows.len() < PAGE as usize;
            all.extend(page.rows.into_iter().map(|(_, row)| row));
            after = all.last().map(|row: &StoredSchedule| row.name.clone());
            if is_last {
                return Ok(all);
            }
        }
    }

    /// One of them; `None` if there is none of this name.
    ///
    /// # Errors
    /// The name cannot be one, or the store could not be asked.
    pub async fn get(&self, name: &str) -> Result<Option<StoredSchedule>, Error> {
        Ok(self.find(&ScheduleName::new(name)?).await?.1.map(|(_, row)| row))
    }

    /// Lets it mint nothing until it is [resumed](Self::resume). `false` if there is none of this name.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn pause(&self, name: &str, actor: &str, reason: &str) -> Result<bool, Error> {
        let change = |revision, row: StoredSchedule, _| row.pause(revision).by(actor, reason, "pause schedule");
        self.change(name, change).await
    }

    /// Lets it mint again; what was due meanwhile is skipped. `false` if there is none of this name.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn resume(&self, name: &str, actor: &str, reason: &str) -> Result<bool, Error> {
        let change =
            |revision, row: StoredSchedule, now| row.resume(revision, now).by(actor, reason, "resume schedule");
        self.change(name, change).await
    }

    /// Mints a job now, also of one that is paused; its ticks stay as they are. `None` if there is none of this name.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn trigger(&self, name: &str, actor: &str, reason: &str) -> Result<Option<JobId>, Error> {
        let id = random::job_id();
        let change =
            |revision, row: StoredSchedule, now| row.trigger(revision, id, now).by(actor, reason, "trigger schedule");
        Ok(self.change(name, change).await?.then_some(id))
    }

    /// Deletes it; what it has minted stays. A schedule that workers declare is there again when the next one starts.
    /// `false` if there is none of this name.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn forget(&self, name: &str, actor: &str, reason: &str) -> Result<bool, Error> {
        let change = |revision, row: StoredSchedule, _| row.forget(revision).by(actor, reason, "forget schedule");
        self.change(name, change).await
    }

    async fn change(
        &self,
        name: &str,
        change: impl Fn(i64, StoredSchedule, Timestamp) -> ScheduleWrite,
    ) -> Result<bool, Error> {
        let name = ScheduleName::new(name)?;
        for _ in 0..ATTEMPTS {
            let (now, there) = self.find(&name).await?;
            let Some((revision, row)) = there else { return Ok(false) };
            if self.write(change(revision, row, now)).await? == ScheduleWritten::Done {
                return Ok(true);
            }
        }
        Err(overtaken().into())
    }

    async fn find(&self, name: &ScheduleName) -> Result<(Timestamp, Option<(i64, StoredSchedule)>), Error> {
        Ok(find(&**self.client.store(), name).await?)
    }

    async fn write(&self, write: ScheduleWrite) -> Result<ScheduleWritten, Error> {
        let written = self.client.store().write_schedules(vec![write]).await?;
        Ok(written.first().copied().unwrap_or(ScheduleWritten::Stale))
    }
}

/// Schedules in one page.
const PAGE: u32 = 1_000;

/// One schedule and the store's clock.
pub(crate) async fn find(
    store: &dyn Store,
    name: &ScheduleName,
) -> Result<(Timestamp, Option<(i64, StoredSchedule)>), StoreError> {
    // Lists come after a name: that of the schedule without its last character comes just before it.
    let before = &name.as_str()[..name.as_str().len().saturating_sub(1)];
    let mut after = (!before.is_empty()).then(|| ScheduleName::from_stored(before));
    loop {
        let Stored { now, rows } = store.schedules(after, PAGE).await?;
        let last = rows.last().map(|(_, row)| row.name.clone());
        let found = rows.into_iter().find(|(_, row)| row.name == *name);
        match last {
            Some(last) if found.is_none() && last < *name => after = Some(last),
            _ => return Ok((now, found)),
        }
    }
}

fn overtaken() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "change a schedule", "others kept changing it: try again")
}
