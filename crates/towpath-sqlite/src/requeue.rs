//! Puts jobs back that have ended or are blocked.

use rusqlite::params;
use towpath_core::store::{Changed, Counters};
use towpath_core::{End, JobId, Payload, State};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Facts};
use crate::tx::Tx;

impl Tx<'_, '_> {
    pub(crate) fn requeue(&mut self, id: JobId, from: &[End], input: Option<&Payload>) -> Result<Changed, Fault> {
        let Some(facts) = self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts)? else {
            return Ok(Changed::Unknown);
        };
        let job = facts.key;
        let has_journal = self.run_head(job)?.is_some_and(|run| run.entries > 0);
        let counters = match self.state(job)? {
            State::Ended(_) if facts.graph.is_some() => return Ok(Changed::OfGraph),
            State::Ended(_) if has_journal => return Ok(Changed::HasBegun),
            State::Blocked if has_journal && input.is_some() => return Ok(Changed::HasBegun),
            State::Ended(end) if from.contains(&end) => {
                if let Some(by) = self.key_again(job, id)? {
                    return Ok(Changed::KeyTaken { by });
                }
                self.leave_end(&facts)?
            }
            State::Blocked => self.db.maybe(Query::BlockedTake, [job], |row| rows::counters(row, 0))?,
            state => return Ok(Changed::Left(state)),
        };
        if let Some(input) = input {
            self.db.run(Query::JobInput, params![job, input.codec.code(), &input.bytes[..]])?;
            self.forget_marks(job)?;
        }
        let attempt = counters.map_or(0, |counters| counters.attempt);
        self.make_ready(job, facts.place, Counters { attempt, failures: 0, crashes: 0 })?;
        Ok(Changed::Requeued)
    }

    /// Takes an end back: what was kept of it but the attempts goes, and its deadline is watched again, unless it has
    /// passed.
    pub(crate) fn leave_end(&mut self, facts: &Facts) -> Result<Option<Counters>, Fault> {
        let job = facts.key;
        let taken =
            self.db.maybe(Query::EndedTake, [job], |row| Ok((rows::counters(row, 0)?, rows::end(row.get(3)?)?)))?;
        // What has succeeded and is to be done once more begins anew.
        if taken.is_some_and(|(_, end)| end == End::Succeeded) {
            self.forget_marks(job)?;
        }
        self.db.run(Query::OutputDelete, [job])?;
        match facts.deadline {
            Some(at) if at > self.now_us() => self.db.run(Query::DeadlineInsert, [at, job])?,
            Some(_) => self.db.run(Query::JobLiftDeadline, [job])?,
            None => 0,
        };
        Ok(taken.map(|(counters, _)| counters))
    }
}
