//! What the runtime and the core's plans read.

use std::collections::BTreeSet;

use crate::graph::Role;
use crate::id::{GraphId, JobId};
use crate::lifecycle::{State, StopReason};
use crate::limits;
use crate::name::RunId;
use crate::payload::Payload;
use crate::store::{
    Ancestor, DueStop, DueStops, Ended, Entry, InboxLine, Peer, Shown, StreamHead, StreamLine, Upstream, Wanted,
};
use crate::time::Timestamp;

use super::tables::{Key, Tables};

impl Tables {
    pub(super) fn upstream(&self, job: JobId) -> Vec<Upstream> {
        self.job_by_id
            .get(&job)
            .map_or(&[][..], |key| self.parents(*key))
            .iter()
            .filter_map(|p| self.seen(*p))
            .collect()
    }

    pub(super) fn ancestors(&self, job: JobId, wanted: &Wanted, limit: u32) -> Vec<Ancestor> {
        let Some(job) = self.job_by_id.get(&job) else { return Vec::new() };
        let mut above: BTreeSet<Key> = self.parents(*job).iter().copied().collect();
        let found = self.wanted(&above, wanted, limit);
        if !found.is_empty() {
            return found;
        }
        let mut ahead: Vec<Key> = above.iter().copied().collect();
        while let Some(job) = ahead.pop() {
            ahead.extend(self.parents(job).iter().copied().filter(|parent| above.insert(*parent)));
        }
        self.wanted(&above, wanted, limit)
    }

    fn wanted(&self, above: &BTreeSet<Key>, wanted: &Wanted, limit: u32) -> Vec<Ancestor> {
        let found = above.iter().filter_map(|job| {
            let kind = &self.job.get(job)?.new.kind;
            wanted.is(self.node.get(job)?.name.as_str(), kind.as_str()).then_some((*job, kind))
        });
        let found = found.take(limit as usize);
        found.filter_map(|(job, kind)| Some(Ancestor { kind: kind.clone(), upstream: self.seen(job)? })).collect()
    }

    fn parents(&self, job: Key) -> &[Key] {
        self.job.get(&job).map(|row| row.parents.as_slice()).unwrap_or_default()
    }

    /// A node as those below it see it.
    fn seen(&self, job: Key) -> Option<Upstream> {
        Some(Upstream {
            node: self.node.get(&job)?.name.clone(),
            state: self.state(job),
            output: self.output.get(&job).cloned(),
            error: self.last_error(job),
        })
    }

    pub(super) fn graph_input(&self, graph: GraphId) -> Option<Payload> {
        self.visible_graph(graph).and_then(|(_, row)| row.input.clone())
    }

    pub(super) fn settleable(&self, graph: GraphId, limit: u32) -> Vec<JobId> {
        let Some((graph, _)) = self.visible_graph(graph) else { return Vec::new() };
        let stop = self.stop.get(&graph).copied();
        let left_out = Role::not_settled(stop).bits();
        let is_meant = |job: &Key| self.node.get(job).is_some_and(|node| node.role.bits() & left_out == 0);
        let open = |job: &Key| is_meant(job) && self.is_unstarted(*job) && !self.has_begun(*job);
        let held = self
            .undecided
            .iter()
            .copied()
            .filter(|job| self.node.get(job).is_some_and(|node| node.graph == graph))
            .filter(open);
        let mut found: Vec<Key> = Vec::new();
        if stop != Some(StopReason::Fail) {
            found.extend(held.take(limit as usize));
        }
        if found.is_empty() {
            let idle = self.nodes_of(graph).filter(open);
            let idle = idle.filter(|job| stop != Some(StopReason::Fail) || !self.undecided.contains(job));
            found = idle.take(limit as usize).collect();
        }
        found.iter().filter_map(|job| self.job.get(job)).map(|row| row.new.id).collect()
    }

