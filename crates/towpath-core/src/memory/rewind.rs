//! Lets runs go on from lines of a journal: a retry its own, a fork another's.

use crate::id::JobId;
use crate::lifecycle::{End, State};
use crate::payload::Payload;
use crate::replay::Kept;
use crate::store::{CancelNote, Changed, Counters, Fork, Refusal};

use super::Transaction;
use super::tables::{EntryRow, Key};

impl Transaction<'_> {
    pub(super) fn retry_run(
        &mut self,
        id: JobId,
        from: &[End],
        chapter: u32,
        (first, kept): (Payload, &Kept),
    ) -> Changed {
        let Some(job) = self.tables.job_by_id.get(&id).copied() else { return Changed::Unknown };
        let is_there = self.tables.run.get(&job).is_some_and(|run| run.chapter == chapter && kept.below <= run.entries);
        match self.tables.state(job) {
            State::Ended(_) if self.tables.node.contains_key(&job) => return Changed::OfGraph,
            State::Ended(end) if is_there && from.contains(&end) => {}
            state => return Changed::Left(state),
        }
        let counters = self.tables.counters(job);
        self.leave_end(job);
        let lines = self.lines(job, chapter, kept);
        if let Some(run) = self.next_chapter(job) {
            let told = self.tables.arrivals_of(&run).filter(|(_, row)| row.name.as_str() == CancelNote::NAME);
            let told: Vec<Key> = told.map(|(seq, _)| seq).collect();
            told.into_iter().for_each(|seq| self.delete_arrival(run.clone(), seq));
        }
        self.begin_with(job, first, lines);
        self.make_ready(job, Counters { attempt: counters.attempt, failures: 0, crashes: 0 });
        Changed::Requeued
    }

    /// Refuses a fork whose lines are not there.
    pub(super) fn check_fork(&self, fork: &Fork) -> Result<(), Refusal> {
        let job = self.tables.job_by_id.get(&fork.of).copied();
        let lines = job.map_or(0, |job| self.lines(job, fork.origin.chapter, &fork.kept).len());
        let is_there = job.is_some_and(|job| self.tables.run.contains_key(&job)) && lines == fork.kept.lines() as usize;
        if is_there { Ok(()) } else { Err(Refusal::JournalGone { run: fork.origin.run.clone() }) }
    }

    /// Gives a run that was just enqueued the lines that it goes on from.
    pub(super) fn fork(&mut self, id: JobId, fork: Fork) {
        let of = self.tables.job_by_id.get(&fork.of).copied();
        let Some((job, of)) = self.tables.job_by_id.get(&id).copied().zip(of) else { return };
        let lines = self.lines(of, fork.origin.chapter, &fork.kept);
        if let Some(run) = self.tables.run.get_mut(&job) {
            run.origin = Some(fork.origin);
        }
        self.begin_with(job, fork.first, lines);
    }

    fn lines(&self, job: Key, chapter: u32, kept: &Kept) -> Vec<EntryRow> {
        let all = self.tables.entry.range((job, chapter, 1)..(job, chapter, kept.below.max(1)));
        let kept = all.filter(|((_, _, seq), _)| kept.holds(*seq));
        kept.map(|(_, row)| EntryRow { payload: row.payload.clone(), at: row.at }).collect()
    }

    /// The journal of an empty chapter.
    fn begin_with(&mut self, job: Key, first: Payload, lines: Vec<EntryRow>) {
        let Some(run) = self.tables.run.get_mut(&job) else { return };
        for row in std::iter::once(EntryRow { payload: first, at: self.now }).chain(lines) {
            self.tables.entry.insert((job, run.chapter, run.entries), row);
            run.entries += 1;
        }
    }
}
