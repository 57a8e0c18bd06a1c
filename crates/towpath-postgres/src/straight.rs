//! Ends of nodes that stand whatever their rows say: written under their claims in the first exchange of a turn.
//!
//! It is a hope that nearly always comes true. If one of the claims does not hold, all is rolled back, and the turn goes
//! the long way: look, then write.

use tokio_postgres::Row;
use towpath_core::store::{Ending, Move, Settle, Settled};
use towpath_core::{Incarnation, JobId, fault};
use uuid::Uuid;

use crate::columns::columns;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{branches, job_key, json, signed, stored};
use crate::session::Session;

/// The straight ends of one turn.
#[derive(Default)]
pub(crate) struct Straight {
    /// Which items they are.
    items: Vec<bool>,
    ends: HeldEnds,
    /// Their jobs, ascending.
    pub(crate) nodes: Vec<i64>,
}

columns!(HeldEnds of HeldEndRow {
    job: i64,
    turn: i64,
    idx: i32,
    state: i16,
    cause: Option<String>,
    attempt: i32,
    failures: i32,
    crashes: i32,
    branches: Option<String>,
    codec: Option<i16>,
    bytes: Option<Vec<u8>>,
});

impl Straight {
    /// Picks the straight ends out of what this worker settles.
    pub(crate) fn of(settle: &[Settle], worker: Incarnation) -> Self {
        let mut straight = Self { items: vec![false; settle.len()], ..Self::default() };
        if fault::is_put_back(fault::Fault::SkipFence) {
            return straight;
        }
        let ends = settle.iter().enumerate().filter(|(_, item)| item.fence.token.worker == worker);
        let mut ends: Vec<_> =
            ends.filter_map(|(at, item)| Some((job_key(item.fence.key), at, ending(item)?))).collect();
        ends.sort_unstable_by_key(|(job, ..)| *job);
        for (job, at, ending) in ends {
            let token = settle[at].fence.token;
            straight.items[at] = true;
            straight.nodes.push(job);
            straight.ends.push(HeldEndRow {
                job,
                turn: signed(token.turn),
                idx: i32::from(token.index),
                state: ending.end.code(),
                cause: ending.cause.as_ref().and_then(json),
                attempt: stored(ending.counters.attempt),
                failures: stored(ending.counters.failures),
                crashes: stored(ending.counters.crashes),
                branches: branches(&ending.branches),
                codec: ending.output.as_ref().map(|output| output.codec.code()),
                bytes: ending.output.as_ref().map(|output| output.bytes.to_vec()),
            });
        }
        straight
    }

    pub(crate) fn has(&self, at: usize) -> bool {
        self.items.get(at).copied().unwrap_or(false)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Writes them; answers who ended, which is not all of them if a claim does not hold.
    pub(crate) async fn write(&self, session: &Session, worker: Incarnation) -> Result<Vec<Row>, Fault> {
        self.ends.run(session, Query::EndHeld, &[&worker.as_uuid()]).await
    }

    /// Says of each that it is done.
    pub(crate) fn answer(&self, settled: &mut [Settled]) {
        for (answer, _) in settled.iter_mut().zip(&self.items).filter(|(_, is_straight)| **is_straight) {
            *answer = Settled::Done;
        }
    }

    /// The ids of those that ended, if all did.
    pub(crate) fn all_of(&self, ended: &[Row]) -> Result<Option<Vec<JobId>>, Fault> {
        if ended.len() < self.nodes.len() {
            return Ok(None);
        }
        let ids = ended.iter().map(|row| Ok(JobId::from(row.try_get::<_, Uuid>(1)?)));
        ids.collect::<Result<_, Fault>>().map(Some)
    }
}

/// How an item ends, if it is a node, may not be replaced by a cancel, stops nothing, and nobody is told.
fn ending(item: &Settle) -> Option<&Ending> {
    let Move::End(ending) = &item.then else { return None };
    let is_straight = item.fence.key < 0
        && item.if_cancelled.is_none()
        && item.append.is_none()
        && !item.is_of_run()
        && matches!(ending, Ending { record: None, stop: None, tells: None, .. });
    is_straight.then_some(ending)
}
