//! A worker's turn: settle, release, claim, and the answer that a repeat of it gets too.

use rusqlite::params;
use towpath_core::store::{Lease, Settled, Turn, TurnReply};
use towpath_core::{Incarnation, StoreErrorKind, Timestamp, limits};

use crate::care::Care;
use crate::error::Fault;
use crate::place::{Holder, Over};
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

/// A worker as its row says.
pub(crate) struct Worker {
    pub(crate) key: i64,
    turn: u64,
    settled: Vec<u8>,
    until: Timestamp,
}

/// Whether a number is the next exchange of a worker or repeats its last one.
#[derive(PartialEq, Eq)]
pub(crate) enum Exchange {
    New,
    Repeat,
}

pub(crate) fn turn(tx: &mut Tx<'_, '_>, turn: &Turn, care: Care) -> Result<TurnReply, Fault> {
    tx.care = care;
    let (worker, exchange) = tx.exchange(turn.worker, turn.number)?;
    let lease = if worker.until > tx.now { Lease::Holds } else { Lease::Over };
    let number = turn.number.cast_signed();
    let mut problems = Vec::new();
    let (settled, given) = match exchange {
        Exchange::New => tx.new_turn(&worker, turn, lease, &mut problems)?,
        Exchange::Repeat => (settled(&worker.settled)?, true),
    };
    let assigned = if given { tx.assigned(worker.key, turn.worker, number)? } else { Vec::new() };
    let next_due = tx.db.one(Query::LaterNext, [], |row| rows::instant_or_none(row, 0))?;
    let next_due = next_due.filter(|due| *due < Timestamp::NEVER);
    Ok(TurnReply { now: tx.now, settled, problems, assigned, next_due, lease })
}

impl Tx<'_, '_> {
    /// The answers, and whether anything was given.
    fn new_turn(
        &mut self,
        worker: &Worker,
        turn: &Turn,
        lease: Lease,
        problems: &mut Vec<String>,
    ) -> Result<(Vec<Settled>, bool), Fault> {
        let mut holder = Holder { worker: worker.key, turn: turn.number.cast_signed(), index: 0 };
        let room = if lease == Lease::Holds { usize::from(limits::DECISIONS_MAX) } else { 0 };
        let claim = turn.claim.as_ref().filter(|_| lease == Lease::Holds);
        if claim.is_some() && self.care == Care::None {
            self.freed.keep();
        }
        let settled = match self.care {
            Care::None => self.settle_all(turn, &mut holder, room)?,
            Care::EachJob => self.settle_each(turn, &mut holder, room, problems)?,
        };
        if let Some(claim) = claim {
            self.ring_others(turn.worker);
            self.claim(claim, &mut holder)?;
        }
        if holder.index > 0 || !settled.is_empty() {
            self.remember(worker.key, turn.number, &settled)?;
        } else {
            self.idle.remember(worker.key, turn.number);
        }
        Ok((settled, holder.index > 0))
    }

    fn settle_all(&mut self, turn: &Turn, holder: &mut Holder, room: usize) -> Result<Vec<Settled>, Fault> {
        let mut ended = Vec::new();
        let mut settled = Vec::with_capacity(turn.settle.len());
        let mut items = Vec::with_capacity(turn.settle.len());
        for item in &turn.settle {
            items.push(self.append_first(holder.worker, turn.worker, item)?);
        }
        for item in &items {
            settled.push(self.settle(holder.worker, turn.worker, item, &mut ended)?);
        }
        self.release_to(&ended, holder, room)?;
        Ok(settled)
    }

    /// Counts jobs that have ended. Of the children that come for a decision the worker is given what there is room for.
    pub(crate) fn release_to(&mut self, ended: &[Over], holder: &mut Holder, room: usize) -> Result<(), Fault> {
        for node in self.release(ended)? {
            if usize::from(holder.index) < room {
                self.decide_by(&node, holder)?;
            } else {
                self.leave_undecided(node.job)?;
            }
        }
        Ok(())
    }

    /// Finds a worker and tells whether this number is new.
    pub(crate) fn exchange(&mut self, incarnation: Incarnation, number: u64) -> Result<(Worker, Exchange), Fault> {
        let worker = self.db.maybe(Query::WorkerTurn, [&incarnation.as_bytes()[..]], |row| {
            let turn: i64 = row.get(1)?;
            let turn = turn.cast_unsigned();
            Ok(Worker { key: row.get(0)?, turn, settled: row.get(2)?, until: rows::instant(row, 3)? })
        })?;
        let Some(mut worker) = worker else {
            let message = format!("the worker {incarnation} is not registered: extend first, what it held is lost");
            return Err(Fault::Refused(StoreErrorKind::UnknownWorker, message));
        };
        let last = self.idle.last(worker.key, worker.turn);
        if last > worker.turn {
            (worker.turn, worker.settled) = (last, Vec::new());
        }
        if number < worker.turn {
            let message = format!("turn {number} comes after turn {} of the worker {incarnation}", worker.turn);
            return Err(Fault::Refused(StoreErrorKind::StaleTurn, message));
        }
        let exchange = if number == worker.turn { Exchange::Repeat } else { Exchange::New };
        Ok((worker, exchange))
    }

    /// Keeps a number and its answers for the repeat.
    pub(crate) fn remember(&mut self, worker: i64, number: u64, settled: &[Settled]) -> Result<(), Fault> {
        let codes: Vec<u8> = settled.iter().map(|answer| answer.code()).collect();
        self.db.run(Query::WorkerRemember, params![worker, number.cast_signed(), codes])?;
        Ok(())
    }
}

fn settled(codes: &[u8]) -> Result<Vec<Settled>, Fault> {
    let known =
        |code: &u8| Settled::from_code(*code).ok_or_else(|| Fault::corrupt(format!("no answer has code {code}")));
    codes.iter().map(known).collect()
}
