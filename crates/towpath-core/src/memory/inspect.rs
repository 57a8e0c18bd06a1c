//! Questions of people, answered by looking through the tables: small stores only.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::graph::Compensation;
use crate::id::{GraphId, JobId};
use crate::lifecycle::{End, StopReason};
use crate::name::{Kind, Queue, RunId};
use crate::store::{
    AttemptLine, AuditLine, BoxFuture, Census, EdgeLine, GraphDetail, GraphFilter, GraphLine, GraphStanding, Inspect,
    JobDetail, JobFilter, JobLine, JobShape, NodeLine, Page, PatchLine, QueueLine, RunLine, StateCounts, StopLine,
    StoreResult, StreamHead, TagLine, TagQuery, TallyLine, TallyQuery, Tombstone, VersionLine, WorkerLine,
};
use crate::time::Timestamp;

use super::MemoryStore;
use super::tables::{EdgeRow, GraphRow, JobRow, Key, NodeRow, Tables, With, WorkerRow};

impl Inspect for MemoryStore {
    fn job(&self, id: JobId) -> BoxFuture<'_, StoreResult<Option<JobDetail>>> {
        Box::pin(async move { self.read("show a job", |tables| tables.job_detail(id)) })
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<JobId>>> {
        Box::pin(async move { self.read("look for a run", |tables| tables.job_of_run(&id)) })
    }

    fn tombstone(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<Tombstone>>> {
        Box::pin(async move {
            self.read("look for a tombstone", |tables| {
                (!tables.run_by_id.contains_key(&id)).then(|| tables.tombstone.get(&id).cloned()).flatten()
            })
        })
    }

    fn jobs(&self, filter: JobFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<JobLine>>> {
        Box::pin(async move { self.read("list jobs", |tables| tables.job_lines(&filter, page)) })
    }

    fn attempts(&self, id: JobId) -> BoxFuture<'_, StoreResult<Vec<AttemptLine>>> {
        Box::pin(async move { self.read("list attempts", |tables| tables.attempt_lines(id)) })
    }

    fn graph(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphDetail>>> {
        Box::pin(async move { self.read("show a graph", |tables| tables.graph_detail(id)) })
    }

    fn graph_line(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphLine>>> {
        Box::pin(async move { self.read("look at a graph", |tables| tables.graph_line(tables.visible_graph(id)?.0)) })
    }

    fn graphs(&self, filter: GraphFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<GraphLine>>> {
        Box::pin(async move { self.read("list graphs", |tables| tables.graph_lines(&filter, page)) })
    }

    fn streams(&self, run: RunId) -> BoxFuture<'_, StoreResult<Vec<StreamHead>>> {
        Box::pin(async move { self.read("list streams", |tables| tables.streams(&run)) })
    }

    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, StoreResult<Vec<TallyLine>>> {
        Box::pin(async move { self.read("list tallies", |tables| tables.tallies(&query)) })
    }

    fn tags(&self, query: TagQuery) -> BoxFuture<'_, StoreResult<Vec<TagLine>>> {
        Box::pin(async move { self.read("list tags", |tables| tables.tag_lines(&query)) })
    }

    fn queues(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<QueueLine>>> {
        Box::pin(async move { self.read("list queues", |tables| tables.queue_lines(most)) })
    }

    fn open_versions(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<VersionLine>>> {
        Box::pin(async move { self.read("list versions", |tables| tables.version_lines(most)) })
    }

    fn open_patches(&self) -> BoxFuture<'_, StoreResult<Vec<PatchLine>>> {
        Box::pin(async move { self.read("list patches", |tables| tables.patch_lines()) })
    }

    fn workers(&self) -> BoxFuture<'_, StoreResult<Vec<WorkerLine>>> {
        Box::pin(async move { self.read("list workers", |tables| tables.worker_lines()) })
    }

    fn audit(&self, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>> {
        Box::pin(async move { self.read("list the audit", |tables| tables.audit_lines(None, page)) })
    }

    fn audit_of(&self, target: String, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>> {
        Box::pin(
            async move { self.read("list the audit of one thing", |tables| tables.audit_lines(Some(&target), page)) },
        )
    }

    fn counts(&self, most: u32) -> BoxFuture<'_, StoreResult<StateCounts>> {
        Box::pin(async move { self.read("count jobs", |tables| tables.state_counts(most)) })
    }

    fn revision(&self) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(async move { self.read("look for changes", |tables| tables.writes) })
    }

    fn census(&self) -> BoxFuture<'_, StoreResult<Census>> {
        Box::pin(async move { self.read("count rows", |tables| tables.census()) })
    }
}

impl Tables {
    fn job_line(&self, key: Key) -> Option<JobLine> {
        let row = self.job.get(&key).filter(|_| self.is_visible(key))?;
        let ended = self.ended.get(&key);
        let running = self.running.get(&key).filter(|row| row.with == With::Handler);
        Some(JobLine {
            key,
            id: row.new.id,
            kind: row.new.kind.clone(),
            version: row.new.version,
            queue: row.new.queue.clone(),
            priority: row.new.priority,
            state: self.state(key),
            due: self.later_by_job.get(&key).copied().filter(|due| *due < Timestamp::NEVER),
            parked: self.is_parked(key),
            counters: self.counters(key),
            node: self.node_ref(key),
            enqueued_at: row.enqueued_at,
            started_at: ended.map_or(running.map(|row| row.started_at), |row| row.started_at),
            ended_at: ended.map(|row| row.ended_at),
        })
    }

