//! Which versions of jobs and durable functions are still needed: what is open of each, and who takes it.

use std::collections::BTreeMap;

use towpath::core::store::WorkerLine;
use towpath::{Client, Kind, Timestamp};

use super::Workers;
use crate::problem::Problem;

/// Up to how many ready jobs of each lane are counted: whether there is one at all is what decides.
const COUNTED: u32 = 10_000;
/// How many versions of one kind that nothing is open of are named: a job's handler may take all there ever were.
const NAMED_MAX: u16 = 20;

/// A version that something is open of, or that a worker takes beside a newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) kind: Kind,
    pub(crate) version: u16,
    /// From [`COUNTED`] on there may be more.
    pub(crate) open: u64,
    pub(crate) runs: u64,
    pub(crate) oldest: Option<Timestamp>,
    pub(crate) served_by: usize,
}

impl Line {
    fn new(kind: Kind, version: u16) -> Self {
        Self { kind, version, open: 0, runs: 0, oldest: None, served_by: 0 }
    }

    /// Whether it may be removed from the code.
    pub(crate) const fn may_go(&self) -> bool {
        self.open == 0
    }
}

/// All of them, by kind, then by version.
pub(crate) async fn look(client: &Client) -> Result<Vec<Line>, Problem> {
    let mut lines: BTreeMap<(Kind, u16), Line> = BTreeMap::new();
    for open in client.inspect().open_versions(COUNTED).await? {
        let line = Line::new(open.kind.clone(), open.version);
        let line = Line { open: open.open, runs: open.runs, oldest: Some(open.oldest), ..line };
        lines.insert((open.kind, open.version), line);
    }
    let workers = Workers::look(client).await?;
    let living: Vec<_> = workers.lines.iter().filter(|worker| workers.lives(worker)).collect();
    for (kind, version) in living.iter().flat_map(|worker| older(worker)) {
        lines.entry((kind.clone(), version)).or_insert_with(|| Line::new(kind, version));
    }
    for line in lines.values_mut() {
        let takes = |worker: &&&WorkerLine| worker.kinds.get(&line.kind).is_some_and(|all| all.has(line.version));
        line.served_by = living.iter().filter(takes).count();
    }
    Ok(lines.into_values().collect())
}

/// The versions that a worker takes and that are not its newest: that one is what is enqueued now, and needed for it. The
/// code of the engine's own kinds is not the application's to remove.
fn older(worker: &WorkerLine) -> Vec<(Kind, u16)> {
    let mut found = Vec::new();
    for (kind, versions) in worker.kinds.iter().filter(|(kind, _)| !kind.is_reserved()) {
        let ranges = versions.ranges();
        let Some(newest) = ranges.iter().map(|(_, newest)| *newest).max() else { continue };
        let named = newest.saturating_sub(NAMED_MAX).max(1)..newest;
        found.extend(named.filter(|version| versions.has(*version)).map(|version| (kind.clone(), version)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath::core::store::Versions;
    use towpath::core::{Incarnation, JobId};

    #[test]
    fn a_worker_names_what_it_takes_beside_its_newest() {
        let kind = |name: &str| Kind::new(name).unwrap();
        let worker = |kinds: Vec<(Kind, Versions)>| WorkerLine {
            worker: Incarnation::from_bytes(*JobId::from_bytes([1; 16]).as_bytes()),
            name: String::new(),
            queues: Vec::new(),
            kinds: kinds.into_iter().collect(),
            running: 0,
            started_at: Timestamp::ZERO,
            lease_until: Timestamp::ZERO,
            wish: None,
        };
        let many = [(kind("job"), Versions::UpTo(3)), (kind("run"), Versions::Only([2, 5].into()))];
        let found = older(&worker(many.to_vec()));
        assert_eq!(found, [(kind("job"), 1), (kind("job"), 2), (kind("run"), 2)]);
        assert!(older(&worker(vec![(kind("job"), Versions::UpTo(1))])).is_empty(), "its newest is needed");
        assert_eq!(older(&worker(vec![(kind("job"), Versions::UpTo(100))])).len(), 20);
    }
}
