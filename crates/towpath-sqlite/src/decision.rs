//! What a worker is told of the jobs it holds: a job for its handler, or what is to be decided.

use bytes::Bytes;
use rusqlite::params;
use towpath_core::store::{Assigned, Claimed, Counters, Ending, Head, NodeRef, Rescued, RunHead, Undecided};
use towpath_core::{
    Cause, Count, End, Fence, GraphRules, Incarnation, JobId, JobRules, NodeName, ParentCause, Payload, Role, RunId,
    StopReason, StoreErrorKind, Timestamp, Token, Why,
};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Decide};
use crate::tx::Tx;

/// A job that a worker holds.
struct Given {
    key: i64,
    index: u16,
    decide: Decide,
    lane: i64,
    counters: Counters,
    id: JobId,
    graph: Option<i64>,
    deadline: Option<Timestamp>,
    enqueued_at: Timestamp,
    /// What may be damaged, without hurting the other jobs of the turn.
    content: Result<Content, Fault>,
}

struct Content {
    node: Option<(NodeRef, Role)>,
    rules: JobRules,
    headers: std::collections::BTreeMap<String, String>,
    input: Payload,
    is_run: bool,
}

/// Who is told.
struct Teller {
    incarnation: Incarnation,
    turn: u64,
}

impl Tx<'_, '_> {
    /// What a worker was given in a turn, by index. A job whose row is damaged is quarantined.
    pub(crate) fn assigned(
        &mut self,
        worker: i64,
        incarnation: Incarnation,
        turn: i64,
    ) -> Result<Vec<Assigned>, Fault> {
        self.told(worker, incarnation, turn, |tx, teller, given, content| {
            if given.decide == Decide::Handler {
                let enqueued_at = given.enqueued_at;
                let Content { node, rules, input, headers, is_run } = content;
                let head = tx.head(teller, given, node, rules)?;
                let run = if is_run { tx.run_head(given.key)? } else { None };
                return Ok(Assigned::Job(Box::new(Claimed { head, input, headers, enqueued_at, run })));
            }
            Ok(Assigned::Decision(Box::new(tx.undecided(teller, given, content)?)))
        })
    }

    /// What a worker took over under a number, by index.
    pub(crate) fn rescued(&mut self, worker: i64, incarnation: Incarnation, turn: i64) -> Result<Vec<Rescued>, Fault> {
        self.told(worker, incarnation, turn, |tx, teller, given, content| {
            if given.decide == Decide::Handler {
                return Ok(Rescued::Job(Box::new(tx.head(teller, given, content.node, content.rules)?)));
            }
            Ok(Rescued::Decision(Box::new(tx.undecided(teller, given, content)?)))
        })
    }

    fn told<T>(
        &mut self,
        worker: i64,
        incarnation: Incarnation,
        turn: i64,
        mut tell: impl FnMut(&mut Self, &Teller, &Given, Content) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let teller = Teller { incarnation, turn: turn.cast_unsigned() };
        let given = self.db.all(Query::RunningGiven, [worker, turn], |row| {
            Ok(Given {
                key: row.get(0)?,
                index: row.get(1)?,
                decide: rows::decide(row.get(2)?)?,
                lane: row.get(3)?,
                counters: rows::counters(row, 4)?,
                id: rows::job_id(row, 7)?,
                graph: row.get(8)?,
                deadline: rows::instant_or_none(row, 9)?,
                enqueued_at: rows::instant(row, 10)?,
                content: content(row),
            })
        })?;
        let mut told = Vec::with_capacity(given.len());
        for mut job in given {
            let content = std::mem::replace(&mut job.content, Err(Fault::corrupt("taken")));
            match content.and_then(|content| tell(self, &teller, &job, content)) {
                Ok(done) => told.push(done),
                Err(Fault::Refused(StoreErrorKind::Corrupt, detail)) => self.quarantine(&job, detail)?,
                Err(fault) => return Err(fault),
            }
        }
        Ok(told)
    }

    /// Sets a job aside whose row contradicts itself, so that it stops no other.
    fn quarantine(&mut self, job: &Given, detail: String) -> Result<(), Fault> {
        self.db.run(Query::RunningDelete, [job.key])?;
        let facts = self.facts(job.key)?;
        let keep = JobRules::default().keep(End::Quarantined);
        let cause = Some(Cause::Corrupt { detail });
        let over = self.end(&facts, &Ending::plain(End::Quarantined, cause, keep, job.counters), None)?;
        self.release_to_nobody(&[over])
    }

