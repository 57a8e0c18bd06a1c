//! Columns to values of the core and back. A value that this binary cannot have written is corrupt.

use std::collections::BTreeMap;

use bytes::Bytes;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;
use towpath_core::store::{Counters, PauseLine, Versions};
use towpath_core::{
    Cause, CauseRank, Codec, End, GraphEnd, GraphId, Incarnation, JobId, JobRules, Kind, Label, NodeCounters, Payload,
    Role, State, StopReason, Timestamp,
};

use crate::error::Fault;

/// Where a job stands in the head, apart from its arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) lane: i64,
    pub(crate) turnout: i64,
}

/// Where and when a node goes that is released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) place: Place,
    pub(crate) delay_us: Option<i64>,
    pub(crate) due_at: Option<i64>,
}

/// What is always needed of a job to move it.
pub(crate) struct Facts {
    pub(crate) key: i64,
    pub(crate) id: JobId,
    pub(crate) place: Place,
    pub(crate) deadline: Option<i64>,
    pub(crate) graph: Option<i64>,
    pub(crate) delay_us: Option<i64>,
    pub(crate) due_at: Option<i64>,
}

/// The columns of `job_facts`.
pub(crate) fn facts(row: &Row<'_>) -> Result<Facts, Fault> {
    Ok(Facts {
        key: row.get(0)?,
        id: job_id(row, 1)?,
        place: Place { lane: row.get(2)?, turnout: -row.get::<_, i64>(3)? },
        deadline: row.get(4)?,
        graph: row.get(5)?,
        delay_us: row.get(6)?,
        due_at: row.get(7)?,
    })
}

/// A node's counters and how far it has come with its parents.
pub(crate) struct Node {
    pub(crate) job: i64,
    pub(crate) graph: i64,
    pub(crate) role: Role,
    pub(crate) phase: Phase,
    pub(crate) counters: NodeCounters,
    /// The parent of the edge that `counters.cause` ranks.
    pub(crate) cause_parent: Option<i64>,
    /// Attempts before it was last re-armed.
    pub(crate) attempt: u32,
    /// If that was read with it.
    pub(crate) start: Option<Start>,
}

/// How far a node has come with its parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It waits for them.
    Waiting = 0,
    /// All have ended and it came for a decision.
    Undecided = 1,
    /// It was made ready.
    Released = 2,
}

/// The columns of `node_read` and `node_list`.
pub(crate) fn node(row: &Row<'_>) -> Result<Node, Fault> {
    Ok(Node {
        job: row.get(0)?,
        graph: row.get(1)?,
        role: Role::from_bits(row.get(2)?),
        phase: match row.get(3)? {
            0 => Phase::Waiting,
            1 => Phase::Undecided,
            2 => Phase::Released,
            code => return Err(unknown("phase", code)),
        },
        counters: node_counters(row, 4)?,
        cause_parent: row.get(11)?,
        attempt: row.get(12)?,
        start: None,
    })
}

/// The columns of `child_read`.
pub(crate) fn child(row: &Row<'_>) -> Result<Node, Fault> {
    let place = Place { lane: row.get(13)?, turnout: -row.get::<_, i64>(14)? };
    let start = Start { place, delay_us: row.get(15)?, due_at: row.get(16)? };
    Ok(Node { start: Some(start), ..node(row)? })
}

/// Seven columns from `at` on.
pub(crate) fn node_counters(row: &Row<'_>, at: usize) -> Result<NodeCounters, Fault> {
    let rank: Option<i64> = row.get(at + 6)?;
    Ok(NodeCounters {
        need: row.get(at)?,
        eager: row.get(at + 1)?,
        left: row.get(at + 2)?,
        ok: row.get(at + 3)?,
        untaken: row.get(at + 4)?,
        spoiled: row.get(at + 5)?,
        cause: rank.map(CauseRank::from_stored),
    })
}

