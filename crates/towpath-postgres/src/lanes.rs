//! The lanes that this process has met. A lane is never changed and never deleted.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use tokio_postgres::Row;
use towpath_core::{Kind, NewJob, Queue};

use crate::error::Fault;
use crate::queries::Query;
use crate::session::Session;

/// What a lane stands for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) queue: Queue,
    pub(crate) kind: Kind,
    pub(crate) version: u16,
}

#[derive(Default)]
pub(crate) struct Lanes(RwLock<Known>);

#[derive(Default)]
struct Known {
    by_parts: HashMap<Lane, i32>,
    by_number: HashMap<i32, Lane>,
}

impl Lane {
    pub(crate) fn of(job: &NewJob) -> Self {
        Self { queue: job.queue.clone(), kind: job.kind.clone(), version: job.version }
    }
}

impl Lanes {
    /// Makes the lanes of these jobs, unless they are known. Not part of any transaction: a lane more does no harm,
    /// and a lock on it would make others wait.
    pub(crate) async fn intern(&self, session: &Session, jobs: impl Iterator<Item = &NewJob>) -> Result<(), Fault> {
        let mut missing: HashSet<Lane> = {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            jobs.map(Lane::of).filter(|lane| !known.by_parts.contains_key(lane)).collect()
        };
        while !missing.is_empty() {
            let queues: Vec<&str> = missing.iter().map(|lane| lane.queue.as_str()).collect();
            let kinds: Vec<&str> = missing.iter().map(|lane| lane.kind.as_str()).collect();
            let versions: Vec<i32> = missing.iter().map(|lane| i32::from(lane.version)).collect();
            let rows = session.run(Query::LaneIntern, &[&queues, &kinds, &versions]).await?;
            self.learn(&rows)?;
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            missing.retain(|lane| !known.by_parts.contains_key(lane));
        }
        Ok(())
    }

    /// Whether the lanes of these jobs are known.
    pub(crate) fn knows<'j>(&self, mut jobs: impl Iterator<Item = &'j NewJob>) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        jobs.all(|job| known.by_parts.contains_key(&Lane::of(job)))
    }

    /// Learns of lanes that another process has made, if one of these is unknown.
    pub(crate) async fn meet(&self, session: &Session, numbers: impl Iterator<Item = i32>) -> Result<(), Fault> {
        let mut numbers = numbers;
        let is_new = {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            numbers.any(|lane| !known.by_number.contains_key(&lane))
        };
        if is_new {
            self.learn(&session.run(Query::LaneList, &[]).await?)?;
        }
        Ok(())
    }

    /// The number of a lane that was interned.
    pub(crate) fn number(&self, job: &NewJob) -> Result<i32, Fault> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let lane = Lane::of(job);
        known.by_parts.get(&lane).copied().ok_or(Fault::Again("a lane is gone"))
    }

    /// The lane of a number that was met.
    pub(crate) fn lane(&self, number: i32) -> Result<Lane, Fault> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let lane = known.by_number.get(&number).cloned();
        lane.ok_or_else(|| Fault::corrupt("read a job", format!("there is no lane {number}")))
    }

    fn learn(&self, rows: &[Row]) -> Result<(), Fault> {
        let mut known = self.write();
        for row in rows {
            let version: i32 = row.try_get(3)?;
            let lane = Lane {
                queue: Queue::from_stored(row.try_get(1)?),
                kind: Kind::from_stored(row.try_get(2)?),
                version: u16::try_from(version).unwrap_or(u16::MAX),
            };
            let number = row.try_get(0)?;
            known.by_parts.insert(lane.clone(), number);
            known.by_number.insert(number, lane);
        }
        Ok(())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
