//! Gives what dead workers held to the worker that asks.

use std::collections::HashMap;
use std::sync::Arc;

use towpath_core::Timestamp;
use towpath_core::store::{Rescue, RescueReply};
use uuid::Uuid;

use crate::claim;
use crate::error::Fault;
use crate::queries::Query;
use crate::release::Holder;
use crate::rows::{Holding, signed};
use crate::session::{Commit, Session};
use crate::store::{Inner, News};
use crate::turn::Opened;

/// Carries out one rescue.
pub(crate) async fn rescue(
    inner: Arc<Inner>,
    session: Session,
    ask: Arc<Rescue>,
) -> Result<(RescueReply, News), Fault> {
    session.begin(Commit::Lazy).await?;
    let started = session.run(Query::TurnStart, &[&ask.worker.as_uuid()]).await?;
    let opened = Opened::of(&started, ask.worker.as_uuid(), ask.number, "rescue")?;
    let turn = signed(ask.number);
    if !opened.is_repeat {
        let gone: Vec<Uuid> = ask.gone.iter().map(|worker| worker.as_uuid()).collect();
        let rows = session.run(Query::RescueVictims, &[&opened.now, &opened.worker, &gone]).await?;
        let victims: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        if !victims.is_empty() {
            session.run(Query::RescueTake, &[&opened.worker, &turn, &victims, &i32::from(ask.limit)]).await?;
            session.run(Query::WorkerForget, &[&victims]).await?;
        }
        let none: &[u8] = &[];
        session.run(Query::TurnFinish, &[&opened.worker, &turn, &none]).await?;
    }
    let mut holding = Holding { lanes: &inner.lanes, worker: ask.worker, turn: ask.number, ends: HashMap::new() };
    let holder = Holder { worker: opened.worker, turn, index: i32::from(u16::MAX) + 1 };
    let rows = claim::held(&inner, &session, &mut holding, &holder).await?;
    session.commit().await?;
    let rescued = rows.iter().map(|row| holding.rescued(row)).collect::<Result<_, _>>()?;
    Ok((RescueReply { now: Timestamp::from_micros(opened.now), rescued }, News::default()))
}