    pub(super) fn stops(&self, now: Timestamp, limit: u32) -> DueStops {
        let mut due: Vec<(Timestamp, Key)> =
            self.stop_due.iter().filter(|(_, due)| **due <= now).map(|(graph, due)| (*due, *graph)).collect();
        due.sort_unstable();
        let line = |(_, key): (Timestamp, Key)| {
            let line = self.stopped.get(&key)?;
            Some(DueStop { graph: self.graph.get(&key)?.id, reason: line.reason, age: now.since(line.at) })
        };
        let graphs = due.into_iter().take(limit as usize).filter_map(line).collect();
        let next = self.stop_due.values().copied().filter(|due| *due > now).min();
        DueStops { graphs, next: next.map(|due| due.since(now)) }
    }

    /// Whether nothing but a claim is missing for a job to start or to be decided.
    fn is_unstarted(&self, job: Key) -> bool {
        self.ready_by_job.contains_key(&job)
            || self.later_by_job.contains_key(&job)
            || self.blocked.contains_key(&job)
            || self.undecided.contains(&job)
    }

    pub(super) fn peers(&self) -> Vec<Peer> {
        let workers = self.worker.iter();
        workers
            .filter_map(|(key, row)| {
                Some(Peer { worker: row.incarnation, host: row.host.clone(), lease_until: *self.lease.get(key)? })
            })
            .collect()
    }

    pub(super) fn entries(&self, job: JobId, chapter: u32, from: u32, limit: u32) -> Vec<Entry> {
        let Some(job) = self.job_by_id.get(&job).copied() else { return Vec::new() };
        let entries = self.entry.range((job, chapter, from)..=(job, chapter, u32::MAX));
        let entries = entries.map(|((_, _, seq), row)| Entry { seq: *seq, payload: row.payload.clone(), at: row.at });
        entries.take(limit.min(limits::PAGE_MAX) as usize).collect()
    }

    pub(super) fn inbox(&self, run: &RunId, after: i64, limit: u32) -> Vec<InboxLine> {
        let arrivals = self.arrivals_of(run).filter(|(seq, _)| *seq > after).map(|(seq, row)| InboxLine {
            seq,
            name: row.name.clone(),
            payload: row.payload.clone(),
            at: row.at,
        });
        arrivals.take(limit.min(limits::PAGE_MAX) as usize).collect()
    }

    pub(super) fn shown(&self, run: &RunId, name: String) -> Option<Shown> {
        let job = *self.run_by_id.get(run)?;
        self.shown.get(&(job, name)).cloned()
    }

    pub(super) fn stream(&self, run: &RunId, name: String, after: u64, limit: u32) -> Vec<StreamLine> {
        let lines = self.run_by_id.get(run).and_then(|job| self.stream.get(&(*job, name)));
        let lines = lines.into_iter().flatten().zip(1..).skip(usize::try_from(after).unwrap_or(usize::MAX));
        let line = |(shown, number): (&Shown, u64)| StreamLine { number, payload: shown.payload.clone(), at: shown.at };
        lines.map(line).take(limit.min(limits::PAGE_MAX) as usize).collect()
    }

    pub(super) fn streams(&self, run: &RunId) -> Vec<StreamHead> {
        let Some(job) = self.run_by_id.get(run) else { return Vec::new() };
        let of_run = self.stream.range((*job, String::new())..(*job + 1, String::new()));
        let head = |((_, name), lines): (&(Key, String), &Vec<Shown>)| {
            Some(StreamHead { name: name.clone(), lines: lines.len() as u64, at: lines.last()?.at })
        };
        of_run.filter_map(head).take(limits::STREAMS_MAX as usize).collect()
    }

    pub(super) fn how_ended(&self, id: JobId) -> Option<Ended> {
        let job = *self.job_by_id.get(&id)?;
        let row = self.ended.get(&job)?;
        Some(Ended {
            id,
            state: State::Ended(row.end),
            cause: row.cause.clone(),
            output: self.output.get(&job).cloned(),
            error: self.last_error(job),
            ended_at: row.ended_at,
        })
    }
}
