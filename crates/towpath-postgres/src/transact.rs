//! Does a piece of a run, the application's rows and lines of its journal in one commit.

use std::sync::{Mutex, PoisonError};

use tokio_postgres::Client;
use towpath_core::store::{BoxFuture, Counters, Rows, Showing, Transact, Transacted, TxEnd};
use towpath_core::{Fence, Payload};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, job_key, signed};
use crate::runs::{Journal, Run, Shows};
use crate::session::Session;
use crate::settle::Stays;

/// What a run does inside this store's database, on a connection that is inside a transaction of the store's: it must not
/// begin or end one.
pub type PostgresBody = Box<dyn for<'c> FnOnce(&'c Client) -> BoxFuture<'c, TxEnd> + Send>;

/// A piece that is carried out once, whatever becomes of the connection.
pub(crate) struct Piece {
    fence: Fence,
    journal: Vec<Payload>,
    shows: Vec<Showing>,
    /// Of a plain job.
    mark: Option<String>,
    body: Mutex<Option<PostgresBody>>,
}

impl Piece {
    /// `None` if it is made for another database.
    pub(crate) fn new(work: Transact) -> Option<Self> {
        let Transact { fence, journal, shows, mark, body } = work;
        let body = body.downcast::<PostgresBody>().ok()?;
        Some(Self { fence, journal, shows, mark, body: Mutex::new(Some(*body)) })
    }
}

pub(crate) async fn transact(session: &Session, piece: &Piece) -> Result<Transacted, Fault> {
    let body = piece.body.lock().unwrap_or_else(PoisonError::into_inner).take();
    // What it did the first time is known to the journal alone: the run is looked at anew.
    let Some(body) = body else { return Ok(Transacted::Stale) };
    session.batch("begin isolation level read committed").await?;
    if let Some(name) = &piece.mark {
        return of_plain_job(session, piece.fence, name, body).await;
    }
    let token = piece.fence.token;
    let (job, worker) = (job_key(piece.fence.key), token.worker.as_uuid());
    let (turn, index) = (signed(token.turn), i32::from(token.index));
    let held = session.run(Query::TransactHold, &[&job, &worker, &turn, &index]).await?;
    let Some(row) = held.first() else {
        session.batch("rollback").await?;
        return Ok(Transacted::Stale);
    };
    let run = Run::seen(row.try_get(0)?, row.try_get(1)?);
    let now: i64 = row.try_get(2)?;
    let counters = rows::counters(row, 3)?;
    let is_paused: bool = row.try_get(6)?;
    let end = carry_out(session, body).await?;
    let mut lines = piece.journal.clone();
    lines.push(end.line);
    let mut journal = Journal::default();
    journal.append(job, &run, &lines);
    journal.run(session, Query::SettleJournal, &[&now]).await?;
    let mut shows = Shows::default();
    shows.add(job, &piece.shows);
    shows.run(session, Query::SettleShow, &[&now]).await?;
    if counters.crashes > 0 {
        // A run that writes has outlived its crashes.
        let mut stays = Stays::default();
        stays.add(job, Counters { crashes: 0, ..counters });
        stays.run(session, Query::SettleStay, &[]).await?;
    }
    session.commit().await?;
    Ok(if is_paused { Transacted::Paused } else { Transacted::Done })
}

/// The same of a job without a journal: what it came to is kept as a mark, with its rows.
async fn of_plain_job(session: &Session, fence: Fence, name: &str, body: PostgresBody) -> Result<Transacted, Fault> {
    let (job, token) = (job_key(fence.key), fence.token);
    let (worker, turn, index) = (vec![token.worker.as_uuid()], vec![signed(token.turn)], vec![i32::from(token.index)]);
    let held = session.run(Query::NoteHold, &[&vec![job], &worker, &turn, &index]).await?;
    let is_run = !session.run(Query::RunLook, &[&vec![job], &vec![false]]).await?.is_empty();
    if held.is_empty() || is_run {
        session.batch("rollback").await?;
        return Ok(Transacted::Stale);
    }
    let now: i64 = session.one(Query::Clock, &[]).await?.try_get(0)?;
    let end = carry_out(session, body).await?;
    if end.rows == Rows::Keep {
        let (codec, bytes) = (vec![end.line.codec.code()], vec![&end.line.bytes[..]]);
        session.run(Query::MarkPut, &[&now, &vec![job], &vec![name], &codec, &bytes]).await?;
    }
    session.commit().await?;
    Ok(Transacted::Done)
}

/// Lets the application write, and undoes that if it says so.
async fn carry_out(session: &Session, body: PostgresBody) -> Result<TxEnd, Fault> {
    session.batch("savepoint body").await?;
    let end = body(session.client()).await;
    session.batch(if end.rows == Rows::Keep { "release savepoint body" } else { "rollback to savepoint body" }).await?;
    Ok(end)
}
