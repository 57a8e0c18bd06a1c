//! Gives a worker what it asked for: decisions first, then jobs by queue, priority and arrival.

use std::collections::VecDeque;

use rusqlite::params;
use towpath_core::store::{Claim, Counters, QueueClaim};
use towpath_core::{Kind, limits};

use crate::care::Care;
use crate::error::Fault;
use crate::freed::Freed;
use crate::place::Holder;
use crate::queries::Query;
use crate::rows::{self, Decide, Place};
use crate::tx::Tx;

impl Tx<'_, '_> {
    pub(crate) fn claim(&mut self, claim: &Claim, holder: &mut Holder) -> Result<(), Fault> {
        self.promote()?;
        let mut room = claim.decisions_max.min(limits::DECISIONS_MAX);
        room -= self.claim_undecided(room, holder)?;
        self.claim_overdue(room, holder)?;
        let mut room = claim.most.min(limits::CLAIM_MAX);
        for queue in &claim.queues {
            room -= self.claim_queue(queue, room, holder)?;
        }
        self.place_freed()
    }

    /// Moves jobs whose time has come to the head, as if they arrived now.
    fn promote(&mut self) -> Result<(), Fault> {
        let due = self.db.all(Query::LaterDue, params![self.now_us(), limits::CLAIM_MAX], |row| {
            let place = Place { lane: row.get(1)?, turnout: row.get(2)? };
            Ok((row.get(0)?, place, rows::counters(row, 3)?))
        })?;
        for (job, place, counters) in due {
            self.for_job(job, |tx| {
                tx.db.run(Query::LaterDelete, [job])?;
                tx.make_ready(job, place, counters)
            })?;
        }
        Ok(())
    }

    /// Answers how many it gave.
    fn claim_undecided(&mut self, room: u16, holder: &mut Holder) -> Result<u16, Fault> {
        let nodes = self.db.all(Query::UndecidedNodes, [room], rows::node)?;
        for node in &nodes {
            self.for_job(node.job, |tx| {
                tx.db.run(Query::UndecidedDelete, [node.job])?;
                tx.decide_by(node, holder)
            })?;
        }
        // At most `room`.
        Ok(nodes.len() as u16)
    }

