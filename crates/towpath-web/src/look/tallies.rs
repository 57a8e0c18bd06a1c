//! What was counted over the last hour, day or week, by queue and kind.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use towpath::core::store::TallyQuery;
use towpath::core::tally::{Tally, Width};
use towpath::{Client, Kind, Queue, Timestamp};

use super::in_field;
use crate::problem::Problem;

/// Over how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Hour,
    Day,
    Week,
}

impl Over {
    pub(crate) const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    pub(crate) const fn width(self) -> Width {
        match self {
            Self::Hour => Width::Minute,
            Self::Day | Self::Week => Width::Quarter,
        }
    }

    /// How many minutes or quarters of an hour.
    pub(crate) const fn points(self) -> u32 {
        match self {
            Self::Hour => 60,
            Self::Day => 96,
            Self::Week => 672,
        }
    }
}

/// Which tallies.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TalliesQuery {
    pub(crate) over: String,
    pub(crate) queue: String,
    pub(crate) kind: String,
}

impl TalliesQuery {
    pub(crate) fn over(&self) -> Result<Over, Problem> {
        let word = if self.over.is_empty() { "hour" } else { &self.over };
        let known = Over::ALL.into_iter().find(|over| over.word() == word);
        known.ok_or_else(|| Problem::invalid(format!("over: {word:?} is not known")).help("one of hour, day, week"))
    }
}

/// What was counted of one kind in one queue.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) queue: Queue,
    pub(crate) kind: Kind,
    pub(crate) sum: Tally,
    /// By when each minute or quarter starts; what nothing was counted in is not there.
    pub(crate) points: BTreeMap<Timestamp, Tally>,
}

/// What was counted, and from when on.
#[derive(Clone, Debug)]
pub(crate) struct Tallies {
    pub(crate) over: Over,
    pub(crate) from: Timestamp,
    /// By queue, then by kind.
    pub(crate) series: Vec<Series>,
}

impl Tallies {
    pub(crate) async fn look(client: &Client, query: &TalliesQuery) -> Result<Self, Problem> {
        let over = query.over()?;
        let queue =
            (!query.queue.is_empty()).then(|| Queue::new(&query.queue)).transpose().map_err(in_field("queue"))?;
        let kind = (!query.kind.is_empty()).then(|| Kind::new(&query.kind)).transpose().map_err(in_field("kind"))?;
        let now = client.store().schedules(None, 1).await?.now;
        let width = over.width();
        let before: Duration = width.length() * (over.points() - 1);
        let from = width.start(Timestamp::from_micros(now.as_micros() - before.as_micros() as i64));
        let lines = client.inspect().tallies(TallyQuery { width, from, queue, kind }).await?;
        let mut series: BTreeMap<(Queue, Kind), Series> = BTreeMap::new();
        for line in lines {
            let key = (line.queue.clone(), line.kind.clone());
            let new = || Series { queue: line.queue, kind: line.kind, sum: Tally::default(), points: BTreeMap::new() };
            let of = series.entry(key).or_insert_with(new);
            of.sum.merge(&line.tally);
            of.points.entry(line.at).or_default().merge(&line.tally);
        }
        Ok(Self { over, from, series: series.into_values().collect() })
    }

    /// All of it together, a tally for each minute or quarter, those in which nothing was counted too.
    pub(crate) fn together(&self) -> Vec<(Timestamp, Tally)> {
        let at = |point: u32| self.from + self.over.width().length() * point;
        let mut all: Vec<_> = (0..self.over.points()).map(|point| (at(point), Tally::default())).collect();
        for (at, tally) in self.series.iter().flat_map(|series| &series.points) {
            if let Ok(found) = all.binary_search_by_key(at, |(at, _)| *at) {
                all[found].1.merge(tally);
            }
        }
        all
    }
}
