//! Lets runs go on from lines of a journal: a retry its own, a fork another's.

use rusqlite::params;
use serde_json::Value;
use towpath_core::replay::Kept;
use towpath_core::store::{CancelNote, Changed, Counters, Fork, RunHead};
use towpath_core::{End, JobId, Payload, State};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

impl Tx<'_, '_> {
    pub(crate) fn retry_run(
        &mut self,
        id: JobId,
        from: &[End],
        chapter: u32,
        (first, kept): (&Payload, &Kept),
    ) -> Result<Changed, Fault> {
        let Some(facts) = self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts)? else {
            return Ok(Changed::Unknown);
        };
        let job = facts.key;
        let old = self.run_head(job)?.filter(|run| run.chapter == chapter && kept.below <= run.entries);
        let old = match (self.state(job)?, old) {
            (State::Ended(_), _) if facts.graph.is_some() => return Ok(Changed::OfGraph),
            (State::Ended(end), Some(old)) if from.contains(&end) => old,
            (state, _) => return Ok(Changed::Left(state)),
        };
        let counters = self.leave_end(&facts)?;
        let run = self.next_chapter(job, old)?;
        // No name begins with what the cancel is called but the cancel.
        self.db.run(Query::ArrivalUntell, params![run.id.as_str(), CancelNote::NAME, CancelNote::NAME])?;
        self.begin_with((job, chapter, kept), (job, &run), first)?;
        let attempt = counters.map_or(0, |counters| counters.attempt);
        self.make_ready(job, facts.place, Counters { attempt, failures: 0, crashes: 0 })?;
        Ok(Changed::Requeued)
    }

    /// Gives a run that was just enqueued the lines that it goes on from; answers whether they were there.
    pub(crate) fn fork(&mut self, id: JobId, fork: &Fork) -> Result<bool, Fault> {
        let key = |tx: &mut Self, id: JobId| tx.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts);
        let (Some(job), Some(of)) = (key(self, id)?, key(self, fork.of)?) else { return Ok(false) };
        let (Some(run), Some(_)) = (self.run_head(job.key)?, self.run_head(of.key)?) else { return Ok(false) };
        let origin = serde_json::to_string(&fork.origin)
            .map_err(|e| Fault::invalid(format!("the origin of a fork has no JSON form: {e}")))?;
        self.db.run(Query::RunOrigin, params![job.key, origin])?;
        let lines = self.begin_with((of.key, fork.origin.chapter, &fork.kept), (job.key, &run), &fork.first)?;
        Ok(lines == fork.kept.lines())
    }

    /// The journal of an empty chapter. Answers how many lines were copied.
    fn begin_with(
        &mut self,
        (of, chapter, kept): (i64, u32, &Kept),
        (job, run): (i64, &RunHead),
        first: &Payload,
    ) -> Result<u32, Fault> {
        let row = params![job, run.chapter, 0, first.codec.code(), self.now_us(), &first.bytes[..]];
        self.db.run(Query::EntryInsert, row)?;
        let without = Value::from(kept.without.clone()).to_string();
        let row = params![of, chapter, kept.below, without, job, run.chapter];
        let lines = u32::try_from(self.db.run(Query::EntryCarry, row)?).unwrap_or(u32::MAX);
        self.db.run(Query::RunGrow, params![job, lines.saturating_add(1)])?;
        Ok(lines)
    }
}
