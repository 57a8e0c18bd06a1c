//! Children of a run in a test: stand-ins that end like steps do, and that a crash of the run leaves alone.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{Command, Entry, Live, Lost, Outcome, Pos};
use towpath_core::store::{ChildEnd, InboxLine, Item};
use towpath_core::{Cause, End, GraphEnd, Label, Payload, Timestamp};

use super::{Plan, Shell};
use crate::durable::{ChildWork, RunEnd};

/// A stand-in for children of a name: their input in, their end out.
pub(in crate::testing) type ChildStub = Arc<dyn Fn(&Payload) -> ChildEnd + Send + Sync>;

/// What is going on outside of the run, as its store would know.
#[derive(Default)]
pub(super) struct Children {
    /// Those that were started and have not ended, by the arrival that tells of their end: a later chapter may ask for them at
    /// another place.
    at_work: BTreeMap<Label, Child>,
    /// Those that have, and when: a crash takes back what came after the last commit.
    ended: Vec<(Child, InboxLine)>,
}

struct Child {
    pos: Pos,
    label: Label,
    end: ChildEnd,
}

/// The number of the first arrival that tells of a child; those of signals are lower.
const FIRST_SEQ: i64 = 1_000_000;

impl Children {
    pub(super) fn at_work(&self) -> impl Iterator<Item = Pos> {
        self.at_work.values().map(|child| child.pos)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at_work.is_empty()
    }

    /// What has arrived.
    pub(super) fn deliver(&self, live: &mut Live<RunEnd>, gone: &HashSet<i64>) {
        let left = self.ended.iter().filter(|(_, line)| !gone.contains(&line.seq));
        left.for_each(|(_, line)| live.arrived(line.clone()));
    }

    /// Takes back the ends that came after the last commit.
    pub(super) fn take_back(&mut self, committed_at: Timestamp) {
        for (child, line) in std::mem::take(&mut self.ended) {
            if line.at <= committed_at {
                self.ended.push((child, line));
            } else {
                self.at_work.insert(child.label.clone(), child);
            }
        }
    }

    /// Ends one, if it is one.
    pub(super) fn finish(&mut self, pos: Pos, at: Timestamp) -> bool {
        let Some(label) = self.at_work.values().find(|child| child.pos == pos).map(|child| child.label.clone()) else {
            return false;
        };
        let Some(child) = self.at_work.remove(&label) else { return false };
        let payload = Payload::json(&child.end).unwrap_or_default();
        // Two chapters have children at the same place.
        let seq = FIRST_SEQ + self.ended.len() as i64;
        let line = InboxLine { seq, name: child.label.clone(), payload, at };
        self.ended.push((child, line));
        true
    }

    /// Whether it was started; it is asked for at this place now.
    fn has(&mut self, pos: Pos, label: &Label) -> bool {
        if let Some(child) = self.at_work.get_mut(label) {
            child.pos = pos;
            return true;
        }
        self.ended.iter().any(|(child, _)| child.label == *label)
    }

    /// A child that has not ended ends as cancelled.
    pub(super) fn cancel(&mut self, lost: &Lost) {
        if let Some(child) = self.at_work.get_mut(&lost.label) {
            let cause = Some(Cause::Asked { actor: "towpath".into(), reason: "it is not waited for".into() });
            child.end = match child.end {
                ChildEnd::Graph { .. } => ChildEnd::Graph { end: GraphEnd::Cancelled },
                _ => ChildEnd::Job { end: End::Cancelled, cause, output: None, error: None, message: None },
            };
        }
    }
}

impl Shell<'_> {
    /// Starts children; answers the other commands.
    pub(super) fn start_children(&mut self, commands: Vec<Command>, live: &mut Live<RunEnd>) -> Vec<Command> {
        let (children, others): (Vec<_>, Vec<_>) =
            commands.into_iter().partition(|command| command.work.is::<ChildWork>());
        for Command { pos, work, .. } in children {
            let Ok(work) = work.downcast::<ChildWork>() else { continue };
            if let Some(outcome) = work.detached {
                live.completed(pos, self.now, outcome);
                continue;
            }
            if !self.children.has(pos, &work.label) {
                let name = name_of(&work.item);
                *self.began.entry(name.to_owned()).or_default() += 1;
                let (end, label) = (end_of(self.plan, name, &work.item), work.label);
                self.children.at_work.insert(label.clone(), Child { pos, label, end });
            }
            self.pending.push(Entry::Started { pos });
        }
        others
    }
}

/// By what a test says how it ends: the kind of a job, the function of a run, the name of a graph.
fn name_of(item: &Item) -> &str {
    match item {
        Item::Job(job) => job.kind.as_str(),
        Item::Graph(graph) => graph.name().as_str(),
        _ => "",
    }
}

fn end_of(plan: &Plan, name: &str, item: &Item) -> ChildEnd {
    let nothing = Payload::default();
    let input = match item {
        Item::Job(job) => &job.input,
        _ => &nothing,
    };
    match plan.children.get(name) {
        Some(stub) => stub(input),
        None => panic!("the run starts {name}, and a test has no workers: say how it ends by .child(…)"),
    }
}

/// A stand-in for children that are jobs or runs.
pub(in crate::testing) fn stub<I, O, E>(stub: impl Fn(I) -> Result<O, E> + Send + Sync + 'static) -> ChildStub
where
    I: DeserializeOwned,
    O: Serialize,
    E: Serialize + std::fmt::Display,
{
    Arc::new(move |input| {
        let result = match input.decode() {
            Ok(input) => stub(input),
            Err(e) => panic!("the stub of a child takes another input: {}", e.problem),
        };
        match result {
            Ok(output) => {
                let output = Outcome::of(&output).ok();
                ChildEnd::Job { end: End::Succeeded, cause: None, output, error: None, message: None }
            }
            Err(error) => {
                let (text, cause) = (Some(error.to_string()), Some(Cause::Permanent));
                ChildEnd::Job { end: End::Dead, cause, output: None, error: Outcome::of(&error).ok(), message: text }
            }
        }
    })
}
