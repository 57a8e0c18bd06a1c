//! Puts jobs back that have ended or are blocked.

use towpath_core::store::{Change, Changed};
use towpath_core::{End, GraphId, Hold, JobId, KeyHolder, Payload, State, UniqueKey};
use uuid::Uuid;

use crate::apply::Orders;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, state};
use crate::session::Session;

/// What an order may give a unique key again.
#[derive(Default)]
pub(crate) struct Keyed {
    jobs: Vec<Uuid>,
    graphs: Vec<Uuid>,
}

impl Orders<'_> {
    pub(crate) async fn requeue(&mut self, id: JobId, from: &[End], input: Option<&Payload>) -> Result<Changed, Fault> {
        let session = self.session;
        let found = session.run(Query::FindJobs, &[&vec![id.as_uuid()]]).await?;
        let Some(row) = found.first() else { return Ok(Changed::Unknown) };
        let (job, is_node): (i64, bool) = (row.try_get(1)?, row.try_get::<_, Option<i64>>(2)?.is_some());
        let has_journal = match row.try_get::<_, Option<&str>>(4)? {
            Some(_) => {
                let rows = session.run(Query::RunLook, &[&vec![job], &vec![false]]).await?;
                rows.first().is_some_and(|row| row.try_get::<_, i32>(2).is_ok_and(|entries| entries > 0))
            }
            None => false,
        };
        let ends: Vec<i16> =
            if is_node || has_journal { Vec::new() } else { from.iter().map(|end| end.code()).collect() };
        if let Some(by) = self.key_again(job, id, &ends).await? {
            return Ok(Changed::KeyTaken { by });
        }
        let may_be_blocked = !has_journal || input.is_none();
        let Some(taken) = session.run(Query::RequeueTake, &[&job, &ends, &may_be_blocked]).await?.into_iter().next()
        else {
            // A prune may have had it meanwhile.
            let Some(state) = self.state_of(job).await? else { return Ok(Changed::Unknown) };
            return Ok(match state {
                State::Ended(_) if is_node => Changed::OfGraph,
                State::Ended(_) | State::Blocked if has_journal => Changed::HasBegun,
                state => Changed::Left(state),
            });
        };
        let attempt = count(taken.try_get(0)?);
        let codec = input.map(|input| input.codec.code());
        let bytes = input.map(|input| &input.bytes[..]);
        let attempt = crate::rows::stored(attempt);
        let row = session.one(Query::RequeuePut, &[&job, &self.now, &attempt, &codec, &bytes]).await?;
        self.lanes.push(row.try_get(0)?);
        Ok(Changed::Requeued)
    }

    /// Where a job stands, unless it is gone.
    pub(crate) async fn state_of(&self, job: i64) -> Result<Option<State>, Fault> {
        let found = self.session.run(Query::StateOf, &[&vec![job]]).await?;
        found.first().map(|row| state(row.try_get(1)?)).transpose()
    }

    /// Locks the unique keys of jobs that are to be put back and of graphs that are to be retried, before any other row: as an
    /// enqueue does.
    pub(crate) async fn lock_keys(&self) -> Result<Keyed, Fault> {
        let mut keyed = Keyed::default();
        for change in &self.order.changes {
            match change {
                Change::Requeue { job, .. } => keyed.jobs.push(job.as_uuid()),
                Change::BeginRetry { graph, .. } => keyed.graphs.push(graph.as_uuid()),
                _ => {}
            }
        }
        if !keyed.jobs.is_empty() {
            self.session.run(Query::KeyLock, &[&keyed.jobs]).await?;
        }
        if !keyed.graphs.is_empty() {
            self.session.run(Query::KeyLockGraphs, &[&keyed.graphs]).await?;
        }
        Ok(keyed)
    }

    /// Deletes what `lock_keys` wrote for keys that nobody has.
    pub(crate) async fn unlock_keys(&self, keyed: Keyed) -> Result<(), Fault> {
        if !keyed.jobs.is_empty() {
            self.session.run(Query::KeyUnlock, &[&keyed.jobs]).await?;
        }
        if !keyed.graphs.is_empty() {
            self.session.run(Query::KeyUnlockGraphs, &[&keyed.graphs]).await?;
        }
        Ok(())
    }

    /// Gives a job that leaves its end its key again, if it had one that it would hold; who has it, if another one does.
    async fn key_again(&self, job: i64, id: JobId, ends: &Vec<i16>) -> Result<Option<KeyHolder>, Fault> {
        let kept = self.session.run(Query::KeyAgain, &[&job, &self.now, ends]).await?;
        let Some(row) = kept.first() else { return Ok(None) };
        if let Some(by) = row.try_get::<_, Option<Uuid>>(3)? {
            return Ok(Some(KeyHolder::Job(JobId::from_bytes(*by.as_bytes()))));
        }
        let (kind, key, hold): (&str, &str, i16) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        self.session.run(Query::KeyTake, &[&kind, &key, &job, &id.as_uuid(), &hold, &self.now, &0_i16]).await?;
        Ok(None)
    }
}

/// Gives a graph that has ended and goes on its key again, if it had one that it would hold; the key and who has it, if another
/// one does. The key is locked.
pub(crate) async fn graph_key_again(
    session: &Session,
    now: i64,
    graph: i64,
) -> Result<Option<(UniqueKey, KeyHolder)>, Fault> {
    let kept = session.run(Query::KeyAgainGraph, &[&graph, &now]).await?;
    let Some(row) = kept.first() else { return Ok(None) };
    let (id, name, key): (Uuid, &str, &str) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if let Some(by) = row.try_get::<_, Option<Uuid>>(3)? {
        return Ok(Some((UniqueKey::from_stored(key), KeyHolder::Graph(GraphId::from(by)))));
    }
    let (hold, scope) = (Hold::Ended.code(), 1_i16);
    session.run(Query::KeyTake, &[&name, &key, &graph, &id, &hold, &now, &scope]).await?;
    Ok(None)
}
