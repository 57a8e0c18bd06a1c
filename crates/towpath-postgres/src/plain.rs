//! Ends of lone jobs that need no look at their rows: nearly all that a busy worker settles.

use std::collections::HashMap;

use tokio_postgres::Row;
use towpath_core::store::{Counters, Ending, Move, Settle, Settled};
use towpath_core::{End, Incarnation, JobId, Timestamp, fault};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{signed, stored};
use crate::session::Session;

/// Plain ends of one turn, in groups that end in the same way.
#[derive(Default)]
pub(crate) struct Plain {
    groups: HashMap<Way, Vec<i64>>,
    /// Which items they are.
    items: Vec<bool>,
}

/// All that is the same in a group.
#[derive(PartialEq, Eq, Hash)]
struct Way {
    turn: u64,
    end: End,
    counters: Counters,
    keep_us: i64,
}

/// With more ways than this a look is cheaper.
const GROUPS_MAX: usize = 8;

impl Plain {
    /// Picks the plain ends out of what this worker settles.
    pub(crate) fn of(settle: &[Settle], worker: Incarnation) -> Self {
        let mut plain = Self::default();
        for item in settle {
            let way =
                way(item).filter(|_| item.fence.token.worker == worker && !fault::is_put_back(fault::Fault::SkipFence));
            let way = way.filter(|way| plain.groups.contains_key(way) || plain.groups.len() < GROUPS_MAX);
            plain.items.push(way.is_some());
            if let Some(way) = way {
                plain.groups.entry(way).or_default().push(item.fence.key);
            }
        }
        plain.groups.values_mut().for_each(|jobs| jobs.sort_unstable());
        plain
    }

    pub(crate) fn has(&self, at: usize) -> bool {
        self.items.get(at).copied().unwrap_or(false)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(crate) async fn write(&self, session: &Session, worker: i64, now: i64) -> Result<Vec<Row>, Fault> {
        let writes = self.groups.iter().map(|(way, jobs)| way.write(session, worker, now, jobs));
        Ok(futures_util::future::try_join_all(writes).await?.into_iter().flatten().collect())
    }

    /// Answers the plain items by what was written; notes who ended.
    pub(crate) fn answer(
        &self,
        settle: &[Settle],
        rows: &[Row],
        settled: &mut [Settled],
        ended: &mut Vec<JobId>,
    ) -> Result<(), Fault> {
        let mut ids: HashMap<i64, JobId> = HashMap::with_capacity(rows.len());
        for row in rows {
            ids.insert(row.try_get(0)?, JobId::from(row.try_get::<_, Uuid>(1)?));
        }
        for ((item, answer), _) in settle.iter().zip(settled).zip(&self.items).filter(|(_, is_plain)| **is_plain) {
            if let Some(id) = ids.remove(&item.fence.key) {
                *answer = Settled::Done;
                ended.push(id);
            }
        }
        Ok(())
    }
}

/// How an item ends, if it is a lone job's, may not be replaced by a cancel, and leaves nothing behind.
fn way(item: &Settle) -> Option<Way> {
    let Move::End(ending) = &item.then else { return None };
    let Ending { end, cause: None, output: None, branches, keep, counters, record: None, stop: None, tells: None } =
        ending
    else {
        return None;
    };
    let is_plain = item.fence.key > 0 && item.if_cancelled.is_none() && branches.is_empty() && !item.is_of_run();
    is_plain.then(|| Way {
        turn: item.fence.token.turn,
        end: *end,
        counters: *counters,
        keep_us: towpath_core::micros(*keep),
    })
}

impl Way {
    async fn write(&self, session: &Session, worker: i64, now: i64, jobs: &[i64]) -> Result<Vec<Row>, Fault> {
        let prune_at = (Timestamp::from_micros(now) + towpath_core::from_micros(self.keep_us)).as_micros();
        let Counters { attempt, failures, crashes } = self.counters;
        session
            .run(
                Query::SettlePlain,
                &[
                    &now,
                    &worker,
                    &signed(self.turn),
                    &jobs,
                    &self.end.code(),
                    &stored(attempt),
                    &stored(failures),
                    &stored(crashes),
                    &prune_at,
                ],
            )
            .await
    }
}
