//! Does a piece of a run, the application's rows and lines of its journal in one commit.

use rusqlite::Connection;
use towpath_core::Fence;
use towpath_core::store::{Counters, Mark, Rows, Transact, Transacted, TxEnd};

use crate::error::Fault;
use crate::tx::Tx;

/// What a run does inside this store's file. It runs on the thread that writes, inside a transaction that is the store's: it
/// must not begin or end one, and everybody who writes waits for it.
pub type SqliteBody = Box<dyn FnOnce(&Connection) -> TxEnd + Send>;

pub(crate) fn transact(tx: &mut Tx<'_, '_>, work: Transact) -> Result<Transacted, Fault> {
    let Transact { fence, mut journal, shows, mark, body } = work;
    let Ok(body) = body.downcast::<SqliteBody>() else { return Ok(Transacted::WrongDatabase) };
    if let Some(name) = mark {
        return of_plain_job(tx, fence, name, *body);
    }
    let Some((job, run, counters)) = tx.held_run(fence)? else { return Ok(Transacted::Stale) };
    let done = carry_out(tx, *body)?;
    journal.push(done.unwrap_or_else(|undone| undone).line);
    tx.append_entries(job, &run, &journal)?;
    tx.show(job, &shows)?;
    if counters.crashes > 0 {
        // A run that writes has outlived its crashes.
        tx.count_running(job, Counters { crashes: 0, ..counters })?;
    }
    Ok(if run.paused { Transacted::Paused } else { Transacted::Done })
}

/// The same of a job without a journal: what it came to is kept as a mark, with its rows.
fn of_plain_job(tx: &mut Tx<'_, '_>, fence: Fence, name: String, body: SqliteBody) -> Result<Transacted, Fault> {
    let job = fence.key;
    if tx.noting(fence)?.is_none() || tx.run_head(job)?.is_some() {
        return Ok(Transacted::Stale);
    }
    if let Ok(TxEnd { line: value, .. }) = carry_out(tx, body)? {
        tx.put_marks(job, &[Mark { name, value }])?;
    }
    Ok(Transacted::Done)
}

/// Lets the application write, and undoes that if it says so.
fn carry_out(tx: &mut Tx<'_, '_>, body: SqliteBody) -> Result<Result<TxEnd, TxEnd>, Fault> {
    tx.part(|tx| {
        let end = body(tx.db.conn);
        if tx.db.conn.is_autocommit() {
            return Err(Fault::corrupt(
                "a transactional step has ended the store's transaction: it must not commit or roll back",
            ));
        }
        Ok(if end.rows == Rows::Keep { Ok(end) } else { Err(end) })
    })
}
