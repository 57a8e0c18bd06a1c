//! Heartbeats: keep what a worker holds, and tell it the news. Never waits for the worker's own turn.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio_postgres::Row;
use towpath_core::store::{Beat, BeatReply, Ending, Intent, WishLine};
use towpath_core::{End, Fence, JobId, RunId, Timestamp, Token};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival, Release};
use crate::rows::{cancel, counters, fence_key, job_key, json, parsed, rules, signed, unsigned, with};
use crate::session::{Commit, Session};
use crate::settle::Plan;
use crate::signal;
use crate::store::{Inner, News};
use crate::told::Told;
use crate::turn::{count_children, lock_nodes};

/// Carries out one heartbeat.
pub(crate) async fn extend(inner: Arc<Inner>, session: Session, beat: Arc<Beat>) -> Result<(BeatReply, News), Fault> {
    if beat.intent == Intent::Leave {
        inner.forget_turns_of(beat.worker);
    }
    session.begin(Commit::Lazy).await?;
    let (worker, now, fresh, wish) = match beat.intent {
        Intent::Stay => renew(&session, &beat).await?,
        Intent::Leave => match session.run(Query::WorkerLeaves, &[&beat.worker.as_uuid()]).await?.first() {
            Some(row) => (row.try_get(0)?, row.try_get(1)?, false, None),
            None => {
                let now = Timestamp::from_micros(session.one(Query::Clock, &[]).await?.try_get(0)?);
                session.commit().await?;
                let lost = beat.holds.clone();
                return Ok((BeatReply { now, lost, cancel: Vec::new(), handed_back: 0, wish: None }, News::default()));
            }
        },
    };
    let mut news = News::default();
    let mut lanes = Vec::new();
    let mut told = Told::default();
    if fresh {
        for row in session.run(Query::Rearm, &[&signed(beat.identity.build)]).await? {
            lanes.push(row.try_get(0)?);
        }
    }
    let held = held(&session.run(Query::HeldBy, &[&worker]).await?, &beat)?;
    let listed: HashSet<Fence> = beat.holds.iter().copied().collect();
    let lost = beat.holds.iter().filter(|fence| held.get(&job_key(fence.key)).is_none_or(|row| row.fence != **fence));
    let lost: Vec<Fence> = lost.copied().collect();
    let unlisted: Vec<i64> = match beat.intent {
        Intent::Leave => held.keys().copied().collect(),
        Intent::Stay => {
            let seen = held.values().filter(|row| row.fence.token.turn <= beat.acknowledged);
            seen.map(|row| row.fence).filter(|fence| !listed.contains(fence)).map(|fence| job_key(fence.key)).collect()
        }
    };
    let back = if unlisted.is_empty() {
        Vec::new()
    } else {
        hand_back(&session, worker, now, &unlisted, &mut lanes, &mut news, &mut told).await?
    };
    if beat.intent == Intent::Leave {
        session.run(Query::WorkerForget, &[&vec![worker]]).await?;
    }
    session.commit().await?;
    let back: HashSet<i64> = back.into_iter().collect();
    let mut asked: Vec<_> = held.into_values().filter(|row| !back.contains(&job_key(row.fence.key))).collect();
    asked.sort_unstable_by_key(|row| (row.fence.token.turn, row.fence.token.index));
    let asked = asked.into_iter().filter_map(|row| Some((row.fence, row.cancel?))).collect();
    lanes.extend(told.ring(&inner, &mut news));
    news.ready(&inner, &session, lanes).await?;
    let now = Timestamp::from_micros(now);
    Ok((BeatReply { now, lost, cancel: asked, handed_back: back.len() as u32, wish }, news))
}

async fn renew(session: &Session, beat: &Beat) -> Result<(i64, i64, bool, Option<WishLine>), Fault> {
    let (identity, host) = (&beat.identity, &beat.identity.host);
    let lease = towpath_core::micros(beat.lease);
    let rows = session
        .run(
            Query::Beat,
            &[
                &beat.worker.as_uuid(),
                &signed(beat.acknowledged),
                &identity.name,
                &host.machine,
                &host.boot,
                &host.pid_namespace,
                &i64::from(host.pid),
                &signed(host.started),
                &signed(identity.build),
                &json(&identity.queues).unwrap_or_default(),
                &json(&identity.kinds).filter(|_| !identity.kinds.is_empty()),
                &lease,
            ],
        )
        .await?;
    let row = rows.first().ok_or(Fault::Again("the worker was registered or forgotten just now"))?;
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, parsed(row.try_get(3)?)))
}

struct HeldRow {
    fence: Fence,
    /// Who asked to stop it, if it is with a handler.
    cancel: Option<towpath_core::Cause>,
}

fn held(rows: &[Row], beat: &Beat) -> Result<HashMap<i64, HeldRow>, Fault> {
    let mut held = HashMap::with_capacity(rows.len());
    for row in rows {
        let index = u16::try_from(row.try_get::<_, i32>(2)?).unwrap_or(u16::MAX);
        let token = Token { worker: beat.worker, turn: unsigned(row.try_get(1)?), index };
        let is_handled = row.try_get::<_, i16>(3)? == with::HANDLER;
        let cause = cancel(row.try_get(4)?, row.try_get(5)?).filter(|_| is_handled);
        let job = row.try_get(0)?;
        held.insert(job, HeldRow { fence: Fence { key: fence_key(job, row.try_get(6)?), token }, cancel: cause });
    }
    Ok(held)
}

/// Puts jobs back unrun. One that was to be cancelled ends so, for nobody would remember. Answers which went back.
async fn hand_back(
    session: &Session,
    worker: i64,
    now: i64,
    jobs: &[i64],
    lanes: &mut Vec<i32>,
    news: &mut News,
    told: &mut Told,
) -> Result<Vec<i64>, Fault> {
    let rows = session.run(Query::HandBackLock, &[&worker, &jobs]).await?;
    let mut plan = Plan::default();
    let mut back: Vec<i64> = Vec::new();
    let mut parents: Vec<RunId> = Vec::new();
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        let job: i64 = row.try_get(0)?;
        all.push(job);
        let asked =
            parsed(row.try_get(3)?).filter(|_| row.try_get::<_, i16>(2).is_ok_and(|decide| decide == with::HANDLER));
        let Some(cause) = asked else {
            back.push(job);
            continue;
        };
        let mut counters = counters(row, 5)?;
        counters.attempt = counters.attempt.saturating_sub(1);
        let rules = rules(row.try_get(9)?);
        let keep = rules.keep(End::Cancelled);
        let ending = Ending::plain(End::Cancelled, Some(cause), keep, counters);
        let ending = Ending { tells: rules.tells(), ..ending };
        parents.extend(ending.tells.as_deref().map(|telling| telling.run.clone()));
        plan.end_job(job, &ending, row.try_get(8)?, row.try_get::<_, Option<i64>>(4)?.is_none(), now);
        news.ended.push(JobId::from(row.try_get::<_, Uuid>(1)?));
    }
    for row in session.run(Query::HandBack, &[&back]).await? {
        match row.try_get::<_, Option<i32>>(0)? {
            Some(lane) => lanes.push(lane),
            None => news.undecided = true,
        }
    }
    signal::lock(session, &parents.iter().map(RunId::as_str).collect::<Vec<_>>()).await?;
    lock_nodes(session, &plan.nodes).await?;
    told.append(plan.write(session, now).await?.told);
    let release = Release::of(&count_children(session, &plan.nodes, false).await?)?;
    news.undecided |= !release.undecided.is_empty();
    lanes.extend(release::to_nobody(session, now, release, Arrival::Now).await?);
    Ok(all)
}
