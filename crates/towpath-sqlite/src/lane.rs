//! Lanes: the interned (queue, kind, version) of jobs, kept in the process once seen.
//!
//! A lane is never deleted, so what is kept cannot become wrong, unless the transaction that wrote it
//! is rolled back: then everything is forgotten and read again.

use std::collections::HashMap;

use rusqlite::params;
use towpath_core::{Kind, NewJob, Queue};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;

/// What a lane stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) queue: Queue,
    pub(crate) kind: Kind,
    pub(crate) version: u16,
}

impl Lane {
    pub(crate) fn of(job: &NewJob) -> Self {
        Self { queue: job.queue.clone(), kind: job.kind.clone(), version: job.version }
    }
}

/// Lanes that were seen.
#[derive(Default)]
pub(crate) struct Lanes {
    numbers: HashMap<Lane, i64>,
    names: HashMap<i64, Lane>,
}

impl Lanes {
    /// The lane's number, written if it is new.
    pub(crate) fn intern(&mut self, db: &mut Db<'_>, lane: Lane) -> Result<i64, Fault> {
        if let Some(number) = self.numbers.get(&lane) {
            return Ok(*number);
        }
        let key = params![lane.queue.as_str(), lane.kind.as_str(), lane.version];
        let found = db.maybe(Query::LaneFind, key, |row| Ok(row.get(0)?))?;
        let number = match found {
            Some(number) => number,
            None => {
                db.run(Query::LaneInsert, key)?;
                db.conn.last_insert_rowid()
            }
        };
        self.keep(number, lane);
        Ok(number)
    }

    /// What a lane's number stands for.
    pub(crate) fn name(&mut self, db: &mut Db<'_>, number: i64) -> Result<&Lane, Fault> {
        if !self.names.contains_key(&number) {
            let lane = db.one(Query::LaneName, [number], |row| {
                let (queue, kind): (String, String) = (row.get(0)?, row.get(1)?);
                Ok(Lane { queue: Queue::from_stored(&queue), kind: Kind::from_stored(&kind), version: row.get(2)? })
            })?;
            self.keep(number, lane);
        }
        self.names.get(&number).ok_or_else(|| Fault::corrupt(format!("there is no lane {number}")))
    }

    /// Forgets everything, because a rollback may have unwritten some of it.
    pub(crate) fn forget(&mut self) {
        self.numbers.clear();
        self.names.clear();
    }

    fn keep(&mut self, number: i64, lane: Lane) {
        self.names.insert(number, lane.clone());
        self.numbers.insert(lane, number);
    }
}
