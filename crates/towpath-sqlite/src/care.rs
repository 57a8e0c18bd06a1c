//! What a turn does once the database has raised for something in it: each job by itself, under a savepoint.
//!
//! Nearly every turn goes without: savepoints cost copies of pages. One that fails is undone whole and carried out again
//! with care. It is still one transaction: what raises again is left out of it, and answered or set aside alone.

use towpath_core::store::{Ending, Settled, Turn};
use towpath_core::{Cause, End};

use crate::error::Fault;
use crate::place::Holder;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

/// Whether a turn expects the database to raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// It does not: what raises fails the turn.
    None,
    /// Each job has a savepoint of its own.
    EachJob,
}

impl Tx<'_, '_> {
    /// Settles each outcome, with its children, alone. One that is refused adds what the database said to `problems`.
    pub(crate) fn settle_each(
        &mut self,
        turn: &Turn,
        holder: &mut Holder,
        room: usize,
        problems: &mut Vec<String>,
    ) -> Result<Vec<Settled>, Fault> {
        let mut settled = Vec::with_capacity(turn.settle.len());
        let mut stops = Vec::new();
        for item in &turn.settle {
            let before = holder.index;
            let done = self.alone(|tx| {
                let mut ended = Vec::new();
                let item = tx.append_first(holder.worker, turn.worker, item)?;
                let answer = tx.settle(holder.worker, turn.worker, &item, &mut ended)?;
                let held: Vec<_> = ended.iter_mut().filter_map(|over| over.stop.take()).collect();
                tx.release_to(&ended, holder, room)?;
                Ok((answer, held))
            })?;
            settled.push(match done {
                Ok((answer, held)) => {
                    stops.extend(held);
                    answer
                }
                Err(problem) => {
                    holder.index = before;
                    problems.push(problem);
                    Settled::Refused
                }
            });
        }
        // They hold once all is judged, as in a turn without care. A graph that cannot be stopped goes on: the outcome stands.
        for (graph, stop) in stops {
            self.alone(|tx| tx.stop_by_failure(graph, stop))?.unwrap_or_default();
        }
        Ok(settled)
    }

    /// Does something of a claim to one job. If the database raises and this turn takes care, the job is set aside.
    pub(crate) fn for_job(&mut self, job: i64, work: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if self.care == Care::None {
            return work(self);
        }
        let Err(problem) = self.alone(work)? else { return Ok(()) };
        // One that cannot be quarantined either stays where it is, and each claim that meets it is carried out with care.
        self.alone(|tx| tx.set_aside(job, &problem))?.or(Ok(()))
    }

    /// Quarantines a job that no worker can be given.
    fn set_aside(&mut self, job: i64, problem: &str) -> Result<(), Fault> {
        let facts = self.facts(job)?;
        let Some(counters) = self.take_idle(&facts)? else { return Ok(()) };
        let cause = Some(Cause::Corrupt { detail: format!("it could not be given to a worker: {problem}") });
        let rules = self.db.one(Query::JobRules, [job], |row| Ok(rows::rules(row, 0).unwrap_or_default()))?;
        let keep = rules.keep(End::Quarantined);
        let stop = rules.stops(End::Quarantined);
        let tells = rules.tells();
        let ending = Ending { stop, tells, ..Ending::plain(End::Quarantined, cause, keep, counters) };
        let over = self.end(&facts, &ending, None)?;
        self.release_to_nobody(&[over])
    }

    /// Does something that is undone alone if the database raises for it; what it said is the inner error.
    fn alone<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<Result<T, String>, Fault> {
        match self.part(|tx| work(tx).map(Ok::<T, ()>)) {
            Ok(Ok(done)) => Ok(Ok(done)),
            Ok(Err(())) => Err(Fault::corrupt("a part was undone without a fault")),
            Err(fault) if fault.is_of_one_job() && !self.db.conn.is_autocommit() => Ok(Err(fault.to_string())),
            Err(fault) => Err(fault),
        }
    }
}
