//! Wake-ups across processes: NOTIFY after the commit, throttled, and a connection that listens.
//!
//! Nothing depends on them. NOTIFY inside a writing transaction would make commits wait for each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::poll_fn;
use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket, tls::NoTlsStream};
use towpath_core::store::Hint;
use towpath_core::{Queue, RunId};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::{Query, quoted};
use crate::session::jittered;
use crate::store::{Inner, News};

/// Between notifications: they serialise commits.
const DEBOUNCE: Duration = Duration::from_millis(5);
const PING: Duration = Duration::from_secs(15);
/// How long a notification to oneself, or the answer to a ping, may take.
const ECHO_MAX: Duration = Duration::from_secs(3);
const RECONNECT_MAX: Duration = Duration::from_secs(10);
/// Until LISTEN is tried again where it did not work: the server may only have been slow.
const DEAF: Duration = Duration::from_secs(300);

/// What stands for a cancel among the names of queues.
const CANCEL: &str = "!cancel";
/// What stands before the id of a run that was signalled.
const SIGNALLED: &str = "!run ";
/// What stands for undecided nodes.
const UNDECIDED: &str = "!undecided";

/// The two ends of the channel in this process.
pub(crate) struct Channel {
    name: String,
    /// Tells our own notifications from others': in this process hints are rung directly.
    tag: String,
    pending: Mutex<BTreeSet<String>>,
    is_sending: AtomicBool,
    is_listening: AtomicBool,
}

