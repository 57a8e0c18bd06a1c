//! Gives what dead workers held to the worker that asks.

use rusqlite::params;
use towpath_core::store::{Rescue, RescueReply};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::turn::Exchange;
use crate::tx::Tx;

pub(crate) fn rescue(tx: &mut Tx<'_, '_>, ask: &Rescue) -> Result<RescueReply, Fault> {
    let (worker, exchange) = tx.exchange(ask.worker, ask.number)?;
    if exchange == Exchange::New {
        tx.take_over(worker.key, ask)?;
        // Written even if nothing was taken: it costs no fsync, and a worker asks every few seconds only.
        tx.remember(worker.key, ask.number, &[])?;
    }
    let rescued = tx.rescued(worker.key, ask.worker, ask.number.cast_signed())?;
    Ok(RescueReply { now: tx.now, rescued })
}

impl Tx<'_, '_> {
    fn take_over(&mut self, asker: i64, ask: &Rescue) -> Result<(), Fault> {
        let mut index: u16 = 0;
        for victim in self.victims(asker, ask)? {
            let room = ask.limit - index;
            // One more than there is room for tells whether the victim has rows left.
            let held: Vec<i64> =
                self.db.all(Query::RunningOf, params![victim, i64::from(room) + 1], |row| Ok(row.get(0)?))?;
            for job in held.iter().take(usize::from(room)) {
                let claim = params![job, asker, ask.number.cast_signed(), index];
                self.db.run(Query::RunningTakeOver, claim)?;
                index += 1;
            }
            if held.len() <= usize::from(room) {
                self.forget(victim)?;
            }
        }
        Ok(())
    }

    fn victims(&mut self, asker: i64, ask: &Rescue) -> Result<Vec<i64>, Fault> {
        let now = self.now;
        let all = self.db.all(Query::WorkerLeases, [], |row| {
            let is_over = rows::instant(row, 2)? <= now;
            let is_gone = ask.gone.contains(&rows::incarnation(row, 1)?);
            Ok((row.get::<_, i64>(0)?, is_over || is_gone))
        })?;
        Ok(all
            .into_iter()
            .filter(|(worker, is_victim)| *is_victim && *worker != asker)
            .map(|(worker, _)| worker)
            .collect())
    }
}
