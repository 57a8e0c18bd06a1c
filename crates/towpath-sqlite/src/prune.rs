//! Deletes what is past its retention, a bounded number of rows at a time.

use rusqlite::params;
use towpath_core::StopReason;
use towpath_core::store::Pruned;

use crate::error::Fault;
use crate::queries::Query;
use crate::tx::Tx;

pub(crate) fn prune(tx: &mut Tx<'_, '_>, limit: u32) -> Result<Pruned, Fault> {
    let past = params![tx.now_us(), limit];
    let jobs: Vec<(i64, bool)> = tx.db.all(Query::EndedPast, past, |row| Ok((row.get(0)?, row.get(1)?)))?;
    if jobs.is_empty() {
        return match tx.graph_to_prune()? {
            Some(graph) => tx.prune_graph(graph, limit),
            None => tx.prune_arrivals(limit),
        };
    }
    for (job, keeps_id) in &jobs {
        if *keeps_id {
            tx.db.run(Query::TombstoneLeave, params![job, tx.now_us()])?;
        }
        tx.delete_job(*job)?;
    }
    // At most `limit`.
    Ok(Pruned { jobs: jobs.len() as u32, ..Pruned::default() })
}

impl Tx<'_, '_> {
    /// The graph that is being deleted, or the next one, marked.
    fn graph_to_prune(&mut self) -> Result<Option<i64>, Fault> {
        let marked = self.db.maybe(Query::StopFind, [StopReason::Prune.code()], |row| Ok(row.get(0)?))?;
        if marked.is_some() {
            return Ok(marked);
        }
        let past = self.db.maybe(Query::GraphPast, [self.now.as_micros()], |row| Ok(row.get(0)?))?;
        if let Some(graph) = past {
            self.db.run(Query::StopMark, params![graph, StopReason::Prune.code(), self.now_us()])?;
        }
        Ok(past)
    }

    fn prune_graph(&mut self, graph: i64, limit: u32) -> Result<Pruned, Fault> {
        // One more than the limit tells whether this is the last of it.
        let ahead = params![graph, i64::from(limit) + 1];
        let mut nodes: Vec<i64> = self.db.all(Query::NodeKeys, ahead, |row| Ok(row.get(0)?))?;
        let is_gone = nodes.len() <= limit as usize;
        nodes.truncate(limit as usize);
        for job in &nodes {
            self.db.run(Query::EdgeDelete, [job])?;
            self.db.run(Query::NodeDelete, [job])?;
            self.delete_job(*job)?;
        }
        if is_gone {
            self.db.run(Query::StopDelete, params![graph, StopReason::Prune.code()])?;
            self.db.run(Query::GraphDelete, [graph])?;
            self.leave_key(graph)?;
        }
        Ok(Pruned { nodes: nodes.len() as u32, graphs: u32::from(is_gone), ..Pruned::default() })
    }

    /// Deletes arrivals of runs that have not been there for long. One whose run has come meanwhile goes with it.
    fn prune_arrivals(&mut self, limit: u32) -> Result<Pruned, Fault> {
        let past: Vec<(String, i64, bool)> = self.db.all(Query::ArrivalPast, params![self.now_us(), limit], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        let mut arrivals = 0;
        for (run, seq, is_there) in past {
            let query = if is_there { Query::ArrivalKeep } else { Query::ArrivalForget };
            self.db.run(query, params![run, seq])?;
            arrivals += u32::from(!is_there);
        }
        if arrivals > 0 {
            return Ok(Pruned { arrivals, ..Pruned::default() });
        }
        let past = params![self.now_us(), limit];
        let keys = self.db.run(Query::UniquePast, past)?;
        if keys > 0 {
            return Ok(Pruned { keys: u32::try_from(keys).unwrap_or(u32::MAX), ..Pruned::default() });
        }
        let tombstones = self.db.run(Query::TombstonePast, past)?;
        Ok(Pruned { tombstones: u32::try_from(tombstones).unwrap_or(u32::MAX), ..Pruned::default() })
    }

    /// Deletes an ended job with all that is kept of it.
    pub(crate) fn delete_job(&mut self, job: i64) -> Result<(), Fault> {
        self.leave_key(job)?;
        for query in [Query::EndedDelete, Query::OutputDelete, Query::AttemptDelete] {
            self.db.run(query, [job])?;
        }
        self.forget_notes(job)?;
        let run: Option<i64> = self.db.maybe(Query::JobDelete, [job], |row| Ok(row.get(0)?))?.flatten();
        if run.is_some() { self.delete_run(job) } else { Ok(()) }
    }

    /// Deletes a run with what it has recorded and shown, and what has arrived for it.
    fn delete_run(&mut self, job: i64) -> Result<(), Fault> {
        self.db.run(Query::EntryDelete, [job])?;
        self.db.run(Query::ShownDelete, [job])?;
        let id: Option<String> = self.db.maybe(Query::RunDelete, [job], |row| Ok(row.get(0)?))?;
        if let Some(id) = id {
            self.db.run(Query::ArrivalDelete, [id])?;
        }
        Ok(())
    }
}
