//! Between rows and the core's types: columns to write, and what a worker holds as it is told.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use towpath_core::store::{Assigned, Claimed, Counters, Head, NodeRef, Rescued, RunHead, Undecided};
use towpath_core::{
    Cause, Codec, Count, End, Fence, GraphId, GraphRules, Incarnation, JobId, JobRules, Label, NodeName, ParentCause,
    Payload, Role, RunId, State, StopReason, Timestamp, Token, Tries, Undoing, Why,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::lanes::Lanes;

/// A `u64` in the sixty-four bits of a `bigint`.
pub(crate) fn signed(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

pub(crate) fn unsigned(number: i64) -> u64 {
    u64::from_ne_bytes(number.to_ne_bytes())
}

/// A count that the schema keeps from being negative.
pub(crate) fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// A count as the schema keeps it.
pub(crate) fn stored(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

pub(crate) fn json<T: serde::Serialize>(value: &T) -> Option<String> {
    // Names, causes and maps of text always have a JSON form.
    serde_json::to_string(value).ok()
}

/// Reads JSON that this product has written; what cannot be read counts as absent, and is told.
pub(crate) fn parsed<T: DeserializeOwned>(text: Option<&str>) -> Option<T> {
    let read = serde_json::from_str(text?);
    read.inspect_err(|error| tracing::error!(%error, "a stored JSON text cannot be read")).ok()
}

pub(crate) fn branches(labels: &[Label]) -> Option<String> {
    if labels.is_empty() { None } else { json(&labels) }
}

pub(crate) fn rules(text: Option<&str>) -> JobRules {
    let read = JobRules::from_stored(text);
    read.inspect_err(|error| tracing::error!(%error, "the rules of a job cannot be read")).unwrap_or_default()
}

pub(crate) fn payload(codec: Option<i16>, bytes: Option<Vec<u8>>) -> Option<Payload> {
    Some(Payload { codec: Codec::from_code(codec?).unwrap_or(Codec::Raw), bytes: bytes?.into() })
}

pub(crate) fn instant(micros: Option<i64>) -> Option<Timestamp> {
    micros.map(Timestamp::from_micros)
}

pub(crate) fn end(code: i16) -> Result<End, Fault> {
    End::from_code(code).ok_or_else(|| Fault::corrupt("read an end", format!("no end has the code {code}")))
}

/// The state of a place in [`State::ALL`].
pub(crate) fn state(place: i16) -> Result<State, Fault> {
    let state = usize::try_from(place).ok().and_then(|place| State::ALL.get(place).copied());
    state.ok_or_else(|| Fault::corrupt("read a state", format!("no state has the place {place}")))
}

pub(crate) fn stop(code: Option<i16>) -> Option<StopReason> {
    code.and_then(StopReason::from_code)
}

pub(crate) fn node_ref(graph: Option<Uuid>, node: Option<&str>) -> Option<NodeRef> {
    Some(NodeRef { graph: GraphId::from(graph?), name: NodeName::from_stored(node?) })
}

pub(crate) fn counters(row: &Row, first: usize) -> Result<Counters, Fault> {
    let (attempt, failures, crashes) = (row.try_get(first)?, row.try_get(first + 1)?, row.try_get(first + 2)?);
    Ok(Counters { attempt: count(attempt), failures: count(failures), crashes: count(crashes) })
}

/// The key in a fence, opaque to all others: a node's is negative, so that a turn knows without a look which jobs have
/// children to count.
pub(crate) fn fence_key(job: i64, is_node: bool) -> i64 {
    if is_node { -job } else { job }
}

/// The key of the job in a fence.
pub(crate) fn job_key(fence_key: i64) -> i64 {
    fence_key.saturating_abs()
}

/// With whom a running job is, as the column `decide` says.
pub(crate) mod with {
    pub(crate) const HANDLER: i16 = 0;
    pub(crate) const PARENTS: i16 = 1;
    pub(crate) const STOPPED: i16 = 2;
    pub(crate) const DEADLINE: i16 = 3;
    pub(crate) const END: i16 = 4;
}

/// What it takes to read rows of `held` and of `claim`.
pub(crate) struct Holding<'a> {
    pub(crate) lanes: &'a Lanes,
    pub(crate) worker: Incarnation,
    pub(crate) turn: u64,
    /// How the nodes and the undos stand of the graphs whose `end` is to be decided.
    pub(crate) ends: HashMap<i64, Facts>,
}

/// What an `end` is decided by.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    pub(crate) counts: Vec<Count>,
    pub(crate) undoing: Undoing,
    pub(crate) tries: Option<Tries>,
}

impl Holding<'_> {
    pub(crate) fn assigned(&self, row: &Row) -> Result<Assigned, Fault> {
        if row.try_get::<_, i16>(2)? != with::HANDLER {
            return Ok(Assigned::Decision(Box::new(self.undecided(row)?)));
        }
        let input = payload(row.try_get(13)?, row.try_get(14)?).unwrap_or_default();
        Ok(Assigned::Job(Box::new(Claimed {
            head: self.head(row)?,
            input,
            headers: parsed(row.try_get(15)?).unwrap_or_default(),
            enqueued_at: Timestamp::from_micros(row.try_get(16)?),
            run: run_head(row)?,
        })))
    }

    pub(crate) fn rescued(&self, row: &Row) -> Result<Rescued, Fault> {
        if row.try_get::<_, i16>(2)? == with::HANDLER {
            Ok(Rescued::Job(Box::new(self.head(row)?)))
        } else {
            Ok(Rescued::Decision(Box::new(self.undecided(row)?)))
        }
    }

    fn head(&self, row: &Row) -> Result<Head, Fault> {
        let lane = self.lanes.lane(row.try_get(7)?)?;
        Ok(Head {
            fence: self.fence(row)?,
            id: JobId::from(row.try_get::<_, Uuid>(6)?),
            kind: lane.kind,
            version: lane.version,
            queue: lane.queue,
            counters: counters(row, 3)?,
            rules: rules(row.try_get(8)?),
            deadline: instant(row.try_get(9)?),
            node: node_ref(row.try_get(10)?, row.try_get(11)?),
            role: Role::from_bits(row.try_get::<_, Option<i16>>("role")?.unwrap_or_default()),
        })
    }

    fn undecided(&self, row: &Row) -> Result<Undecided, Fault> {
        Ok(Undecided {
            fence: self.fence(row)?,
            id: JobId::from(row.try_get::<_, Uuid>(6)?),
            node: node_ref(row.try_get(10)?, row.try_get(11)?),
            counters: counters(row, 3)?,
            rules: rules(row.try_get(8)?),
            why: self.why(row)?,
        })
    }

    fn fence(&self, row: &Row) -> Result<Fence, Fault> {
        let index = u16::try_from(row.try_get::<_, i32>(1)?).unwrap_or(u16::MAX);
        let is_node = row.try_get::<_, Option<Uuid>>(10)?.is_some();
        let key = fence_key(row.try_get(0)?, is_node);
        Ok(Fence { key, token: Token { worker: self.worker, turn: self.turn, index } })
    }

    fn why(&self, row: &Row) -> Result<Why, Fault> {
        match row.try_get(2)? {
            with::PARENTS => {
                let cause = match (row.try_get::<_, Option<&str>>("cause_node")?, row.try_get("cause_end")?) {
                    (Some(node), Some(code)) => {
                        Some(ParentCause { node: NodeName::from_stored(node), end: end(code)? })
                    }
                    _ => None,
                };
                let number = |name: &str| row.try_get(name).map(count);
                let (ok, untaken, spoiled) = (number("ok")?, number("untaken")?, number("spoiled")?);
                Ok(Why::Parents { ok, untaken, spoiled, need: number("need")?, cause })
            }
            with::DEADLINE => Ok(Why::Deadline),
            with::END => {
                let Facts { counts, undoing, tries } =
                    self.ends.get(&row.try_get("graph_key")?).cloned().unwrap_or_default();
                let rules = GraphRules::from_stored(row.try_get("graph_rules")?).unwrap_or_default();
                Ok(Why::End { counts, rules, undoing, tries })
            }
            // A stop that was lifted meanwhile was one to cancel: others hold nothing for a decision.
            _ => Ok(Why::Stopped { reason: stop(row.try_get(12)?).unwrap_or(StopReason::Cancel) }),
        }
    }
}

