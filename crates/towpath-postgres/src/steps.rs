//! Turns of nothing but runs that write and go on: one statement, and one exchange.
//!
//! It is a hope that nearly always comes true. If a claim does not hold, or a run is to stop, the statement raises, and the
//! turn goes the long way: look, then write.

use futures_util::future::try_join3;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use towpath_core::store::{Lease, Move, Settle, Settled, Turn, TurnReply};
use towpath_core::{Timestamp, fault};

use crate::columns::columns;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{instant, signed, stored};
use crate::session::{Commit, Session};

/// The steps of one turn.
#[derive(Default)]
pub(crate) struct Steps {
    runs: HeldRuns,
    lines: Lines,
}

columns!(HeldRuns of HeldRunRow {
    job: i64,
    turn: i64,
    idx: i32,
    lines: i32,
});

columns!(Lines of LineRow {
    run: i64,
    nth: i32,
    codec: i16,
    bytes: Vec<u8>,
});

/// What the statement raises if it is not as was hoped.
const NOT_HELD: &str = "TP001";

impl Steps {
    /// The steps of a turn, if it has nothing else.
    pub(crate) fn of(turn: &Turn) -> Option<Self> {
        let is_step = |item: &Settle| item.fence.token.worker == turn.worker && is_step(item);
        if turn.claim.is_some() || turn.settle.is_empty() || !turn.settle.iter().all(is_step) {
            return None;
        }
        let mut items: Vec<&Settle> = turn.settle.iter().collect();
        items.sort_unstable_by_key(|item| item.fence.key);
        let mut steps = Self::default();
        for item in items {
            let (job, token) = (item.fence.key, item.fence.token);
            let lines = i32::try_from(item.journal.len()).ok()?;
            steps.runs.push(HeldRunRow { job, turn: signed(token.turn), idx: i32::from(token.index), lines });
            for (line, nth) in item.journal.iter().zip(0_u32..) {
                let (codec, bytes) = (line.codec.code(), line.bytes.to_vec());
                steps.lines.push(LineRow { run: job, nth: stored(nth), codec, bytes });
            }
        }
        Some(steps)
    }

    /// Takes the turn; nothing, and a transaction that is to be rolled back, if it must go the long way.
    pub(crate) async fn take(&self, session: &Session, turn: &Turn) -> Result<Option<TurnReply>, Fault> {
        session.prepare(&[Query::StepHeld]).await?;
        let commit = if turn.is_durable() { Commit::Durable } else { Commit::Lazy };
        let settled = vec![Settled::Done; turn.settle.len()];
        let codes: Vec<u8> = settled.iter().map(|answer| answer.code()).collect();
        let (worker, number) = (turn.worker.as_uuid(), signed(turn.number));
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&worker, &number, &codes];
        params.extend(self.runs.columns().into_iter().chain(self.lines.columns()));
        let taken = try_join3(session.begin(commit), session.run(Query::StepHeld, &params), session.commit()).await;
        let rows = match taken {
            Ok(((), rows, ())) => rows,
            Err(Fault::Database(error)) if is_in_the_way(error.code()) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let Some(row) = rows.first() else { return Err(Fault::corrupt("take a turn", "a turn answered no row")) };
        let (now, until): (i64, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
        Ok(Some(TurnReply {
            now: Timestamp::from_micros(now),
            settled,
            problems: Vec::new(),
            assigned: Vec::new(),
            next_due: instant(row.try_get(3)?),
            lease: if until.is_some_and(|until| until > now) { Lease::Holds } else { Lease::Over },
        }))
    }
}

/// Whether the turn is to look first: the statement has raised, or another has written the same line.
fn is_in_the_way(code: Option<&SqlState>) -> bool {
    code.is_some_and(|code| code.code() == NOT_HELD || *code == SqlState::UNIQUE_VIOLATION)
}

/// Whether a lone run writes lines, goes on, and changes nothing else.
fn is_step(item: &Settle) -> bool {
    matches!(item.then, Move::Stay { counters: None })
        && item.fence.key > 0
        && item.shows.is_empty()
        && item.append.is_none()
        && !fault::is_put_back(fault::Fault::SkipFence)
}
