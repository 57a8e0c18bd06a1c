//! Tallies: what was counted is added to what is there, and what is too old goes.

use crate::store::{StoreResult, TallyLine, TallyQuery};
use crate::tally::{Place, Record, check, places};

use super::Transaction;
use super::tables::Tables;

impl Transaction<'_> {
    pub(super) fn record(&mut self, records: &[Record]) -> StoreResult<()> {
        check(records)?;
        for (place, tally) in places(records, self.now) {
            self.tables.tally.entry(place).or_default().merge(&tally);
        }
        let now = self.now;
        self.tables.tally.retain(|place, _| place.at >= place.width.kept_from(now));
        Ok(())
    }
}

impl Tables {
    pub(super) fn tallies(&self, query: &TallyQuery) -> Vec<TallyLine> {
        let is_meant = |place: &Place| {
            place.width == query.width
                && place.at >= query.from
                && query.queue.as_ref().is_none_or(|queue| *queue == place.queue)
                && query.kind.as_ref().is_none_or(|kind| *kind == place.kind)
        };
        let lines = self.tally.iter().filter(|(place, _)| is_meant(place)).map(|(place, tally)| TallyLine {
            at: place.at,
            queue: place.queue.clone(),
            kind: place.kind.clone(),
            tally: tally.clone(),
        });
        lines.take(crate::limits::TALLIES_MAX as usize).collect()
    }
}
