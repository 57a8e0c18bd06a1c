//! What an application's own transaction carries: one statement with one text, which any driver can send.
//!
//! Only the lanes are made beforehand, on a connection of the store's: a lane more does no harm, and made in an open
//! transaction it would hold up everybody who enqueues the same kind for the first time.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use towpath_core::store::{Arrival, Delivery, Enqueue, Enqueued, Item, Refusal, Signalled, StoreResult, Wake};
use towpath_core::{Codec, Payload, RunId, StoreError, StoreErrorKind, Timestamp, limits};

use crate::enqueue::{Written, jobs_of};
use crate::error::Fault;
use crate::items::Sent;
use crate::queries::{Query, quoted};
use crate::start::signal_value;
use crate::store::{Inner, News, PostgresStore};

/// A batch for a transaction of an application's.
pub struct EnqueueText {
    inner: Arc<Inner>,
    items: Vec<Item>,
    sent: Sent,
    statement: String,
}

/// Signals for a transaction of an application's.
pub struct SignalText {
    inner: Arc<Inner>,
    arrivals: Vec<Arrival>,
    refused: Vec<Option<Refusal>>,
    argument: String,
    statement: String,
}

impl PostgresStore {
    /// Prepares a batch of jobs, graphs and starts for a transaction of the application's in this database. Run
    /// [`EnqueueText::statement`] in it with [`EnqueueText::argument`] as its only parameter, and hand the text that it gives
    /// to [`EnqueueText::answered`]. Rolled back, nothing of it is there.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] for a batch that is too large, or holds an append; otherwise as any verb.
    pub async fn enqueue_text(&self, batch: Enqueue) -> StoreResult<EnqueueText> {
        let invalid = |problem: String| StoreError::new(StoreErrorKind::Invalid, "enqueue", problem);
        batch.check().map_err(|refusal| invalid(refusal.to_string()))?;
        if batch.items.iter().any(|item| matches!(item, Item::Append(_))) {
            return Err(invalid("an append needs a transaction of the store's: append after the commit".into()));
        }
        let items = Arc::new(batch.items);
        let verb = |session| {
            let (inner, items) = (Arc::clone(&self.inner), Arc::clone(&items));
            async move { inner.lanes.intern(&session, items.iter().flat_map(jobs_of)).await }
        };
        if !self.inner.lanes.knows(items.iter().flat_map(jobs_of)) {
            self.inner.client.work("enqueue", verb).await?;
        }
        let sent = Sent::of(&self.inner, &items).map_err(|fault| fault.into_store("enqueue"))?;
        let statement = format!("select {}.enqueue_items($1::text::jsonb)::text", quoted(&self.inner.schema));
        let items = Arc::unwrap_or_clone(items);
        Ok(EnqueueText { inner: Arc::clone(&self.inner), items, sent, statement })
    }

    /// Prepares signals for a transaction of the application's in this database, as
    /// [`enqueue_text`](Self::enqueue_text) does a batch.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] for a batch that is too large.
    pub fn signal_text(&self, arrivals: Vec<Arrival>) -> StoreResult<SignalText> {
        Arrival::check_batch(&arrivals)?;
        let refused: Vec<_> = arrivals.iter().map(|arrival| arrival.check().err()).collect();
        let sent = arrivals.iter().zip(&refused).filter(|(_, refused)| refused.is_none());
        let sent = sent.map(|(arrival, _)| signal_value(arrival));
        let argument = Value::Array(sent.collect()).to_string();
        let statement = format!("select {}.signal_items($1::text::jsonb)::text", quoted(&self.inner.schema));
        Ok(SignalText { inner: Arc::clone(&self.inner), arrivals, refused, argument, statement })
    }