/// How a graph ended, or had ended, if it has.
pub(crate) fn graph_end(row: &Row<'_>, at: usize) -> Result<Option<GraphEnd>, Fault> {
    let known = |code| GraphEnd::from_code(code).ok_or_else(|| Fault::corrupt(format!("no graph ends as {code}")));
    row.get::<_, Option<i16>>(at)?.map(known).transpose()
}

/// What a worker holds a job for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decide {
    /// Its handler: no decision.
    Handler = 0,
    /// Its parents ended and it may not simply start.
    Parents = 1,
    /// Its graph is stopped.
    Stopped = 2,
    /// Its deadline has passed.
    Deadline = 3,
    /// It is the `end` of its graph.
    End = 4,
}

pub(crate) fn decide(code: i64) -> Result<Decide, Fault> {
    Ok(match code {
        0 => Decide::Handler,
        1 => Decide::Parents,
        2 => Decide::Stopped,
        3 => Decide::Deadline,
        4 => Decide::End,
        code => return Err(unknown("decision", code)),
    })
}

/// Three columns from `at` on.
pub(crate) fn counters(row: &Row<'_>, at: usize) -> Result<Counters, Fault> {
    Ok(Counters { attempt: row.get(at)?, failures: row.get(at + 1)?, crashes: row.get(at + 2)? })
}

pub(crate) fn job_id(row: &Row<'_>, at: usize) -> Result<JobId, Fault> {
    Ok(JobId::from_bytes(row.get(at)?))
}

pub(crate) fn graph_id(row: &Row<'_>, at: usize) -> Result<GraphId, Fault> {
    Ok(GraphId::from_bytes(row.get(at)?))
}

pub(crate) fn incarnation(row: &Row<'_>, at: usize) -> Result<Incarnation, Fault> {
    Ok(Incarnation::from_bytes(row.get(at)?))
}

pub(crate) fn instant(row: &Row<'_>, at: usize) -> Result<Timestamp, Fault> {
    Ok(Timestamp::from_micros(row.get(at)?))
}

pub(crate) fn instant_or_none(row: &Row<'_>, at: usize) -> Result<Option<Timestamp>, Fault> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Timestamp::from_micros))
}

/// Two columns from `at` on; `None` if the first is NULL.
pub(crate) fn payload(row: &Row<'_>, at: usize) -> Result<Option<Payload>, Fault> {
    let Some(code) = row.get::<_, Option<i16>>(at)? else { return Ok(None) };
    let codec = Codec::from_code(code).ok_or_else(|| unknown("codec", i64::from(code)))?;
    let bytes = match row.get_ref(at + 1)? {
        ValueRef::Blob(bytes) => Bytes::copy_from_slice(bytes),
        _ => return Err(Fault::corrupt("a payload without bytes")),
    };
    Ok(Some(Payload { codec, bytes }))
}

/// The rules of a job.
pub(crate) fn rules(row: &Row<'_>, at: usize) -> Result<JobRules, Fault> {
    Ok(json(row, at, |text| JobRules::from_stored(Some(text)))?.unwrap_or_default())
}

/// A JSON text, if it is not NULL.
pub(crate) fn json<T>(
    row: &Row<'_>,
    at: usize,
    parse: impl FnOnce(&str) -> serde_json::Result<T>,
) -> Result<Option<T>, Fault> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(text) => {
            let parsed = std::str::from_utf8(text).map_err(|e| e.to_string());
            let parsed = parsed.and_then(|text| parse(text).map_err(|e| e.to_string()));
            parsed.map(Some).map_err(|e| Fault::corrupt(format!("a stored JSON text cannot be read: {e}")))
        }
        _ => Err(Fault::corrupt("a stored JSON text is no text")),
    }
}

/// Why something ended, or is to.
pub(crate) fn cause(row: &Row<'_>, at: usize) -> Result<Option<Cause>, Fault> {
    json(row, at, |text| serde_json::from_str(text))
}

/// Who has paused a run.
pub(crate) fn pause(row: &Row<'_>, at: usize) -> Result<Option<PauseLine>, Fault> {
    json(row, at, |text| serde_json::from_str(text))
}

