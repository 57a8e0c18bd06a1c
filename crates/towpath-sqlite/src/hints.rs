//! Wake-ups: rung after a commit in this process, and when another process has committed.
//!
//! SQLite has no notification between processes. It has a counter that changes on a connection when any
//! *other* connection commits; the only other writers of this file are other processes' (or other stores).

use towpath_core::store::{Hint, Hints};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::tx::Rings;

/// Rings what a group of verbs has to say.
pub(crate) fn ring(hints: &Hints, rings: Rings) {
    for (queue, by) in rings.queues {
        hints.ring(match by {
            Some(by) => Hint::Released { queue, by },
            None => Hint::Ready(queue),
        });
    }
    for hint in rings.ends {
        hints.ring(hint);
    }
    if rings.cancel {
        hints.ring(Hint::Cancel);
    }
    if rings.anything {
        hints.ring(Hint::Anything);
    }
}

/// Whether others have committed since the last look.
#[derive(Default)]
pub(crate) struct Watch {
    seen: Option<i64>,
}

impl Watch {
    /// Looks, and rings if they have. The first look only remembers.
    pub(crate) fn look(&mut self, db: &mut Db<'_>, hints: &Hints) -> Result<(), Fault> {
        let version: i64 = db.one(Query::DataVersion, [], |row| Ok(row.get(0)?))?;
        if self.seen.replace(version).is_some_and(|seen| seen != version) {
            hints.ring(Hint::Anything);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn has_looked(&self) -> bool {
        self.seen.is_some()
    }
}