/// What a worker is told of a run: the last four columns of `held` and of `claim`.
fn run_head(row: &Row) -> Result<Option<RunHead>, Fault> {
    let at = row.len() - 4;
    let Some(id) = row.try_get::<_, Option<&str>>(at)? else { return Ok(None) };
    let (chapter, entries) = (count(row.try_get(at + 1)?), count(row.try_get(at + 2)?));
    Ok(Some(RunHead { id: RunId::from_stored(id), chapter, entries, paused: row.try_get(at + 3)? }))
}

/// A row of `end_counts`: the graph and one count.
pub(crate) fn end_count(row: &Row) -> Result<(i64, Count), Fault> {
    let role = Role::from_bits(row.try_get(2)?);
    let nodes = u32::try_from(row.try_get::<_, i64>(3)?).unwrap_or(u32::MAX);
    Ok((row.try_get(0)?, Count { end: end(row.try_get(1)?)?, role, nodes }))
}

/// Who asked to cancel a running job: its own row first, then its graph's stop.
pub(crate) fn cancel(own: Option<&str>, stop_code: Option<i16>) -> Option<Cause> {
    let stop = stop(stop_code).filter(|stop| matches!(stop, StopReason::Cancel | StopReason::Fail));
    parsed(own).or_else(|| stop.map(|stop| Cause::GraphStopped { stop }))
}