/// The branches that a gate chose.
pub(crate) fn labels(row: &Row<'_>, at: usize) -> Result<Vec<Label>, Fault> {
    Ok(json(row, at, |text| serde_json::from_str(text))?.unwrap_or_default())
}

/// A list of texts.
pub(crate) fn texts(row: &Row<'_>, at: usize) -> Result<Vec<String>, Fault> {
    Ok(json(row, at, |text| serde_json::from_str(text))?.unwrap_or_default())
}

/// The kinds that a worker serves, with their versions.
pub(crate) fn kinds(row: &Row<'_>, at: usize) -> Result<BTreeMap<Kind, Versions>, Fault> {
    Ok(json(row, at, |text| serde_json::from_str(text))?.unwrap_or_default())
}

/// The stored form of the kinds that a worker serves: none if there are none.
pub(crate) fn kinds_text(kinds: &BTreeMap<Kind, Versions>) -> Option<String> {
    if kinds.is_empty() { None } else { serde_json::to_string(kinds).ok() }
}

/// What travels with a job.
pub(crate) fn headers(row: &Row<'_>, at: usize) -> Result<BTreeMap<String, String>, Fault> {
    Ok(json(row, at, |text| serde_json::from_str(text))?.unwrap_or_default())
}

/// The stored form of a cause. One that has none cannot be written either.
pub(crate) fn cause_text(cause: Option<&Cause>) -> Result<Option<String>, Fault> {
    cause.map(serde_json::to_string).transpose().map_err(|e| Fault::invalid(format!("a cause has no JSON form: {e}")))
}

/// The stored form of a list of texts: none if it is empty.
pub(crate) fn list_text<T: AsRef<str>>(list: &[T]) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    Some(Value::from(list.iter().map(|text| text.as_ref()).collect::<Vec<_>>()).to_string())
}

/// The stored form of headers: none if there are none.
pub(crate) fn headers_text(headers: &BTreeMap<String, String>) -> Option<String> {
    if headers.is_empty() {
        return None;
    }
    let map = headers.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    Some(Value::Object(map.collect()).to_string())
}

/// Keys of parents, eight bytes each.
pub(crate) fn keys(bytes: &[u8]) -> Result<Vec<i64>, Fault> {
    let (keys, rest) = bytes.as_chunks::<8>();
    if rest.is_empty() {
        Ok(keys.iter().map(|key| i64::from_le_bytes(*key)).collect())
    } else {
        Err(Fault::corrupt("a list of parents is cut off"))
    }
}

/// The stored form of parents: none if there are none.
pub(crate) fn keys_bytes(keys: &[i64]) -> Option<Vec<u8>> {
    if keys.is_empty() { None } else { Some(keys.iter().flat_map(|key| key.to_le_bytes()).collect()) }
}

pub(crate) fn end(code: i16) -> Result<End, Fault> {
    End::from_code(code).ok_or_else(|| unknown("end", i64::from(code)))
}

/// Where a job stands, by the numbers of the view `job_line`: an end's code, or one from 10 on.
pub(crate) fn state(code: i16) -> Result<State, Fault> {
    Ok(match code {
        10 => State::Waiting,
        11 => State::Ready,
        12 => State::Blocked,
        13 => State::Running,
        code => State::Ended(end(code)?),
    })
}

pub(crate) fn state_code(state: State) -> i16 {
    match state {
        State::Waiting => 10,
        State::Ready => 11,
        State::Blocked => 12,
        State::Running => 13,
        State::Ended(end) => end.code(),
    }
}

pub(crate) fn stop_reason(code: i16) -> Result<StopReason, Fault> {
    StopReason::from_code(code).ok_or_else(|| unknown("stop", i64::from(code)))
}

fn unknown(what: &str, code: i64) -> Fault {
    Fault::corrupt(format!("the {what} {code} is none that this binary knows"))
}
