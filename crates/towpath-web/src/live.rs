//! News for pages that are open: that something has changed, never what. All pages share one watch over the store, and
//! nobody watches while no page is open.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::watch;
use towpath::Client;

use crate::app::App;

/// How often the store is asked whether anything was written: a change is to be seen within a second.
const LOOK: Duration = Duration::from_millis(500);
/// After so many quiet looks a comment is sent, so that what stands between keeps the line open.
const QUIET_LOOKS: u32 = 40;

/// The one watch over the store.
pub(crate) struct Live {
    client: Client,
    beat: Mutex<Option<watch::Receiver<u64>>>,
}

impl Live {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), beat: Mutex::default() }
    }

    /// Starts listening; starts the watch if nobody was.
    fn listen(&self) -> watch::Receiver<u64> {
        let mut beat = self.beat.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = beat.as_ref().filter(|running| running.has_changed().is_ok()) {
            return running.clone();
        }
        let (sender, receiver) = watch::channel(0);
        tokio::spawn(look(self.client.clone(), sender));
        // What is kept here must not count as a listener of its own: see `look`.
        *beat = Some(receiver.clone());
        receiver
    }
}

/// Tells of changes until only the receiver that is kept for new listeners is left.
async fn look(client: Client, sender: watch::Sender<u64>) {
    let (mut seen, mut alone) = (None, 0_u32);
    loop {
        tokio::time::sleep(LOOK).await;
        alone = if sender.receiver_count() <= 1 { alone + 1 } else { 0 };
        if alone > 2 {
            return;
        }
        // A store that does not answer may have changed: pages find out by asking.
        let now = client.inspect().revision().await.ok();
        // The first look tells too: what was written between the page and it would be told by none.
        if now.is_none() || seen != now {
            seen = now;
            sender.send_modify(|beat| *beat += 1);
        }
    }
}

/// A stream of server-sent events.
pub(crate) async fn live(State(app): State<Arc<App>>) -> Response {
    let told = app.live.listen();
    let hello = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"retry: 1000\n\n: hello\n\n"))]);
    let news = stream::unfold((told, 0_u32), |(mut told, quiet)| async move {
        let text = match tokio::time::timeout(LOOK * QUIET_LOOKS, told.changed()).await {
            Ok(Ok(())) => Bytes::from_static(b"event: changed\ndata:\n\n"),
            Ok(Err(_)) => return None,
            Err(_) => Bytes::from_static(b": quiet\n\n"),
        };
        Some((Ok::<_, Infallible>(text), (told, quiet)))
    });
    let mut response = Response::new(Body::from_stream(futures_util::StreamExt::chain(hello, news)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
