//! Heartbeats: keep what a worker holds, and tell it the news.

use std::collections::BTreeSet;

use rusqlite::params;
use towpath_core::store::{Beat, BeatReply, Intent};
use towpath_core::{Cause, Fence, StopReason, Token};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

pub(crate) fn extend(tx: &mut Tx<'_, '_>, beat: &Beat) -> Result<BeatReply, Fault> {
    let known = tx.db.maybe(Query::WorkerFind, [&beat.worker.as_bytes()[..]], |row| Ok(row.get(0)?))?;
    let (held, lost) = tx.sort_listed(known, beat)?;
    let worker: i64 = match (known, beat.intent) {
        (None, Intent::Leave) => {
            return Ok(BeatReply { now: tx.now, lost, cancel: Vec::new(), handed_back: 0, wish: None });
        }
        (Some(worker), _) => worker,
        (None, Intent::Stay) => tx.register(beat)?,
    };
    if beat.intent == Intent::Leave {
        let handed_back = tx.hand_back_unlisted(worker, i64::MAX, &BTreeSet::new())?;
        tx.forget(worker)?;
        return Ok(BeatReply { now: tx.now, lost, cancel: Vec::new(), handed_back, wish: None });
    }
    let renewed = [worker, (tx.now + beat.lease).as_micros()];
    let wish = tx.db.one(Query::LeaseWrite, renewed, |row| rows::json(row, 0, |text| serde_json::from_str(text)))?;
    let handed_back = tx.hand_back_unlisted(worker, beat.acknowledged.cast_signed(), &held)?;
    let cancel = tx.asked_to_stop(worker, beat)?;
    Ok(BeatReply { now: tx.now, lost, cancel, handed_back, wish })
}

impl Tx<'_, '_> {
    /// What the worker lists: the jobs that it holds so, and the claims that it has lost.
    fn sort_listed(&mut self, worker: Option<i64>, beat: &Beat) -> Result<(BTreeSet<i64>, Vec<Fence>), Fault> {
        let mut held = BTreeSet::new();
        let mut lost = Vec::new();
        for fence in &beat.holds {
            let Token { worker: incarnation, turn, index } = fence.token;
            let is_held = match worker.filter(|_| incarnation == beat.worker) {
                Some(worker) => {
                    let claim = params![fence.key, worker, turn.cast_signed(), index];
                    self.db.maybe(Query::RunningIs, claim, |_| Ok(()))?.is_some()
                }
                None => false,
            };
            if is_held {
                held.insert(fence.key);
            } else {
                lost.push(*fence);
            }
        }
        Ok((held, lost))
    }

    /// Registers a worker. What other builds could not run is tried again.
    fn register(&mut self, beat: &Beat) -> Result<i64, Fault> {
        let worker = self.draw()?;
        let identity = &beat.identity;
        let host = &identity.host;
        let build = identity.build.cast_signed();
        let row = params![
            worker,
            &beat.worker.as_bytes()[..],
            beat.acknowledged.cast_signed(),
            identity.name,
            host.machine,
            host.boot,
            host.pid_namespace,
            host.pid,
            host.started.cast_signed(),
            build,
            rows::list_text(&identity.queues).unwrap_or_else(|| "[]".into()),
            rows::kinds_text(&identity.kinds),
            self.now_us(),
        ];
        self.db.run(Query::WorkerInsert, row)?;
        for job in self.db.all(Query::BlockedByOthers, [build], |row| Ok(row.get(0)?))? {
            let facts = self.facts(job)?;
            if let Some(counters) = self.take_idle(&facts)? {
                self.make_ready(job, facts.place, counters)?;
            }
        }
        Ok(worker)
    }

    fn hand_back_unlisted(&mut self, worker: i64, acknowledged: i64, listed: &BTreeSet<i64>) -> Result<u32, Fault> {
        let held: Vec<i64> = self.db.all(Query::RunningKnown, [worker, acknowledged], |row| Ok(row.get(0)?))?;
        let mut handed_back = 0;
        let mut ended = Vec::new();
        for job in held.into_iter().filter(|job| !listed.contains(job)) {
            ended.extend(self.hand_back(job)?);
            handed_back += 1;
        }
        self.release_to_nobody(&ended)?;
        Ok(handed_back)
    }

    /// What a worker holds with a handler and should stop, by turn and index.
    fn asked_to_stop(&mut self, worker: i64, beat: &Beat) -> Result<Vec<(Fence, Cause)>, Fault> {
        self.db.all(Query::RunningToStop, [worker], |row| {
            let turn: i64 = row.get(1)?;
            let token = Token { worker: beat.worker, turn: turn.cast_unsigned(), index: row.get(2)? };
            let stop = row.get::<_, Option<i16>>(4)?.map(rows::stop_reason).transpose()?;
            let stop = stop.unwrap_or(StopReason::Cancel);
            let cause = rows::cause(row, 3)?.unwrap_or(Cause::GraphStopped { stop });
            Ok((Fence { key: row.get(0)?, token }, cause))
        })
    }

    /// Forgets a worker that holds nothing.
    pub(crate) fn forget(&mut self, worker: i64) -> Result<(), Fault> {
        self.idle.forget(worker);
        self.db.run(Query::WorkerDelete, [worker])?;
        self.db.run(Query::LeaseDelete, [worker])?;
        Ok(())
    }
}
