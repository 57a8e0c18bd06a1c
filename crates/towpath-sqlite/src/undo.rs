//! Undos: how they stand when the `end` of their graph is decided, and what the decision does to them.

use rusqlite::params;
use towpath_core::store::{Counters, Ending};
use towpath_core::{Condition, End, GraphEnd, Guard, Guarded, NodeName, SkipKind, UndoStep, Undoing, limits};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Facts, Phase};
use crate::tx::Tx;

impl Tx<'_, '_> {
    /// Starts undos, which the `end` of their graph waits for, and ends those that are not needed.
    pub(crate) fn step_undos(&mut self, end: &Facts, step: &UndoStep) -> Result<(), Fault> {
        let Some(graph) = end.graph else { return Ok(()) };
        self.db.run(Query::GraphUndo, params![graph, step.verdict.code(), step.rank])?;
        for passed in &step.pass {
            if self.db.run(Query::UndoTake, [passed.key])? > 0 {
                let facts = self.facts(passed.key)?;
                let (end, cause) = (End::Skipped(SkipKind::Untaken), Some(passed.cause.clone()));
                self.end(&facts, &Ending::plain(end, cause, std::time::Duration::ZERO, Counters::default()), None)?;
            }
        }
        let finished = Condition::Finished.table().bits();
        let mut node = self.db.one(Query::NodeRead, [end.key], rows::node)?;
        for job in &step.start {
            if self.db.run(Query::UndoTake, [job])? == 0 {
                continue;
            }
            self.db.run(Query::EdgeInsert, params![job, 0, end.key, finished, None::<String>])?;
            node.counters.left += 1;
            let mut undo = self.db.one(Query::NodeRead, [job], rows::node)?;
            undo.phase = Phase::Released;
            self.write_node(&undo)?;
            let facts = self.facts(*job)?;
            let counters = Counters { attempt: undo.attempt, ..Counters::default() };
            self.make_due(*job, facts.place, facts.start().due(self.now), counters)?;
        }
        if step.more || node.counters.left == 0 {
            node.phase = Phase::Undecided;
            self.leave_undecided(end.key)?;
        } else {
            node.phase = Phase::Waiting;
        }
        self.write_node(&node)
    }

    /// How the undos of a graph stand, whose `end` is this node.
    pub(crate) fn undoing(
        &mut self,
        end: i64,
        graph: i64,
        verdict: Option<GraphEnd>,
        rank: Option<u32>,
    ) -> Result<Undoing, Fault> {
        let running = self.db.one(Query::NodeRead, [end], rows::node)?.counters.left;
        let waiting = self.db.all(Query::UndoWaiting, params![graph, limits::UNDOS_MAX], |row| {
            let (node, stands): (String, i64) = (row.get(2)?, row.get(3)?);
            Ok(Guard {
                key: row.get(0)?,
                rank: row.get(1)?,
                node: NodeName::from_stored(&node),
                guarded: match stands {
                    0 => Guarded::Started,
                    1 => Guarded::NeverStarted,
                    _ => Guarded::Committed,
                },
            })
        })?;
        Ok(Undoing { verdict, rank, running, waiting })
    }
}