    /// Those that it was given, then those that were added.
    fn all_tags(&self, key: Key, given: &[String]) -> Vec<String> {
        let added = self.tags_of(key).filter(|tag| !given.iter().any(|given| given == tag));
        given.iter().cloned().chain(added.map(str::to_owned)).collect()
    }

    fn is_parked(&self, key: Key) -> bool {
        let due = self.later_by_job.get(&key);
        due.and_then(|due| self.later.get(&(*due, key))).is_some_and(|row| row.parked)
    }

    fn job_detail(&self, id: JobId) -> Option<JobDetail> {
        let key = *self.job_by_id.get(&id)?;
        let line = self.job_line(key)?;
        let new = &self.job.get(&key)?.new;
        let running = self.running.get(&key).filter(|row| row.with == With::Handler);
        Some(JobDetail {
            line,
            input: new.input.clone(),
            rules: new.rules.clone(),
            deadline: new.deadline,
            tags: self.all_tags(key, &new.tags),
            progress: self.progress.get(&key).cloned(),
            headers: new.headers.clone(),
            cause: self.ended.get(&key).and_then(|row| row.cause.clone()),
            output: self.output.get(&key).cloned(),
            blocked: self.blocked.get(&key).map(|row| row.reason.clone()),
            worker: running.and_then(|row| self.worker.get(&row.worker)).map(|worker| worker.incarnation),
            cancel: running.and_then(|row| row.cancel.clone()),
            run: self.run.get(&key).map(|row| RunLine {
                id: row.id.clone(),
                chapter: row.chapter,
                entries: row.entries,
                arrived: u32::try_from(self.arrivals_of(&row.id).count()).unwrap_or(u32::MAX),
                paused: row.paused.clone(),
                origin: row.origin.clone(),
            }),
        })
    }

    fn job_lines(&self, filter: &JobFilter, page: Page) -> Vec<JobLine> {
        let jobs = newest_first(&self.job, page).take_while(|(key, _)| filter.above.is_none_or(|above| *key > above));
        let jobs = jobs.filter(|(key, _)| !self.is_end(*key));
        let lines = jobs.filter_map(|(key, _)| self.job_line(key)).filter(|line| {
            filter.state.is_none_or(|state| line.state == state)
                && filter.queue.as_ref().is_none_or(|queue| line.queue == *queue)
                && (filter.shape == JobShape::Any || self.run.contains_key(&line.key))
                && filter.kind.as_ref().is_none_or(|kind| line.kind == *kind)
                && filter.tags.iter().all(|tag| self.tag.contains(&(line.key, tag.clone())))
                && filter.graph.is_none_or(|graph| line.node.as_ref().is_some_and(|node| node.graph == graph))
        });
        lines.take(length(page)).collect()
    }

    /// Whether a job is shown: not a node of a graph that is being deleted.
    pub(super) fn is_visible(&self, job: Key) -> bool {
        self.stop_of(job) != Some(StopReason::Prune)
    }