    /// Takes jobs whose deadline has passed before anybody claimed them. A waiting or running one is
    /// left: whoever claims it later sees its deadline.
    fn claim_overdue(&mut self, room: u16, holder: &mut Holder) -> Result<(), Fault> {
        let due: Vec<(i64, i64)> =
            self.db.all(Query::DeadlineDue, params![self.now_us(), room], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if !due.is_empty() {
            // One of those that were freed just now may be among them.
            self.place_freed()?;
        }
        for (at, job) in due {
            self.for_job(job, |tx| {
                tx.db.run(Query::DeadlineDelete, [at, job])?;
                let facts = tx.facts(job)?;
                match tx.take_idle(&facts)? {
                    Some(counters) => tx.hold(job, Decide::Deadline, facts.place, counters, holder),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// Answers how many it gave, at most `room`.
    fn claim_queue(&mut self, queue: &QueueClaim, room: u16, holder: &mut Holder) -> Result<u16, Fault> {
        let mut limit = usize::from(queue.limit.min(room));
        let mut lanes = self.lanes_served(queue)?;
        // Each look reads a share of what is wanted, so that many lanes are not read for nothing.
        let chunk = (limit / lanes.len().max(1)).clamp(CHUNK_MIN, limit.max(CHUNK_MIN));
        let freed: Vec<LaneHead> = lanes.iter().map(|of| LaneHead::freed(of.lane, &mut self.freed)).collect();
        lanes.extend(freed.into_iter().filter(|freed| !freed.heads.is_empty()));
        for given in 0..limit {
            for lane in &mut lanes {
                lane.fill(self, chunk)?;
            }
            let first = lanes.iter_mut().filter(|lane| !lane.heads.is_empty()).min_by_key(|lane| lane.order());
            let Some((lane, head)) = first.and_then(LaneHead::take) else {
                limit = given;
                break;
            };
            self.for_job(head.job, |tx| tx.claim_head(lane, &head, holder))?;
        }
        for lane in lanes {
            lane.close(self)?;
        }
        // At most what was asked for, which is a u16.
        Ok(limit as u16)
    }

    /// The lanes of a queue whose kind and version are served.
    fn lanes_served(&mut self, queue: &QueueClaim) -> Result<Vec<LaneHead>, Fault> {
        let lanes = self.db.all(Query::LaneList, [queue.queue.as_str()], |row| {
            let (lane, kind, version): (i64, String, u16) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((lane, Kind::from_stored(&kind), version))
        })?;
        let is_served = |kind: &Kind, version: u16| {
            queue.serves.iter().any(|served| served.kind == *kind && served.versions.has(version))
        };
        let served = lanes.into_iter().filter(|(_, kind, version)| is_served(kind, *version));
        Ok(served.map(|(lane, ..)| LaneHead::new(lane)).collect())
    }

    /// Gives a job to its handler, or for a decision if its graph is stopped.
    fn claim_head(&mut self, lane: i64, head: &Ready, holder: &mut Holder) -> Result<(), Fault> {
        let Ready { turnout, seq, job, counters, stopped } = *head;
        let place = Place { lane, turnout };
        if self.care == Care::EachJob {
            self.db.maybe(Query::ReadyTake, [lane, turnout, seq], |_| Ok(()))?;
        }
        if stopped {
            return self.hold(job, Decide::Stopped, place, counters, holder);
        }
        let counters = Counters { attempt: counters.attempt + 1, ..counters };
        self.hold(job, Decide::Handler, place, counters, holder)
    }
}

/// Rows that a look at a lane reads at least.
const CHUNK_MIN: usize = 16;

/// A job at the head of a lane.
pub(crate) struct Ready {
    pub(crate) turnout: i64,
    pub(crate) seq: i64,
    pub(crate) job: i64,
    pub(crate) counters: Counters,
    pub(crate) stopped: bool,
}

impl Ready {
    pub(crate) fn order(&self) -> (i64, i64) {
        (self.turnout, self.seq)
    }
}

/// A lane and the part of its head that was read; or what was freed for it, which stands nowhere yet.
struct LaneHead {
    lane: i64,
    is_freed: bool,
    heads: VecDeque<Ready>,
    /// The last row that was read, if more may lie behind it.
    after: Option<(i64, i64)>,
    /// The last row that was given away: a lane is taken from its start, so all before it are too.
    taken: Option<(i64, i64)>,
}

impl LaneHead {
    fn new(lane: i64) -> Self {
        Self { lane, is_freed: false, heads: VecDeque::new(), after: Some((i64::MIN, i64::MIN)), taken: None }
    }

    fn freed(lane: i64, freed: &mut Freed) -> Self {
        Self { lane, is_freed: true, heads: freed.take_of(lane), after: None, taken: None }
    }

    fn order(&self) -> Option<(i64, i64)> {
        self.heads.front().map(Ready::order)
    }

    fn take(&mut self) -> Option<(i64, Ready)> {
        let head = self.heads.pop_front()?;
        self.taken = Some((head.turnout, head.seq));
        Some((self.lane, head))
    }

    /// Takes out of the table what was given away, at once for all. With care, each was taken by itself. What was freed and is not
    /// given away is left to be placed.
    fn close(self, tx: &mut Tx<'_, '_>) -> Result<(), Fault> {
        if self.is_freed {
            tx.freed.put_back(self.lane, self.heads);
        } else if let Some((turnout, seq)) = self.taken.filter(|_| tx.care == Care::None) {
            tx.db.run(Query::ReadyDelete, [self.lane, turnout, seq])?;
        }
        Ok(())
    }

    /// Reads on if all that was read is given away.
    fn fill(&mut self, tx: &mut Tx<'_, '_>, chunk: usize) -> Result<(), Fault> {
        let Some((turnout, seq)) = self.after.filter(|_| self.heads.is_empty()) else { return Ok(()) };
        let rows = tx.db.all(Query::ReadyHead, params![self.lane, turnout, seq, chunk as i64], |row| {
            Ok(Ready {
                turnout: row.get(0)?,
                seq: row.get(1)?,
                job: row.get(2)?,
                counters: rows::counters(row, 3)?,
                stopped: row.get(6)?,
            })
        })?;
        let last = rows.last().map(Ready::order);
        self.after = last.filter(|_| rows.len() == chunk);
        self.heads = rows.into();
        Ok(())
    }
}
