//! Puts signals into the inboxes of runs, and wakes those that are parked.
//!
//! Who signals shares the advisory lock of the run's id until the transaction ends; who parks or ends a run tries for it
//! alone, and takes a refusal for a signal under way.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio_postgres::Row;
use towpath_core::store::{Arrival, Delivery, Refusal, Signalled};
use towpath_core::{Timestamp, defaults, limits};

use crate::columns::columns;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::stored;
use crate::session::{Commit, Session};
use crate::store::{Inner, News};

/// Carries out one transaction of signals: look, write.
pub(crate) async fn signal(
    inner: Arc<Inner>,
    session: Session,
    arrivals: Arc<Vec<Arrival>>,
) -> Result<(Signalled, News), Fault> {
    session.prepare(&[Query::SignalLock, Query::DrawKeys, Query::SignalLook]).await?;
    session.prepare(&[Query::SignalDeliver, Query::SignalWake]).await?;
    let ((), looked) =
        futures_util::future::try_join(session.begin(Commit::Durable), look(&session, &arrivals)).await?;
    let plan = Plan::of(&arrivals, &looked)?;
    let written = plan.write(&session, looked.now);
    let (Written { seqs, woken }, ()) = futures_util::future::try_join(written, session.commit()).await?;
    let mut news = News::default();
    for (lane, seq) in &woken {
        inner.inserted(std::iter::once(*lane), Some(*seq));
    }
    news.signalled = arrivals.iter().map(|arrival| arrival.run.clone()).collect();
    news.ready(&inner, &session, woken.into_iter().map(|(lane, _)| lane).collect()).await?;
    Ok((Signalled { now: Timestamp::from_micros(looked.now), items: plan.answers(&seqs) }, news))
}

/// Shares the locks of runs.
pub(crate) async fn lock(session: &Session, runs: &[&str]) -> Result<(), Fault> {
    if !runs.is_empty() {
        session.run(Query::SignalLock, &[&runs]).await?;
    }
    Ok(())
}

/// What is there, behind the locks.
pub(crate) struct Looked {
    pub(crate) now: i64,
    seqs: Vec<i64>,
    inboxes: Vec<Row>,
}

/// Shares the locks, then looks.
pub(crate) async fn look(session: &Session, arrivals: &[Arrival]) -> Result<Looked, Fault> {
    let mut runs: Vec<&str> = arrivals.iter().map(|arrival| arrival.run.as_str()).collect();
    runs.sort_unstable();
    runs.dedup();
    // A key with a NUL is refused by its check, and PostgreSQL would not take it.
    let keys = arrivals.iter().filter_map(|arrival| arrival.dedup.as_deref());
    let keys: Vec<&str> = keys.filter(|key| !key.contains('\0')).collect();
    let most = stored(u32::try_from(arrivals.len()).unwrap_or(u32::MAX));
    let (_, drawn, inboxes) = futures_util::future::try_join3(
        session.run(Query::SignalLock, &[&runs]),
        session.one(Query::DrawKeys, &[&most]),
        session.run(Query::SignalLook, &[&runs, &keys]),
    )
    .await?;
    Ok(Looked { now: drawn.try_get(0)?, seqs: drawn.try_get(1)?, inboxes })
}

/// What is to be written, and what is answered.
#[derive(Default)]
pub(crate) struct Plan<'a> {
    items: Vec<Item>,
    runs: Vec<&'a str>,
    arrivals: Arrivals<'a>,
}

columns!(Arrivals of ArrivalRow<'a> {
    seq: i64,
    run: &'a str,
    name: &'a str,
    dedup: Option<&'a str>,
    codec: i16,
    bytes: &'a [u8],
});

/// What is known of a run and of what it was sent.
#[derive(Default)]
struct Inbox {
    arrived: u32,
    dedups: HashSet<String>,
    is_there: bool,
    has_ended: bool,
}

enum Item {
    /// Written with this number, unless another has written its dedup key meanwhile; then what is answered.
    Sent(i64, Delivery),
    Answered(Result<Delivery, Refusal>),
}