    fn attempt_lines(&self, id: JobId) -> Vec<AttemptLine> {
        let Some(job) = self.job_by_id.get(&id).filter(|job| self.is_visible(**job)) else { return Vec::new() };
        let attempts = self.attempts_of(*job).map(|(attempt, row)| AttemptLine {
            attempt,
            outcome: row.outcome,
            started_at: row.started_at,
            ended_at: row.ended_at,
            error: row.error.clone(),
            log: row.log.clone(),
        });
        attempts.collect()
    }

    fn graph_line(&self, key: Key) -> Option<GraphLine> {
        let row = self.graph.get(&key)?;
        let stop = self.stop.get(&key).copied();
        if stop == Some(StopReason::Prune) {
            return None;
        }
        Some(GraphLine {
            key,
            id: row.id,
            name: row.name.clone(),
            end: row.over.as_ref().map(|over| over.end),
            stop,
            compensation: Compensation::of(row.undo_rank, row.over.as_ref().map(|_| self.counts(key)).as_deref()),
            nodes: row.nodes,
            generation: row.generation,
            restart_of: row.restart_of,
            created_at: row.created_at,
            ended_at: row.over.as_ref().map(|over| over.ended_at),
        })
    }

    fn graph_lines(&self, filter: &GraphFilter, page: Page) -> Vec<GraphLine> {
        let is_named = |row: &GraphRow| filter.name.as_ref().is_none_or(|name| *name == row.name);
        let rows = newest_first(&self.graph, page).filter(|(_, row)| is_named(row));
        let lines = rows.filter_map(|(key, _)| self.graph_line(key)).filter(|line| match filter.standing {
            GraphStanding::Any => true,
            GraphStanding::Open => line.end.is_none(),
            GraphStanding::Ended(end) => line.end == Some(end),
        });
        lines.take(length(page)).collect()
    }

    fn graph_detail(&self, id: GraphId) -> Option<GraphDetail> {
        let (key, row) = self.visible_graph(id)?;
        let nodes: Vec<Key> = self.nodes_of(key).filter(|job| !self.is_end(*job)).collect();
        let edges = nodes.iter().flat_map(|parent| self.edges_of(*parent).map(|(ord, edge)| (ord, (*parent, edge))));
        let edges: BTreeMap<u32, (Key, &EdgeRow)> = edges.filter(|(_, (_, edge))| !self.is_end(edge.child)).collect();
        Some(GraphDetail {
            line: self.graph_line(key)?,
            input: row.input.clone(),
            rules: row.rules,
            stopped: self
                .stopped
                .get(&key)
                .map(|line| StopLine { due: self.retry.get(&key).map(|row| row.due), ..line.clone() }),
            restarts: self.restarts(id),
            nodes: nodes.into_iter().filter_map(|job| self.node_line(job, self.node.get(&job)?)).collect(),
            edges: edges.into_values().filter_map(|(parent, edge)| self.edge_line(parent, edge)).collect(),
        })
    }

    fn restarts(&self, of: GraphId) -> Vec<GraphId> {
        let is_seen = |key: &Key| self.stop.get(key) != Some(&StopReason::Prune);
        let rows = self.graph.iter().filter(|(key, row)| row.restart_of == Some(of) && is_seen(key));
        rows.map(|(_, row)| row.id).collect()
    }

    fn node_line(&self, job: Key, node: &NodeRow) -> Option<NodeLine> {
        let line = self.job_line(job)?;
        Some(NodeLine {
            name: node.name.clone(),
            job: line.id,
            kind: line.kind,
            queue: line.queue,
            role: node.role,
            parents: node.counters,
            guards: node.guards.and_then(|guarded| self.node.get(&guarded)).map(|node| node.name.clone()),
            state: line.state,
            due: line.due,
            parked: line.parked,
            cause: self.ended.get(&job).and_then(|row| row.cause.clone()),
            counters: line.counters,
            enqueued_at: line.enqueued_at,
            started_at: line.started_at,
            ended_at: line.ended_at,
        })
    }

    fn edge_line(&self, parent: Key, edge: &EdgeRow) -> Option<EdgeLine> {
        Some(EdgeLine {
            parent: self.node.get(&parent)?.name.clone(),
            child: self.node.get(&edge.child)?.name.clone(),
            verdicts: edge.verdicts,
            label: edge.label.clone(),
        })
    }