    fn head(
        &mut self,
        teller: &Teller,
        job: &Given,
        node: Option<(NodeRef, Role)>,
        rules: JobRules,
    ) -> Result<Head, Fault> {
        let (node, role) = node.unzip();
        let lane = self.lane(job.lane)?;
        Ok(Head {
            fence: teller.fence(job),
            id: job.id,
            kind: lane.kind.clone(),
            version: lane.version,
            queue: lane.queue.clone(),
            counters: job.counters,
            rules,
            deadline: job.deadline,
            node,
            role: role.unwrap_or_default(),
        })
    }

    /// What a worker is told of a run; `None` if the job is none.
    pub(crate) fn run_head(&mut self, job: i64) -> Result<Option<RunHead>, Fault> {
        self.db.maybe(Query::RunRead, [job], |row| {
            let id: String = row.get(0)?;
            Ok(RunHead { id: RunId::from_stored(&id), chapter: row.get(1)?, entries: row.get(2)?, paused: row.get(3)? })
        })
    }

    fn undecided(&mut self, teller: &Teller, job: &Given, content: Content) -> Result<Undecided, Fault> {
        let node = content.node.map(|(node, _)| node);
        let (fence, rules, why) = (teller.fence(job), content.rules, self.why(job)?);
        Ok(Undecided { fence, id: job.id, node, counters: job.counters, rules, why })
    }

    /// What is to be decided of a job.
    fn why(&mut self, job: &Given) -> Result<Why, Fault> {
        match (job.decide, job.graph) {
            (Decide::Deadline, _) => Ok(Why::Deadline),
            (Decide::Parents, Some(_)) => self.parents(job.key),
            (Decide::End, Some(graph)) => {
                let (rules, verdict, rank) = self.db.one(Query::GraphRules, [graph], |row| {
                    let rules = rows::json(row, 0, |text| GraphRules::from_stored(Some(text)))?.unwrap_or_default();
                    Ok((rules, rows::graph_end(row, 1)?, row.get(2)?))
                })?;
                let undoing = self.undoing(job.key, graph, verdict, rank)?;
                let counts = if undoing.wants_counts() { self.counts(graph)? } else { Vec::new() };
                let wants_tries = rules.retry.is_some() && undoing.verdict.is_none();
                let tries = if wants_tries { Some(self.tries(graph)?) } else { None };
                Ok(Why::End { counts, rules, undoing, tries })
            }
            (_, Some(graph)) => Ok(Why::Stopped { reason: self.stop(graph)?.unwrap_or(StopReason::Cancel) }),
            (_, None) => Err(Fault::corrupt("a lone job waits for a decision about its graph")),
        }
    }

    fn parents(&mut self, job: i64) -> Result<Why, Fault> {
        let node = self.db.one(Query::NodeRead, [job], rows::node)?;
        let cause = match node.cause_parent {
            Some(parent) => self.db.maybe(Query::NodeEnd, [parent], |row| {
                let name: String = row.get(0)?;
                Ok(ParentCause { node: NodeName::from_stored(&name), end: rows::end(row.get(1)?)? })
            })?,
            None => None,
        };
        let counters = node.counters;
        let (ok, untaken, spoiled, need) = (counters.ok, counters.untaken, counters.spoiled, counters.need);
        Ok(Why::Parents { ok, untaken, spoiled, need, cause })
    }

    /// How many nodes of a graph ended how, by end, then role; `end` left out.
    fn counts(&mut self, graph: i64) -> Result<Vec<Count>, Fault> {
        self.db.all(Query::GraphCounts, params![graph, Role::END.bits()], |row| {
            Ok(Count { end: rows::end(row.get(0)?)?, role: Role::from_bits(row.get(1)?), nodes: row.get(2)? })
        })
    }
}

impl Teller {
    fn fence(&self, job: &Given) -> Fence {
        let token = Token { worker: self.incarnation, turn: self.turn, index: job.index };
        Fence { key: job.key, token }
    }
}

fn content(row: &rusqlite::Row<'_>) -> Result<Content, Fault> {
    let input = rows::payload(row, 13)?.unwrap_or(Payload { bytes: Bytes::new(), ..Payload::default() });
    let is_run = row.get::<_, Option<i64>>(15)?.is_some();
    let is_node = row.get::<_, Option<i64>>(8)?.is_some();
    let node = if is_node { Some(node(row)?) } else { None };
    Ok(Content { node, rules: rows::rules(row, 11)?, headers: rows::headers(row, 12)?, input, is_run })
}

fn node(row: &rusqlite::Row<'_>) -> Result<(NodeRef, Role), Fault> {
    let name: String = row.get(17)?;
    let graph = rows::graph_id(row, 16)?;
    Ok((NodeRef { graph, name: NodeName::from_stored(&name) }, Role::from_bits(row.get(18)?)))
}
