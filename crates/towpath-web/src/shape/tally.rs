//! What was counted over time, as the API has it.

use serde::Serialize;
use towpath::Timestamp;
use towpath::core::tally::{Spread, Tally};

use super::instant;
use crate::look::tallies::{Series, Tallies};

/// Figures of the last hour, day or week.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    over: &'static str,
    /// How long each point is.
    width_us: u64,
    from: Option<String>,
    items: Vec<OfKind>,
}

/// Of one kind in one queue.
#[derive(Debug, Serialize)]
struct OfKind {
    queue: String,
    kind: String,
    #[serde(flatten)]
    sum: Sum,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    at: Option<String>,
    #[serde(flatten)]
    sum: Sum,
}

#[derive(Debug, Serialize)]
struct Sum {
    succeeded: u64,
    failed: u64,
    wait: Option<Quantiles>,
    run: Option<Quantiles>,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    count: u64,
    p50_us: u64,
    p95_us: u64,
}

impl Quantiles {
    fn of(spread: &Spread) -> Option<Self> {
        let us = |part| spread.quantile(part).map(|found| u64::try_from(found.as_micros()).unwrap_or(u64::MAX));
        Some(Self { count: spread.count(), p50_us: us(0.5)?, p95_us: us(0.95)? })
    }
}

impl Sum {
    fn of(tally: &Tally) -> Self {
        let (wait, run) = (Quantiles::of(&tally.wait), Quantiles::of(&tally.run));
        Self { succeeded: tally.succeeded, failed: tally.failed, wait, run }
    }
}

impl OfKind {
    fn of(series: &Series) -> Self {
        let point = |(at, tally): (&Timestamp, &Tally)| Point { at: instant(*at), sum: Sum::of(tally) };
        Self {
            queue: series.queue.to_string(),
            kind: series.kind.to_string(),
            sum: Sum::of(&series.sum),
            points: series.points.iter().map(point).collect(),
        }
    }
}

impl Figures {
    pub(crate) fn of(tallies: &Tallies) -> Self {
        let width = tallies.over.width().length();
        Self {
            over: tallies.over.word(),
            width_us: u64::try_from(width.as_micros()).unwrap_or(u64::MAX),
            from: instant(tallies.from),
            items: tallies.series.iter().map(OfKind::of).collect(),
        }
    }
}