/// What was written: the numbers of the signals, and the lane and seq of each run that was woken.
#[derive(Default)]
pub(crate) struct Written {
    seqs: HashSet<i64>,
    woken: Vec<(i32, i64)>,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(arrivals: &'a [Arrival], looked: &Looked) -> Result<Self, Fault> {
        let mut inboxes: HashMap<String, Inbox> = HashMap::with_capacity(looked.inboxes.len());
        for row in &looked.inboxes {
            let arrived = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
            let dedups = row.try_get::<_, Vec<String>>(2)?.into_iter().collect();
            let inbox = Inbox { arrived, dedups, is_there: row.try_get(3)?, has_ended: row.try_get(4)? };
            inboxes.insert(row.try_get(0)?, inbox);
        }
        let mut plan = Self::default();
        for (arrival, seq) in arrivals.iter().zip(&looked.seqs) {
            let inbox = inboxes.entry(arrival.run.to_string()).or_default();
            let is_same = arrival.dedup.as_ref().is_some_and(|key| inbox.dedups.contains(key));
            let item = match arrival.check() {
                Err(refusal) => Item::Answered(Err(refusal)),
                Ok(()) if is_same => Item::Answered(Ok(Delivery::Duplicate)),
                Ok(()) if inbox.has_ended => Item::Answered(Ok(Delivery::Ended)),
                Ok(()) if inbox.arrived >= limits::INBOX_MAX => {
                    Item::Answered(Err(Refusal::InboxFull { run: arrival.run.clone(), max: limits::INBOX_MAX }))
                }
                Ok(()) => {
                    inbox.arrived += 1;
                    inbox.dedups.extend(arrival.dedup.clone());
                    plan.push(arrival, *seq);
                    Item::Sent(*seq, if inbox.is_there { Delivery::Delivered } else { Delivery::Kept })
                }
            };
            plan.items.push(item);
        }
        Ok(plan)
    }

    fn push(&mut self, arrival: &'a Arrival, seq: i64) {
        let run = arrival.run.as_str();
        self.runs.push(run);
        self.arrivals.push(ArrivalRow {
            seq,
            run,
            name: arrival.name.as_str(),
            dedup: arrival.dedup.as_deref(),
            codec: arrival.payload.codec.code(),
            bytes: &arrival.payload.bytes,
        });
    }

    pub(crate) async fn write(&self, session: &Session, now: i64) -> Result<Written, Fault> {
        if self.runs.is_empty() {
            return Ok(Written::default());
        }
        let prune_at = (Timestamp::from_micros(now) + defaults::KEEP_ARRIVAL).as_micros();
        let (seqs, woken) = futures_util::future::try_join(
            self.arrivals.run(session, Query::SignalDeliver, &[&now, &prune_at]),
            session.run(Query::SignalWake, &[&self.runs]),
        )
        .await?;
        let seqs = seqs.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let place = |row: &Row| Ok::<_, Fault>((row.try_get(0)?, row.try_get(1)?));
        Ok(Written { seqs, woken: woken.iter().map(place).collect::<Result<_, _>>()? })
    }

    /// Writes arrivals whose dedup keys may be there, and wakes the runs of those that were not; answers what was woken.
    pub(crate) async fn tell(&self, session: &Session, now: i64) -> Result<Vec<(i32, i64)>, Fault> {
        let prune_at = (Timestamp::from_micros(now) + defaults::KEEP_ARRIVAL).as_micros();
        let written = self.arrivals.run(session, Query::SignalDeliver, &[&now, &prune_at]).await?;
        let written: HashSet<i64> = written.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let is_new = |item: &&Item| matches!(item, Item::Sent(seq, _) if written.contains(seq));
        let sent = self.items.iter().zip(&self.runs).filter(|(item, _)| is_new(item));
        let runs: Vec<&str> = sent.map(|(_, run)| *run).collect();
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let woken = session.run(Query::SignalWake, &[&runs]).await?;
        woken.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Adds an arrival that nobody is answered for.
    pub(crate) fn add(&mut self, arrival: &'a Arrival, seq: i64) {
        self.push(arrival, seq);
        self.items.push(Item::Sent(seq, Delivery::Delivered));
    }

    fn answers(self, written: &HashSet<i64>) -> Vec<Result<Delivery, Refusal>> {
        let answer = |item| match item {
            Item::Answered(answer) => answer,
            Item::Sent(seq, sent) if written.contains(&seq) => Ok(sent),
            Item::Sent(..) => Ok(Delivery::Duplicate),
        };
        self.items.into_iter().map(answer).collect()
    }
}
