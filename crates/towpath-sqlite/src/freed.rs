//! Nodes that a turn has freed and that its claim may take: one that is given at once is never written where it would wait.

use std::collections::VecDeque;

use towpath_core::store::Counters;

use crate::claim::Ready;
use crate::error::Fault;
use crate::rows::Place;
use crate::tx::Tx;

/// What was freed, in the order of arrival.
#[derive(Default)]
pub(crate) struct Freed {
    /// Whether the verb will place what is freed; else it is placed at once.
    is_kept: bool,
    jobs: Vec<(Place, Ready)>,
}

impl Freed {
    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Takes what may be claimed from a lane, by turnout and seq.
    pub(crate) fn take_of(&mut self, lane: i64) -> VecDeque<Ready> {
        let mut taken: VecDeque<Ready> =
            self.jobs.extract_if(.., |(place, _)| place.lane == lane).map(|(_, ready)| ready).collect();
        taken.make_contiguous().sort_by_key(Ready::order);
        taken
    }

    /// Gives back what was not claimed.
    pub(crate) fn put_back(&mut self, lane: i64, rest: impl IntoIterator<Item = Ready>) {
        self.jobs.extend(rest.into_iter().map(|ready| (Place { lane, turnout: ready.turnout }, ready)));
    }
}

impl Tx<'_, '_> {
    /// Makes a node ready of a graph that nothing stops, behind all of its priority: in the table, or kept for the claim.
    pub(crate) fn free(&mut self, job: i64, place: Place, counters: Counters) -> Result<(), Fault> {
        if !self.freed.is_kept {
            return self.make_ready(job, place, counters);
        }
        let seq = self.draw()?;
        let ready = Ready { turnout: place.turnout, seq, job, counters, stopped: false };
        self.freed.jobs.push((place, ready));
        Ok(())
    }

    /// Puts into the table what was kept.
    pub(crate) fn place_freed(&mut self) -> Result<(), Fault> {
        self.freed.is_kept = false;
        for (place, Ready { seq, job, counters, .. }) in std::mem::take(&mut self.freed.jobs) {
            self.insert_ready(job, place, seq, counters)?;
        }
        Ok(())
    }
}
