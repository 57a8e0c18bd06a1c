//! Moving pages from the log to the file, off the commit path, so that the log stays bounded.
//!
//! A thread of its own makes passive checkpoints when the log has grown. While others keep writing, a
//! passive checkpoint never reaches the end of the log, and a log that is not copied to its end is not
//! begun anew: past a second bound the last few pages are copied while the writer is held.

use std::sync::Weak;
use std::time::Duration;

use rusqlite::Connection;

use crate::combine::{Core, Signal};
use crate::error::Fault;
use crate::open;

/// Pages of the log from which a checkpoint is worth its two fsyncs.
pub(crate) const PAGES_WANTED: u64 = 10_000;
/// Pages of the log from which the writer is held for its last part.
const PAGES_MAX: i64 = 40_000;
/// How long to leave a log alone that could not be copied, such as while a reader holds it.
const PAUSE: Duration = Duration::from_millis(200);

/// An estimate of what a commit adds to the log, in pages: exact numbers would cost a call each.
pub(crate) fn pages(changes: u64) -> u64 {
    4 + changes / 8
}

/// Checkpoints whenever it is asked to, until the store is gone.
pub(crate) fn keep(core: &Weak<Core>, signal: &Signal) {
    let mut own: Option<Connection> = None;
    while signal.wait(None) {
        let Some(core) = core.upgrade() else { return };
        // A failure leaves the log as it is: the next one tries again.
        if checkpoint(&core, &mut own).is_err() {
            own = None;
        }
        drop(core);
        signal.pause(PAUSE);
    }
}

fn checkpoint(core: &Core, own: &mut Option<Connection>) -> Result<(), Fault> {
    let conn = match own {
        Some(conn) => conn,
        None => own.insert(open::checkpointer(core.path())?),
    };
    let (log, copied) = passive(conn)?;
    if copied < log && log > PAGES_MAX {
        core.hold(|| passive(conn))?;
    }
    Ok(())
}

/// How many pages the log has, and how many of them are in the file now.
fn passive(conn: &Connection) -> Result<(i64, i64), Fault> {
    Ok(conn.query_row(sql!("checkpoint"), [], |row| Ok((row.get(1)?, row.get(2)?)))?)
}
