//! A line of a run's journal, as the API answers it.

use serde::Serialize;
use towpath::Kind;
use towpath::core::replay::{Entry, Ident};
use towpath::core::store::{Child, Entry as Stored};

use super::{Shown, instant};
use crate::app::Ctx;
use crate::look::child::Children;
use crate::options::Part;

#[derive(Debug, Serialize)]
pub(crate) struct Line {
    /// Its place in the chapter, from 0.
    seq: u32,
    /// When it was written.
    at: Option<String>,
    /// What it is: `began`, `opened`, `started`, `failed`, `patched`, `done`, `continued`, `ended`, or `other` of a newer release.
    what: &'static str,
    /// The place of its operation, as people count: the function's own from 1.
    pos: Option<String>,
    op: Option<Op>,
    /// What the operation has started.
    child: Option<Started>,
    due: Option<String>,
    failures: Option<u32>,
    version: Option<u16>,
    patch: Option<String>,
    error: Option<Shown>,
    outcome: Option<Shown>,
    /// The whole line as it is stored, of one that this build does not know.
    stored: Option<Shown>,
}

#[derive(Debug, Serialize)]
struct Op {
    kind: &'static str,
    name: String,
    version: u16,
    /// The fingerprint of its input: 16 hexadecimal digits.
    input: String,
}

impl Op {
    fn of(op: &Ident) -> Self {
        Self {
            kind: op.kind.word(),
            name: op.name.to_string(),
            version: op.version,
            input: format!("{:016x}", op.input),
        }
    }
}

/// A job, a run or a graph that a run has started: its id.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Started {
    Job(String),
    Graph(String),
}

impl Started {
    fn of(child: Child) -> Self {
        match child {
            Child::Job(job) => Self::Job(job.to_string()),
            Child::Graph(graph) => Self::Graph(graph.to_string()),
        }
    }
}

impl Line {
    pub(crate) fn of(ctx: &Ctx, kind: &Kind, children: &Children, line: &Stored) -> Self {
        let empty = Self {
            seq: line.seq,
            at: instant(line.at),
            what: "other",
            pos: None,
            op: None,
            child: None,
            due: None,
            failures: None,
            version: None,
            patch: None,
            error: None,
            outcome: None,
            stored: None,
        };
        let shown = |json: &str| Some(Shown::of_json(ctx, kind, Part::Journal, json));
        match Entry::decode(&line.payload) {
            Ok(Entry::Began { version, .. }) => Self { what: "began", version: Some(version), ..empty },
            Ok(Entry::Opened { pos, op, due }) => Self {
                what: "opened",
                pos: Some(pos.to_string()),
                child: children.of(line.seq, pos, &op).map(Started::of),
                op: Some(Op::of(&op)),
                due: due.and_then(instant),
                ..empty
            },
            Ok(Entry::Failed { pos, failures, due, error }) => Self {
                what: "failed",
                pos: Some(pos.to_string()),
                failures: Some(failures),
                due: instant(due),
                error: ctx.shown(kind, Part::Error, &error).map_or(Some(Shown::Hidden(true)), |e| Some(Shown::Text(e))),
                ..empty
            },
            Ok(Entry::Started { pos }) => Self { what: "started", pos: Some(pos.to_string()), ..empty },
            Ok(Entry::Continued { .. }) => Self { what: "continued", ..empty },
            Ok(Entry::Patched { id }) => Self { what: "patched", patch: Some(id), ..empty },
            Ok(Entry::Done { pos, op, outcome, .. }) => Self {
                what: "done",
                pos: Some(pos.to_string()),
                child: children.of(line.seq, pos, &op).map(Started::of),
                op: Some(Op::of(&op)),
                outcome: shown(outcome.json()),
                ..empty
            },
            Ok(Entry::Left { .. }) => Self { what: "left", ..empty },
            Ok(Entry::Ended { error, .. }) => {
                Self { what: "ended", error: error.and_then(|error| shown(error.json())), ..empty }
            }
            _ => Self { stored: Some(Shown::of(ctx, kind, Part::Journal, &line.payload)), ..empty },
        }
    }
}
