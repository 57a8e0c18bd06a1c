//! What a turn settles of runs: their journals, and whether there are signals that they have not read.

use std::collections::HashMap;
use std::time::Duration;

use towpath_core::store::{Arrival, CancelNote, Move, Settle, Showing};
use towpath_core::{Payload, RunId, Timestamp};

use crate::columns::columns;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, job_key, stored};
use crate::session::Session;

/// How soon a run is looked at again if somebody was signalling when it was to park.
const AGAIN: Duration = Duration::from_millis(20);

/// The runs of which a turn settles something.
#[derive(Default)]
pub(crate) struct Runs(HashMap<i64, Run>);

/// A run as it was seen, behind the lock on its claim.
pub(crate) struct Run {
    chapter: i32,
    entries: i32,
    /// Whether nobody is signalling it.
    alone: bool,
    arrived: u32,
    paused: bool,
    /// The cancel that a stop of its graph is to it, if nobody has told it yet.
    untold: Option<Arrival>,
}

/// What a turn knows of a run's inbox.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The worker has read all there is, or does not want to know.
    Read,
    /// There is more.
    Unread,
    /// Somebody is signalling, and may or may not commit.
    Unclear,
}

impl Runs {
    /// Tries for the locks of those that are to park or to end, then looks.
    pub(crate) async fn look(session: &Session, settle: &[Settle]) -> Result<Self, Fault> {
        let items: Vec<&Settle> = settle.iter().filter(|item| item.is_of_run()).collect();
        if items.is_empty() {
            return Ok(Self::default());
        }
        let jobs: Vec<i64> = items.iter().map(|item| job_key(item.fence.key)).collect();
        let tries: Vec<bool> = items.iter().map(|item| asks(item)).collect();
        let (seen, arrived) = futures_util::future::try_join(
            session.run(Query::RunLook, &[&jobs, &tries]),
            session.run(Query::RunArrived, &[&jobs, &CancelNote::NAME]),
        )
        .await?;
        let mut runs = HashMap::with_capacity(seen.len());
        for row in seen {
            let alone = row.try_get::<_, Option<bool>>(3)?.unwrap_or(true);
            let (chapter, entries, paused) = (row.try_get(1)?, row.try_get(2)?, row.try_get(4)?);
            runs.insert(row.try_get(0)?, Run { chapter, entries, alone, arrived: 0, paused, untold: None });
        }
        for row in arrived {
            if let Some(run) = runs.get_mut(&row.try_get(0)?) {
                run.arrived = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
                if let Some(actor) = row.try_get::<_, Option<&str>>(3)? {
                    let note = CancelNote { actor: actor.into(), reason: row.try_get::<_, &str>(4)?.into() };
                    run.untold = Some(Arrival::cancel(RunId::from_stored(row.try_get(2)?), &note));
                }
            }
        }
        Ok(Self(runs))
    }

    pub(crate) fn get(&self, job: i64) -> Option<&Run> {
        self.0.get(&job)
    }
}

/// Whether an item asks what has arrived. A park does even if it has read nothing: a signal that comes beside it would
/// not find it parked. So does a hold: one that is resumed or cancelled beside it would not be found held.
fn asks(item: &Settle) -> bool {
    match item.then {
        Move::Park { .. } | Move::Hold { .. } => true,
        Move::End(_) => item.read.is_some(),
        _ => false,
    }
}

impl Run {
    /// A run of which only the journal is of interest.
    pub(crate) fn seen(chapter: i32, entries: i32) -> Self {
        Self { chapter, entries, alone: true, arrived: 0, paused: false, untold: None }
    }

    /// Whether it goes on and is to stop.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// When a run falls due that is held, if it still is to be; `None` for at once.
    pub(crate) fn held_until(&self, now: i64) -> Option<i64> {
        match (self.paused, self.alone) {
            (false, _) => None,
            (true, true) => Some(Timestamp::NEVER.as_micros()),
            // Somebody may be resuming it.
            (true, false) => Some((Timestamp::from_micros(now) + AGAIN).as_micros()),
        }
    }

    pub(crate) fn chapter(&self) -> i32 {
        self.chapter
    }

    /// What it is to be told now that it parks or goes on.
    pub(crate) fn untold(&self, then: &Move) -> Option<&Arrival> {
        self.untold.as_ref().filter(|_| matches!(then, Move::Park { .. } | Move::Stay { .. }))
    }

    pub(crate) fn sight(&self, item: &Settle) -> Sight {
        let read = item.read;
        if self.untold(&item.then).is_some() || read.is_some_and(|read| self.arrived > read) {
            Sight::Unread
        } else if self.alone {
            Sight::Read
        } else {
            Sight::Unclear
        }
    }
}

impl Sight {
    /// When a run falls due that parks; `None` for at once.
    pub(crate) fn due(self, until: Option<Duration>, now: i64) -> Option<i64> {
        let wait = match self {
            Self::Read => until,
            Self::Unread => Some(Duration::ZERO),
            Self::Unclear => Some(until.map_or(AGAIN, |until| until.min(AGAIN))),
        };
        match wait {
            Some(Duration::ZERO) => None,
            Some(wait) => Some((Timestamp::from_micros(now) + wait).as_micros()),
            None => Some(Timestamp::NEVER.as_micros()),
        }
    }
}

columns!(Journal of EntryRow {
    run: i64,
    chapter: i32,
    seq: i32,
    codec: i16,
    bytes: Vec<u8>,
});

impl Journal {
    pub(crate) fn append(&mut self, job: i64, run: &Run, entries: &[Payload]) {
        for (entry, seq) in entries.iter().zip(count(run.entries)..) {
            let (codec, bytes) = (entry.codec.code(), entry.bytes.to_vec());
            self.push(EntryRow { run: job, chapter: run.chapter, seq: stored(seq), codec, bytes });
        }
    }
}

columns!(Shows of ShowRow {
    run: i64,
    name: String,
    is_line: bool,
    codec: i16,
    bytes: Vec<u8>,
});

impl Shows {
    /// What a run shows. Of the values of one name the last counts: a statement writes no row twice.
    pub(crate) fn add(&mut self, run: i64, shows: &[Showing]) {
        for (at, Showing { name, payload, is_line }) in shows.iter().enumerate() {
            if *is_line || shows[at + 1..].iter().all(|later| later.is_line || later.name != *name) {
                let (codec, bytes) = (payload.codec.code(), payload.bytes.to_vec());
                self.push(ShowRow { run, name: name.clone(), is_line: *is_line, codec, bytes });
            }
        }
    }
}