    fn queue_lines(&self, most: u32) -> Vec<QueueLine> {
        let most = most as usize;
        let mut lines: BTreeMap<Queue, QueueLine> = BTreeMap::new();
        let empty = |queue: &Queue| QueueLine {
            queue: queue.clone(),
            ready: 0,
            later: 0,
            running: 0,
            blocked: 0,
            paused: self.pause.get(queue).cloned(),
        };
        for queue in self.pause.keys() {
            lines.insert(queue.clone(), empty(queue));
        }
        let mut count = |job: Key, add: fn(&mut QueueLine)| {
            if let Some(row) = self.job.get(&job) {
                let queue = row.new.queue.clone();
                add(lines.entry(queue).or_insert_with_key(empty));
            }
        };
        let mut counted: BTreeMap<_, usize> = BTreeMap::new();
        for job in self.ready_by_job.keys() {
            let lane = self.job.get(job).map(|row| (&row.new.queue, &row.new.kind, row.new.version));
            let of_lane = counted.entry(lane).or_default();
            *of_lane += 1;
            if *of_lane <= most {
                count(*job, |line| line.ready += 1);
            }
        }
        let later = self.later_by_job.keys().take(most);
        later.for_each(|job| count(*job, |line| line.later += 1));
        self.blocked.keys().for_each(|job| count(*job, |line| line.blocked += 1));
        let with_handlers = self.running.iter().filter(|(_, row)| row.with == With::Handler);
        with_handlers.for_each(|(job, _)| count(*job, |line| line.running += 1));
        lines.into_values().collect()
    }

    /// As the stores on disk count it: all jobs of a lane are runs or none is, and the lowest key is taken for the oldest job, in
    /// each of the tables where jobs stand.
    fn version_lines(&self, most: u32) -> Vec<VersionLine> {
        let mut parts: BTreeMap<_, (u64, &JobRow, bool)> = BTreeMap::new();
        let open = self.job.iter().filter(|(job, _)| !self.ended.contains_key(job) && !self.is_end(**job));
        for (job, row) in open {
            let tables = [
                self.ready_by_job.contains_key(job),
                self.later_by_job.contains_key(job),
                self.blocked.contains_key(job),
                self.running.contains_key(job),
                self.undecided.contains(job),
            ];
            let table = tables.iter().position(|stands| *stands);
            let lane = (&row.new.kind, row.new.version, &row.new.queue);
            let part = parts.entry((lane, table)).or_insert_with(|| (0, row, self.run.contains_key(job)));
            if table != Some(0) || part.0 < u64::from(most) {
                part.0 += 1;
            }
        }
        let mut lines: BTreeMap<(&Kind, u16), VersionLine> = BTreeMap::new();
        for (((kind, version, _), _), (jobs, first, is_run)) in parts {
            let line = lines.entry((kind, version)).or_insert_with(|| VersionLine {
                kind: kind.clone(),
                version,
                open: 0,
                runs: 0,
                oldest: first.enqueued_at,
            });
            line.open += jobs;
            line.runs += if is_run { jobs } else { 0 };
            line.oldest = line.oldest.min(first.enqueued_at);
        }
        lines.into_values().collect()
    }

    fn patch_lines(&self) -> Vec<PatchLine> {
        let mut lines: BTreeMap<(Kind, u16, String), PatchLine> = BTreeMap::new();
        let mut runs = Vec::new();
        let live = self.run.iter().filter(|(job, _)| !self.ended.contains_key(job));
        for (key, run) in live {
            let Some(job) = self.job.get(key) else { continue };
            let chapter = self.entry.range((*key, run.chapter, 0)..=(*key, run.chapter, u32::MAX));
            let patches = chapter.filter_map(|(_, row)| Some((PatchLine::patch_of(&row.payload)?, row.at)));
            let patches: BTreeMap<String, Timestamp> = patches.collect();
            for (patch, at) in &patches {
                let (kind, version) = (job.new.kind.clone(), job.new.version);
                let line = lines.entry((kind.clone(), version, patch.clone())).or_insert_with(|| PatchLine {
                    kind,
                    version,
                    patch: patch.clone(),
                    runs: 0,
                    first: *at,
                    others: 0,
                    oldest_other: None,
                });
                line.runs += 1;
                line.first = line.first.min(*at);
            }
            runs.push((job, patches));
        }
        for ((kind, version, patch), line) in &mut lines {
            let is_other = |job: &JobRow, patches: &BTreeMap<String, Timestamp>| {
                (&job.new.kind, &job.new.version) == (kind, version) && !patches.contains_key(patch)
            };
            for (job, _) in runs.iter().filter(|(job, patches)| is_other(job, patches)) {
                line.others += 1;
                line.oldest_other = Some(line.oldest_other.map_or(job.enqueued_at, |at| at.min(job.enqueued_at)));
            }
        }
        lines.into_values().collect()
    }

