//! Lists of jobs that are found in a short time or not at all: what is rare is looked for among the newest jobs first, and
//! where a look has become long it stops and says so.

use std::time::{Duration, Instant};

use towpath::core::State;
use towpath::core::store::{JobFilter, JobLine, Page};
use towpath::{Client, End};

use super::JobQuery;
use crate::problem::Problem;

/// Keys that are looked through first. A job of another kind is passed over in about a microsecond on either database.
const KEYS: i64 = 1 << 14;

/// How long it is looked for what is rare: after that no other look is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as people wait for any page.
    Short,
    /// Who has seen that nothing is near asks for more.
    Long,
}

impl Patience {
    const fn time(self) -> Duration {
        match self {
            Self::Short => Duration::from_millis(10),
            Self::Long => Duration::from_millis(300),
        }
    }
}

/// A part of a list.
pub(crate) struct Listed {
    pub(crate) lines: Vec<JobLine>,
    /// What to go on after.
    pub(crate) next: Option<String>,
    /// Whether the look has stopped before there were enough lines, or the last of them.
    pub(crate) has_stopped: bool,
}

/// Jobs of all filters, newest first.
pub(crate) async fn jobs(client: &Client, query: &JobQuery, page: Page, patience: Patience) -> Result<Listed, Problem> {
    let filters = query.filters()?;
    let mut lines = Vec::new();
    if !filters.iter().any(is_rare) {
        part(client, &filters, page, &mut lines).await?;
        return Ok(Listed::full(lines, page));
    }
    let begun = Instant::now();
    let mut below = match page.after {
        Some(after) => after,
        None => newest(client).await?.saturating_add(1),
    };
    let mut keys = KEYS;
    loop {
        let above = below.saturating_sub(keys).saturating_sub(1);
        let within: Vec<_> = filters.iter().map(|filter| JobFilter { above: Some(above), ..filter.clone() }).collect();
        part(client, &within, Page { after: Some(below), ..page }, &mut lines).await?;
        // Keys begin at 1.
        if lines.len() >= page.limit as usize || above <= 0 {
            return Ok(Listed::full(lines, page));
        }
        below = above + 1;
        if begun.elapsed() > patience.time() {
            return Ok(Listed { lines, next: Some(below.to_string()), has_stopped: true });
        }
        keys = keys.saturating_mul(growth(&filters));
    }
}

impl Listed {
    /// As many lines as a part may have, or all there are.
    fn full(mut lines: Vec<JobLine>, page: Page) -> Self {
        lines.truncate(page.limit as usize);
        let last = lines.last().filter(|_| lines.len() >= page.limit as usize);
        Self { next: last.map(|line| line.key.to_string()), lines, has_stopped: false }
    }
}

/// Whether a filter may leave out many of the jobs that it is held against. What waits, runs or is blocked stands in small
/// tables, and a graph has its own nodes.
fn is_rare(filter: &JobFilter) -> bool {
    let says_more = filter.queue.is_some() || filter.kind.is_some() || filter.tags.len() > 1;
    match filter.state {
        _ if filter.graph.is_some() => false,
        Some(State::Waiting | State::Running | State::Blocked) => false,
        Some(State::Ready | State::Ended(End::Succeeded)) => true,
        Some(State::Ended(_)) | None => says_more || (filter.state.is_some() && !filter.tags.is_empty()),
    }
}

/// How many times as many keys the next look takes. Of few ready jobs each look reads all.
fn growth(filters: &[JobFilter]) -> i64 {
    if filters.iter().any(|filter| filter.state == Some(State::Ready)) { 32 } else { 2 }
}

/// Adds the jobs of all filters, so that the newest come first.
async fn part(client: &Client, filters: &[JobFilter], page: Page, to: &mut Vec<JobLine>) -> Result<(), Problem> {
    for filter in filters {
        to.extend(client.inspect().jobs(filter.clone(), page).await?);
    }
    to.sort_by_key(|line| std::cmp::Reverse(line.key));
    Ok(())
}

/// The key of the newest job; 0 if there is none.
pub(crate) async fn newest(client: &Client) -> Result<i64, Problem> {
    let newest = client.inspect().jobs(JobFilter::default(), Page { after: None, limit: 1 }).await?;
    Ok(newest.first().map_or(0, |line| line.key))
}
