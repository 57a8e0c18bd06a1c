//! Many jobs at once: those that a filter finds, counted first. What comes after the count is not meant.

use std::time::{Duration, Instant};

use serde::Serialize;
use towpath::core::store::{Change, JobFilter, JobLine, Order, Page};
use towpath::core::{self, Requeue};
use towpath::{Changed, End, JobId, JobState};

use super::checked;
use crate::app::Ctx;
use crate::look::JobQuery;
use crate::look::list::{self, Patience};
use crate::options::Action;
use crate::problem::Problem;

/// Jobs that one order takes at most; it says so, and is asked again for the others.
pub(crate) const MANY_MAX: usize = 10_000;
/// Jobs of one transaction.
const BATCH: u32 = 500;
/// Jobs of one look when they are only counted, and from when on no other look is begun.
const LOOKED: u32 = 1_000;
const PATIENCE: Duration = Duration::from_millis(20);
/// Jobs that are shown of those that are meant.
const SHOWN: usize = 5;

/// What is done to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToMany {
    Cancel,
    Requeue,
}

impl ToMany {
    pub(crate) fn of(word: &str) -> Result<Self, Problem> {
        match word {
            "cancel" => Ok(Self::Cancel),
            "requeue" => Ok(Self::Requeue),
            other => Err(Problem::invalid(format!("do: {other:?} is not known")).help("one of cancel, requeue")),
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Requeue => "requeue",
        }
    }

    pub(crate) const fn action(self) -> Action {
        match self {
            Self::Cancel => Action::Cancel,
            Self::Requeue => Action::Retry,
        }
    }

    /// Whether a job is one to which it can be done.
    fn takes(self, line: &JobLine) -> bool {
        match (self, line.state) {
            (Self::Cancel, JobState::Ended(_)) => false,
            (Self::Cancel, _) => true,
            // A node is not put back by itself: its graph is.
            (Self::Requeue, JobState::Ended(end)) => end != End::Succeeded && line.node.is_none(),
            (Self::Requeue, _) => false,
        }
    }

    fn changes(self, jobs: &[JobId], actor: &str, reason: &str) -> Vec<Change> {
        let order = |job: &JobId| match self {
            Self::Cancel => core::cancel_job(*job, actor, reason).changes,
            Self::Requeue => core::requeue_job(*job, Requeue::Failed, None, actor, reason).changes,
        };
        jobs.iter().flat_map(order).collect()
    }
}

/// The jobs that are meant.
pub(crate) struct Counted {
    /// How many, as far as they were counted.
    pub(crate) count: usize,
    /// Whether there may be more: [`MANY_MAX`] are enough, and who asks does not wait long.
    pub(crate) may_be_more: bool,
    /// The newest of them.
    pub(crate) first: Vec<JobLine>,
    /// What says up to where they were counted.
    pub(crate) upto: String,
}

/// Counts, and does nothing.
pub(crate) async fn count(ctx: &Ctx, what: ToMany, query: &JobQuery) -> Result<Counted, Problem> {
    ctx.allow(what.action())?;
    let _ = filters(query)?;
    let begun = Instant::now();
    let upto = list::newest(&ctx.app.client).await?.saturating_add(1);
    let mut counted = Counted { count: 0, may_be_more: false, first: Vec::new(), upto: upto.to_string() };
    let mut page = Page { after: Some(upto), limit: LOOKED };
    loop {
        let found = list::jobs(&ctx.app.client, query, page, Patience::Short).await?;
        let meant: Vec<JobLine> = found.lines.into_iter().filter(|line| what.takes(line)).collect();
        counted.count += meant.len();
        counted.first.extend(meant.into_iter().take(SHOWN - counted.first.len()));
        page.after = found.next.and_then(|next| next.parse().ok());
        let is_enough = counted.count >= MANY_MAX || begun.elapsed() > PATIENCE;
        if page.after.is_none() || is_enough {
            counted.may_be_more = page.after.is_some();
            counted.count = counted.count.min(MANY_MAX);
            return Ok(counted);
        }
    }
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct ManyDone {
    /// Jobs that were changed, or asked to stop.
    pub(crate) changed: usize,
    /// The same for people.
    pub(crate) message: String,
}

/// Does it to those that were counted.
pub(crate) async fn carry_out(
    ctx: &Ctx,
    what: ToMany,
    query: &JobQuery,
    (upto, reason): (&str, &str),
) -> Result<ManyDone, Problem> {
    ctx.allow(what.action())?;
    let (filters, reason) = (filters(query)?, checked(reason)?);
    let upto = upto.parse().map_err(|_| Problem::invalid("upto: the jobs were not counted first"))?;
    let (mut after, mut seen, mut changed) = (Some(upto), 0, 0);
    while seen < MANY_MAX {
        let part = jobs_of(ctx, &filters, after).await?;
        let Some(last) = part.last() else { break };
        after = Some(last.key);
        let meant: Vec<JobId> = part.iter().filter(|line| what.takes(line)).map(|line| line.id).collect();
        seen += meant.len();
        changed += apply(ctx, what.changes(&meant, &ctx.user.name, reason), reason).await?;
    }
    let jobs = if changed == 1 { "one job".to_owned() } else { format!("{changed} jobs") };
    let message = match what {
        ToMany::Cancel => format!("{jobs} cancelled or asked to stop"),
        ToMany::Requeue => format!("{jobs} put back"),
    };
    Ok(ManyDone { changed, message })
}

/// One transaction; answers how many changes were made.
async fn apply(ctx: &Ctx, changes: Vec<Change>, reason: &str) -> Result<usize, Problem> {
    if changes.is_empty() {
        return Ok(0);
    }
    let order = Order { actor: ctx.user.name.clone(), reason: reason.to_owned(), changes };
    let applied = ctx.app.client.store().apply(order).await?;
    let is_done = |changed: &&Changed| matches!(changed, Changed::Ended | Changed::Asked | Changed::Requeued);
    Ok(applied.changes.iter().filter(is_done).count())
}

/// The filters, which must say something: all jobs at once are nobody's wish.
fn filters(query: &JobQuery) -> Result<Vec<JobFilter>, Problem> {
    if [&query.state, &query.queue, &query.kind, &query.graph, &query.tag].iter().all(|text| text.is_empty()) {
        return Err(Problem::invalid("the filter says nothing").help("name a state, a queue, a kind, a graph or a tag"));
    }
    query.filters()
}

/// Jobs of filters up to a key, newest first, in parts.
async fn jobs_of(ctx: &Ctx, filters: &[JobFilter], after: Option<i64>) -> Result<Vec<JobLine>, Problem> {
    let mut lines = Vec::new();
    for filter in filters {
        lines.extend(ctx.app.client.inspect().jobs(filter.clone(), Page { after, limit: BATCH }).await?);
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.key));
    lines.truncate(BATCH as usize);
    Ok(lines)
}