    fn worker_lines(&self) -> Vec<WorkerLine> {
        let line = |(key, row): (&Key, &WorkerRow)| {
            let held = self.held_by(*key).into_iter().filter_map(|job| self.running.get(&job));
            Some(WorkerLine {
                worker: row.incarnation,
                name: row.name.clone(),
                queues: row.queues.clone(),
                kinds: row.kinds.clone(),
                running: held.filter(|row| row.with == With::Handler).count() as u32,
                started_at: row.registered_at,
                lease_until: *self.lease.get(key)?,
                wish: row.wish.clone(),
            })
        };
        self.worker.iter().filter_map(line).collect()
    }

    fn audit_lines(&self, of: Option<&str>, page: Page) -> Vec<AuditLine> {
        let meant = newest_first(&self.audit, page).filter(|(_, row)| of.is_none_or(|target| row.target == target));
        let lines = meant.map(|(key, row)| AuditLine {
            key,
            at: row.at,
            actor: row.actor.clone(),
            reason: row.reason.clone(),
            action: row.action.to_owned(),
            target: row.target.clone(),
            outcome: row.outcome.clone(),
        });
        lines.take(length(page)).collect()
    }

    fn state_counts(&self, most: u32) -> StateCounts {
        let most = u64::from(most);
        let capped = |count: usize| (count as u64).min(most);
        let ended = |is: fn(End) -> bool| capped(self.ended.values().filter(|row| is(row.end)).count());
        StateCounts {
            ready: capped(self.ready.len()),
            later: capped(self.later.len()),
            running: capped(self.running.values().filter(|row| row.with == With::Handler).count()),
            blocked: capped(self.blocked.len()),
            dead: ended(|end| end == End::Dead),
            quarantined: ended(|end| end == End::Quarantined),
            cancelled: ended(|end| end == End::Cancelled),
            skipped: ended(|end| matches!(end, End::Skipped(_))),
            open_graphs: capped(self.graph.values().filter(|row| row.over.is_none()).count()),
            repaired: self.repaired,
        }
    }

    fn census(&self) -> Census {
        Census {
            jobs: self.job.len() as u64,
            ready: self.ready.len() as u64,
            later: self.later.len() as u64,
            running: self.running.len() as u64,
            blocked: self.blocked.len() as u64,
            undecided: self.undecided.len() as u64,
            ended: self.ended.len() as u64,
            graphs: self.graph.len() as u64,
            nodes: self.node.len() as u64,
            edges: self.edge.len() as u64,
            stops: self.stop.len() as u64,
            attempts: self.attempt.len() as u64,
            outputs: self.output.len() as u64,
            deadlines: self.deadline.len() as u64,
            workers: self.worker.len() as u64,
            leases: self.lease.len() as u64,
            runs: self.run.len() as u64,
            entries: self.entry.len() as u64,
            arrivals: self.arrival.len() as u64,
            undos: self.undo.len() as u64,
            keys: self.unique.len() as u64,
            shown: (self.shown.len() + self.stream.values().map(Vec::len).sum::<usize>()) as u64,
            tombstones: self.tombstone.len() as u64,
            notes: (self.progress.len() + self.tag.len() + self.mark.len()) as u64,
        }
    }
}

/// A table's rows after the page's key, newest first.
fn newest_first<R>(table: &BTreeMap<Key, R>, page: Page) -> impl Iterator<Item = (Key, &R)> {
    let before = page.after.map_or(Bound::Unbounded, Bound::Excluded);
    table.range((Bound::Unbounded, before)).rev().map(|(key, row)| (*key, row))
}

fn length(page: Page) -> usize {
    page.limit.clamp(1, 1_000) as usize
}
