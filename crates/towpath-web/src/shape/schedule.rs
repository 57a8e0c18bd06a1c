//! A schedule as the API has it, and the word for how it stands.

use serde::Serialize;
use towpath::Timestamp;
use towpath::core::schedule::{Activity, CatchUp, Keeper, Minted, Overlap, SkipReason, SkippedTicks, StoredSchedule};

use super::{instant, instant_of};

/// Ticks to come that are told.
pub(crate) const COMING: usize = 3;

/// How a schedule stands, in a word: `paused`; `over`, no tick will come; `ghost`, no worker's code has it any more; `late`,
/// no worker looks at it; or `active`.
pub(crate) fn state(row: &StoredSchedule, now: Timestamp) -> &'static str {
    match row.activity {
        Activity::Paused => "paused",
        Activity::Active if row.next.is_none() => "over",
        Activity::Active if row.is_late(now) => "late",
        Activity::Active if row.is_ghost(now) => "ghost",
        Activity::Active => "active",
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Schedule {
    schedule: String,
    state: &'static str,
    spec: String,
    zone: String,
    catch_up: CatchUp,
    overlap: Overlap,
    grace_us: u64,
    kind: String,
    version: u16,
    queue: String,
    /// Who keeps it: `hand` or `workers`.
    keeper: &'static str,
    declared_at: Option<String>,
    created_at: Option<String>,
    coming: Vec<Coming>,
    minted: Vec<Tick>,
    skipped: Vec<Skipped>,
}

/// A tick to come, and what the clock of the schedule's zone shows then.
#[derive(Debug, Serialize)]
struct Coming {
    at: Option<String>,
    local: Option<String>,
}

/// A tick that was minted.
#[derive(Debug, Serialize)]
struct Tick {
    at: Option<String>,
    job: String,
}

#[derive(Debug, Serialize)]
struct Skipped {
    first: Option<String>,
    last: Option<String>,
    count: u32,
    reason: SkipReason,
}

impl Schedule {
    pub(crate) fn of(row: &StoredSchedule, now: Timestamp) -> Self {
        let zone = &row.rule.zone;
        let (keeper, declared_at) = match row.keeper {
            Keeper::Hand => ("hand", None),
            Keeper::Workers { declared_at } => ("workers", Some(declared_at)),
        };
        let coming = |at: Timestamp| Coming { at: instant(at), local: zone.shows(at) };
        let minted = |minted: &Minted| Tick { at: instant(minted.tick), job: minted.job.to_string() };
        let skipped = |span: &SkippedTicks| Skipped {
            first: instant(span.first),
            last: instant(span.last),
            count: span.count,
            reason: span.reason,
        };
        Self {
            schedule: row.name.to_string(),
            state: state(row, now),
            spec: row.rule.spec.to_string(),
            zone: zone.to_string(),
            catch_up: row.rule.policy.catch_up,
            overlap: row.rule.policy.overlap,
            grace_us: row.rule.policy.grace_us,
            kind: row.job.kind.to_string(),
            version: row.job.version,
            queue: row.job.queue.to_string(),
            keeper,
            declared_at: instant_of(declared_at),
            created_at: instant(row.born),
            coming: row.coming(COMING).into_iter().map(coming).collect(),
            minted: row.minted.iter().map(minted).collect(),
            skipped: row.skipped.iter().map(skipped).collect(),
        }
    }
}