impl Channel {
    pub(crate) fn new(schema: &str, tag: Uuid) -> Self {
        let name: String = format!("towpath_{schema}");
        let end = (0..=name.len().min(63)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
        Self {
            name: name[..end].to_owned(),
            tag: tag.simple().to_string(),
            pending: Mutex::new(BTreeSet::new()),
            is_sending: AtomicBool::new(false),
            is_listening: AtomicBool::new(false),
        }
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells other processes, soon.
pub(crate) fn notify(inner: &Arc<Inner>, news: &News) {
    let names = news.ready.iter().map(|queue| queue.as_str().to_owned());
    let names = names.chain(news.signalled.iter().map(|run| format!("{SIGNALLED}{run}")));
    let names = names.chain(news.cancel.then(|| CANCEL.to_owned()));
    let names = names.chain(news.undecided.then(|| UNDECIDED.to_owned()));
    let mut pending = inner.channel.pending.lock().unwrap_or_else(PoisonError::into_inner);
    pending.extend(names.map(|name| format!("{} {name}", inner.channel.tag)));
    if pending.is_empty() || inner.channel.is_sending.swap(true, Ordering::Relaxed) {
        return;
    }
    drop(pending);
    // A wake-up after an application's commit may come from anywhere.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        inner.channel.is_sending.store(false, Ordering::Relaxed);
        return;
    };
    runtime.spawn(send(Arc::downgrade(inner)));
}

/// Sends what is pending, then what has come meanwhile, until nothing has.
async fn send(inner: Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        let payloads = {
            let mut pending = inner.channel.pending.lock().unwrap_or_else(PoisonError::into_inner);
            if pending.is_empty() {
                inner.channel.is_sending.store(false, Ordering::Relaxed);
                return;
            }
            std::mem::take(&mut *pending).into_iter().collect::<Vec<_>>()
        };
        let sent = inner.client.work("notify", |session| {
            let (inner, payloads) = (Arc::clone(&inner), payloads.clone());
            async move { session.run(Query::Notify, &[&inner.channel.name, &payloads]).await }
        });
        if let Err(error) = sent.await {
            tracing::debug!(%error, "others were not told: they poll");
        }
        drop(inner);
        tokio::time::sleep(DEBOUNCE).await;
    }
}

/// Starts to listen, unless somebody does.
pub(crate) fn listen(inner: &Arc<Inner>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if !inner.channel.is_listening.swap(true, Ordering::Relaxed) {
        inner.channel.take();
        runtime.spawn(keep_listening(Arc::downgrade(inner)));
    }
}

/// Why a connection is no longer listened to.
enum Ended {
    /// Nobody hears hints any more, or the store is gone.
    Unheard,
    /// A notification to oneself does not arrive, as behind a transaction pooler.
    Deaf,
    Lost,
}

async fn keep_listening(inner: Weak<Inner>) {
    let mut pause = Duration::from_millis(100);
    let (mut is_first, mut is_said) = (true, false);
    loop {
        let Some(strong) = inner.upgrade() else { return };
        if !is_first {
            strong.hints.ring(Hint::Anything);
        }
        let started = tokio::time::Instant::now();
        match listen_once(&strong).await.unwrap_or(Ended::Lost) {
            Ended::Unheard => {
                strong.channel.is_listening.store(false, Ordering::Relaxed);
                return;
            }
            Ended::Deaf => {
                if !std::mem::replace(&mut is_said, true) {
                    tracing::info!("LISTEN does not work here (a transaction pooler?): new work is found by polling");
                }
                strong.hints.set_deaf(true);
                drop(strong);
                tokio::time::sleep(jittered(DEAF)).await;
                is_first = false;
                continue;
            }
            Ended::Lost => {}
        }
        drop(strong);
        pause = if started.elapsed() > PING { Duration::from_millis(100) } else { (pause * 2).min(RECONNECT_MAX) };
        tokio::time::sleep(jittered(pause)).await;
        is_first = false;
    }
}

async fn listen_once(inner: &Arc<Inner>) -> Result<Ended, Fault> {
    let (client, connection) = inner.server.config.connect(NoTls).await?;
    let echo = Arc::new(Notify::new());
    let reader = tokio::spawn(read(Arc::downgrade(inner), connection, Arc::clone(&echo)));
    let ended = attend(inner, &client, &echo).await;
    reader.abort();
    ended
}

async fn attend(inner: &Arc<Inner>, client: &Client, echo: &Notify) -> Result<Ended, Fault> {
    let Channel { name, tag, .. } = &inner.channel;
    client.batch_execute(&format!("listen {}", quoted(name))).await?;
    // From another connection: one to oneself arrives behind a transaction pooler too, and none after it.
    let payloads = Arc::new(vec![format!("{tag} ")]);
    let sent = inner.client.work("notify", |session| {
        let (inner, payloads) = (Arc::clone(inner), Arc::clone(&payloads));
        async move { session.run(Query::Notify, &[&inner.channel.name, &*payloads]).await }
    });
    if sent.await.is_err() {
        return Ok(Ended::Lost);
    }
    if tokio::time::timeout(ECHO_MAX, echo.notified()).await.is_err() {
        // A connection that was cut meanwhile hears nothing either.
        return Ok(if client.is_closed() { Ended::Lost } else { Ended::Deaf });
    }
    inner.hints.set_deaf(false);
    loop {
        for _ in 0..PING.as_secs() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if !inner.hints.is_heard() || Arc::strong_count(inner) == 1 {
                return Ok(Ended::Unheard);
            }
            if client.is_closed() {
                return Ok(Ended::Lost);
            }
        }
        if !matches!(tokio::time::timeout(ECHO_MAX, client.batch_execute("")).await, Ok(Ok(()))) {
            return Ok(Ended::Lost);
        }
    }
}

async fn read(inner: Weak<Inner>, mut connection: Connection<Socket, NoTlsStream>, echo: Arc<Notify>) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        let AsyncMessage::Notification(note) = message else { continue };
        let Some(inner) = inner.upgrade() else { return };
        match note.payload().split_once(' ') {
            Some((tag, _)) if tag == inner.channel.tag => echo.notify_one(),
            Some((_, CANCEL)) => inner.hints.ring(Hint::Cancel),
            Some((_, text)) if text.starts_with(SIGNALLED) => {
                inner.hints.ring(Hint::Signalled(RunId::from_stored(&text[SIGNALLED.len()..])));
            }
            Some((_, queue)) if Queue::new(queue).is_ok() => inner.hints.ring(Hint::Ready(Queue::from_stored(queue))),
            _ => inner.hints.ring(Hint::Anything),
        }
    }
}