    /// What answers, in a transaction of the application's, the inputs of the jobs of a kind that have not ended, as that transaction sees
    /// them: the newest 1,000. Its parameter, a text, is the kind; hand the text that it gives to
    /// [`read_enqueued`](Self::read_enqueued). For tests: it goes through all jobs.
    pub fn enqueued_statement(&self) -> &str {
        self.inner.server.queries.text(Query::EnqueuedIn)
    }

    /// Reads what [`enqueued_statement`](Self::enqueued_statement) gives, in the order in which the jobs were enqueued.
    ///
    /// # Errors
    /// The text is not what the statement gives.
    pub fn read_enqueued(text: &str) -> StoreResult<Vec<Payload>> {
        let unreadable = || Fault::corrupt("look", "an answer cannot be read").into_store("look");
        let found: Vec<(i16, String)> = serde_json::from_str(text).map_err(|_| unreadable())?;
        let read = |(codec, hex): &(i16, String)| {
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
            Some(Payload { codec: Codec::from_code(*codec)?, bytes: bytes?.into() })
        };
        found.iter().rev().map(|line| read(line).ok_or_else(unreadable)).collect()
    }
}

impl EnqueueText {
    /// The statement: one parameter, a text; one row of one column, a text.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// Its parameter.
    pub fn argument(&self) -> &str {
        &self.sent.text
    }

    /// What became of the batch, and what wakes workers once the transaction is committed.
    ///
    /// # Errors
    /// The text is not what the statement gives.
    pub fn answered(self, text: &str) -> StoreResult<(Enqueued, Wake)> {
        let Self { inner, items, sent, .. } = self;
        let mut written = Written::default();
        let enqueued = sent.answer(&inner, &items, text, &mut written).map_err(|fault| fault.into_store("enqueue"))?;
        let wake = Wake::new(move || {
            if let Ok(news) = written.tell(&inner) {
                news.ring(&inner);
            }
        });
        Ok((enqueued, wake))
    }
}

#[derive(Deserialize)]
struct Answers {
    now: i64,
    items: Vec<String>,
    lanes: Vec<i32>,
    first: Option<i64>,
}

impl SignalText {
    /// The statement: one parameter, a text; one row of one column, a text.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// Its parameter.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// What became of the signals, and what wakes their runs once the transaction is committed.
    ///
    /// # Errors
    /// The text is not what the statement gives.
    pub fn answered(self, text: &str) -> StoreResult<(Signalled, Wake)> {
        let Self { inner, arrivals, refused, .. } = self;
        let unreadable = || Fault::corrupt("signal", "an answer cannot be read").into_store("signal");
        let answers: Answers = serde_json::from_str(text).map_err(|_| unreadable())?;
        let mut answered = answers.items.into_iter();
        let mut items = Vec::with_capacity(arrivals.len());
        for (arrival, refused) in arrivals.iter().zip(refused) {
            items.push(match refused {
                Some(refusal) => Err(refusal),
                None => match answered.next().as_deref() {
                    Some("full") => Err(Refusal::InboxFull { run: arrival.run.clone(), max: limits::INBOX_MAX }),
                    answer => Ok(answer.and_then(Delivery::from_word).ok_or_else(unreadable)?),
                },
            });
        }
        let runs: Vec<RunId> = arrivals.into_iter().map(|arrival| arrival.run).collect();
        let (lanes, first) = (answers.lanes, answers.first);
        let wake = Wake::new(move || {
            inner.inserted(lanes.iter().copied(), first);
            let queues = lanes.iter().filter_map(|lane| inner.lanes.lane(*lane).ok()).map(|lane| lane.queue);
            News { ready: queues.collect(), signalled: runs.into_iter().collect(), ..News::default() }.ring(&inner);
        });
        Ok((Signalled { now: Timestamp::from_micros(answers.now), items }, wake))
    }
}

impl fmt::Debug for EnqueueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnqueueText").field("statement", &self.statement).finish_non_exhaustive()
    }
}

impl fmt::Debug for SignalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalText").field("statement", &self.statement).finish_non_exhaustive()
    }
}
