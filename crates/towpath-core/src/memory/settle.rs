//! Writes what becomes of a job that a worker held, if its claim still holds.

use crate::defaults;
use crate::fault::{self, Fault};
use crate::id::Incarnation;
use crate::lifecycle::End;
use crate::name::RunId;
use crate::payload::Payload;
use crate::store::{CancelNote, Closing, Counters, Ending, Move, Parent, Renewal, Settle, Settled, Showing, Shown};
use crate::time::Timestamp;

use super::Transaction;
use super::tables::{ArrivalRow, BlockedRow, EntryRow, Key, OverRow, With};

impl Transaction<'_> {
    /// Settles one item and notes the job in `ended` if its children are to be released.
    pub(super) fn settle(&mut self, worker: Incarnation, item: Settle, ended: &mut Vec<Key>) -> Settled {
        let job = item.fence.key;
        let held = if fault::is_put_back(Fault::SkipFence) {
            self.tables.running.get(&job)
        } else {
            self.tables.running_under(item.fence).filter(|_| item.fence.token.worker == worker)
        };
        let Some(running) = held else {
            return Settled::Stale;
        };
        let cancel = running.cancel.clone().or_else(|| self.tables.cancelled_by(job));
        let with = running.with;
        // A run is cancelled by an arrival, which its function obeys.
        let cancel = cancel.filter(|_| with != With::Handler || !self.tables.run.contains_key(&job));
        let is_of_run = item.is_of_run();
        let (then, answer) = match (cancel, item.if_cancelled) {
            (Some(cause), Some(mut ending)) => {
                ending.cause.get_or_insert(cause);
                (Move::End(ending), Settled::Cancelled)
            }
            _ => (item.then, Settled::Done),
        };
        let is_end = self.tables.is_end(job);
        if matches!((&then, is_end), (Move::End(_), true) | (Move::Close(_) | Move::Undo(_) | Move::Retry(_), false)) {
            return Settled::Stale;
        }
        let mut unread = false;
        if is_of_run {
            let Some(run) = self.tables.run.get(&job).filter(|_| with == With::Handler) else { return Settled::Stale };
            unread = item.read.is_some_and(|read| self.tables.arrivals_of(&run.id).count() > read as usize);
            if unread && answer == Settled::Done && matches!(then, Move::End(_)) {
                return Settled::Unread;
            }
            self.append_entries(job, item.journal);
            self.show(job, item.shows);
        }
        if let Move::Stay { counters } = then {
            if let (Some(row), Some(counters)) = (self.tables.running.get_mut(&job), counters) {
                row.counters = counters;
            }
            let is_paused = answer == Settled::Done && self.tables.is_paused(job);
            return if is_paused { Settled::Paused } else { answer };
        }
        let Some(row) = self.take_running(job) else { return Settled::Stale };
        let undecided = self.tables.is_undecided(job);
        match then {
            Move::End(ending) => {
                let started_at = (row.with == With::Handler).then_some(row.started_at);
                self.note_refund(job, &row, ending.counters);
                self.end(job, ending, started_at);
                ended.push(job);
            }
            Move::Close(closing) => self.close(job, closing, row.counters),
            Move::Undo(step) => self.step_undos(job, step),
            Move::Retry(later) => self.retry_later(job, later),
            // What was to be decided is still to be decided.
            Move::Again { .. } | Move::Block { .. } if undecided => self.leave_undecided(job),
            Move::Again { after, counters, record } => {
                if let Some(record) = record {
                    self.keep_attempt(job, record, row.started_at);
                }
                self.note_refund(job, &row, counters);
                self.make_due(job, self.now + after, counters);
            }
            Move::Block { reason, build, counters } => {
                self.note_refund(job, &row, counters);
                self.tables.blocked.insert(job, BlockedRow { counters, build, reason });
            }
            Move::Park { counters, .. } if unread => self.make_ready(job, counters),
            Move::Park { until, counters } => {
                self.note_refund(job, &row, counters);
                self.park(job, until.map_or(Timestamp::NEVER, |wait| self.now + wait), counters);
            }
            Move::Hold { counters } => {
                self.note_refund(job, &row, counters);
                if self.tables.is_paused(job) {
                    self.set_aside(job, counters);
                } else {
                    self.make_ready(job, counters);
                }
            }
            Move::Renew(renewal) => self.renew(job, renewal),
            // Answered above.
            Move::Stay { .. } => {}
        }
        answer
    }

    pub(super) fn append_entries(&mut self, job: Key, journal: Vec<Payload>) {
        let Some(run) = self.tables.run.get_mut(&job) else { return };
        for payload in journal {
            self.tables.entry.insert((job, run.chapter, run.entries), EntryRow { payload, at: self.now });
            run.entries += 1;
        }
    }

    /// Writes what a run shows.
    pub(super) fn show(&mut self, job: Key, shows: Vec<Showing>) {
        let at = self.now;
        for Showing { name, payload, is_line } in shows {
            let (place, shown) = ((job, name), Shown { payload, at });
            if is_line {
                self.tables.stream.entry(place).or_default().push(shown);
            } else {
                self.tables.shown.insert(place, shown);
            }
        }
    }

    /// Begins a run's next chapter.
    fn renew(&mut self, job: Key, Renewal { first, taken, counters }: Renewal) {
        let Some(id) = self.next_chapter(job) else { return };
        let tables = &mut *self.tables;
        let now = self.now;
        tables.shown.retain(|(of, name), shown| {
            *of != job || !name.starts_with(Showing::PASSING) || shown.at + defaults::KEEP_ANSWER > now
        });
        for seq in taken {
            self.forget_arrival(&id, seq);
        }
        self.append_entries(job, vec![first]);
        self.make_ready(job, counters);
    }

    /// Lets a run's next chapter have an empty journal. The one before is kept, older ones go. Answers the run.
    pub(super) fn next_chapter(&mut self, job: Key) -> Option<RunId> {
        let run = self.tables.run.get_mut(&job)?;
        let places = (job, 0, 0)..(job, run.chapter, 0);
        let old: Vec<_> = self.tables.entry.range(places).map(|(place, _)| *place).collect();
        old.iter().for_each(|place| {
            self.tables.entry.remove(place);
        });
        (run.chapter, run.entries) = (run.chapter + 1, 0);
        Some(run.id.clone())
    }

    /// Lets an ended run that has begun be one that has not: its next chapter is empty, and what the engine has told it
    /// goes. What it was sent is there again.
    pub(super) fn begin_anew(&mut self, job: Key) {
        if !self.tables.has_journal(job) {
            return;
        }
        let Some(run) = self.next_chapter(job) else { return };
        let is_told =
            |row: &ArrivalRow| row.name.as_str() == CancelNote::NAME || row.name.as_str().starts_with(Parent::PREFIX);
        let told: Vec<Key> =
            self.tables.arrivals_of(&run).filter(|(_, row)| is_told(row)).map(|(seq, _)| seq).collect();
        told.into_iter().for_each(|seq| self.delete_arrival(run.clone(), seq));
    }

    /// Ends a graph with its hidden last node.
    fn close(&mut self, job: Key, closing: Closing, counters: Counters) {
        let Some(graph) = self.tables.node.get(&job).map(|node| node.graph) else { return };
        let ending = Ending::plain(End::Succeeded, None, closing.keep, counters);
        self.tells.extend(closing.arrival());
        self.end(job, ending, None);
        let over = OverRow { end: closing.end, ended_at: self.now, prune_at: self.now + closing.keep };
        if let Some(row) = self.tables.graph.get_mut(&graph) {
            self.tables.graph_prune_at.insert((over.prune_at, graph));
            self.news.graphs_ended.push(row.id);
            row.over = Some(over);
        }
    }
}
