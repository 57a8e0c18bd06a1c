//! Changes what a job was enqueued with, as long as no worker has it.

use rusqlite::params;
use towpath_core::store::{Changed, Counters, Edit};
use towpath_core::{JobId, Timestamp};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Facts, Phase, Place};
use crate::tx::Tx;

/// A job that was taken out of where it stood.
struct Idle {
    counters: Counters,
    /// Its arrival, if it was in the head.
    seq: Option<i64>,
    /// When it was due, if that was later.
    due: Option<i64>,
}

impl Tx<'_, '_> {
    pub(crate) fn edit(&mut self, id: JobId, edit: &Edit) -> Result<Changed, Fault> {
        let Some(facts) = self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts)? else {
            return Ok(Changed::Unknown);
        };
        // `end` and a run that has begun are left alone, and so is what a worker or a decision has in hand.
        let has_begun = self.db.maybe(Query::RunBegun, [facts.key], |_| Ok(()))?.is_some();
        if has_begun || self.is_end(&facts)? {
            return self.leave(&facts);
        }
        let phase = self.db.maybe(Query::NodePhase, [facts.key], |row| Ok(row.get::<_, i64>(0)?))?;
        if phase == Some(Phase::Waiting as i64) {
            self.rewrite(&facts, edit, edit.due)?;
            return Ok(Changed::Edited);
        }
        let Some(idle) = self.take_to_edit(&facts)? else { return self.leave(&facts) };
        self.rewrite(&facts, edit, None)?;
        let place = self.facts(facts.key)?.place;
        let due = edit.due.or(idle.due.map(Timestamp::from_micros));
        match (due, idle.seq.filter(|_| place.turnout == facts.place.turnout)) {
            (Some(due), _) => self.make_due(facts.key, place, due, idle.counters)?,
            // Its place in the head is kept where nothing about it has changed.
            (None, Some(seq)) => self.insert_ready(facts.key, place, seq, idle.counters)?,
            (None, None) => self.make_ready(facts.key, place, idle.counters)?,
        }
        Ok(Changed::Edited)
    }

    fn leave(&mut self, facts: &Facts) -> Result<Changed, Fault> {
        Ok(Changed::Left(self.db.one(Query::JobState, [facts.key], |row| rows::state(row.get(0)?))?))
    }

    fn is_end(&mut self, facts: &Facts) -> Result<bool, Fault> {
        let Some(graph) = facts.graph else { return Ok(false) };
        let end = self.db.maybe(Query::GraphEndNode, [graph], |row| Ok(row.get::<_, i64>(0)?))?;
        Ok(end == Some(facts.key))
    }

    fn take_to_edit(&mut self, facts: &Facts) -> Result<Option<Idle>, Fault> {
        let Place { lane, turnout } = facts.place;
        let idle = |row: &rusqlite::Row<'_>| {
            Ok(Idle { counters: rows::counters(row, 0)?, seq: row.get(3)?, due: row.get(4)? })
        };
        if let Some(found) = self.db.maybe(Query::EditTakeReady, params![lane, turnout, facts.key], idle)? {
            return Ok(Some(found));
        }
        for query in [Query::EditTakeMoved, Query::EditTakeLater, Query::EditTakeBlocked] {
            if let Some(found) = self.db.maybe(query, [facts.key], idle)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Writes what is new; `due` is of a node that waits.
    fn rewrite(&mut self, facts: &Facts, edit: &Edit, due: Option<Timestamp>) -> Result<(), Fault> {
        let (codec, bytes) = match &edit.input {
            Some(input) => (Some(input.codec.code()), Some(&input.bytes[..])),
            None => (None, None),
        };
        let due = due.map(Timestamp::as_micros);
        self.db.run(Query::JobEdit, params![facts.key, edit.priority, codec, bytes, due])?;
        if edit.input.is_some() {
            // What was kept was made of the input before.
            self.forget_marks(facts.key)?;
        }
        Ok(())
    }
}
