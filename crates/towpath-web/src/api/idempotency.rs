//! `Idempotency-Key`: the same key again is answered as the first time, and nothing is done twice.
//!
//! Answers are kept in this process for a day, the newest of them. Orders to the store are harmless when repeated (a job
//! is cancelled once), and a signal's key is kept by the store itself, so that nothing is done twice where a process has
//! been restarted either; there the second answer says so.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex as Turn;

use crate::options::User;
use crate::problem::{Code, Problem};

const KEPT_MAX: usize = 10_000;
const KEPT_FOR: Duration = Duration::from_secs(24 * 3_600);
const KEY_BYTES_MAX: usize = 200;
/// Answers of orders are short.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Who, for which path, with which key.
type Place = (String, String, String);

/// An answer, or the request that is about to have it.
type Held = Arc<Turn<Option<Answer>>>;

/// A key as one user has given it for one path, and what came with it.
#[derive(Debug)]
pub(crate) struct Key {
    place: Place,
    body: u64,
}

impl Key {
    /// The key of a request, if it has one.
    pub(crate) fn of(headers: &HeaderMap, user: &User, path: &str, body: &Bytes) -> Result<Option<Self>, Problem> {
        let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
        let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= KEY_BYTES_MAX);
        let key = key.ok_or_else(|| {
            Problem::invalid(format!("Idempotency-Key: it is 1 to {KEY_BYTES_MAX} printable characters of ASCII"))
        })?;
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        Ok(Some(Self { place: (user.name.clone(), path.to_owned(), key.to_owned()), body: hasher.finish() }))
    }
}

/// The answers that are kept.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Place, (u64, Held)>,
    order: VecDeque<(Instant, Place)>,
}

#[derive(Clone, Debug)]
struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl Answers {
    /// Does it, or answers as the first time. A second request with the key waits for the first.
    ///
    /// # Cancel safety
    /// Dropped, the order was carried out or was not; the key is then free again.
    pub(crate) async fn once(&self, key: Key, order: impl Future<Output = Response>) -> Response {
        let Some(turn) = self.turn(&key) else {
            let message = "this Idempotency-Key came with another body before";
            return Problem::new(Code::KeyReused, message).help("draw a new key for a new request").into_response();
        };
        let mut answered = turn.lock().await;
        if let Some(answer) = &*answered {
            return answer.response(true);
        }
        let response = order.await;
        let status = response.status();
        let Ok(body) = to_bytes(response.into_body(), BODY_BYTES_MAX).await else {
            return Problem::new(Code::Internal, "an answer was too large to be kept").into_response();
        };
        let answer = Answer { status, body };
        // What the store could not do now is tried again.
        if !status.is_server_error() {
            *answered = Some(answer.clone());
        }
        answer.response(false)
    }

    /// The place of a key; `None` if it came with another body.
    fn turn(&self, key: &Key) -> Option<Held> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        while kept.order.front().is_some_and(|(at, _)| kept.order.len() > KEPT_MAX || at.elapsed() > KEPT_FOR) {
            if let Some((_, place)) = kept.order.pop_front() {
                kept.by_key.remove(&place);
            }
        }
        if let Some((body, turn)) = kept.by_key.get(&key.place) {
            return (*body == key.body).then(|| Arc::clone(turn));
        }
        let turn = Held::default();
        kept.by_key.insert(key.place.clone(), (key.body, Arc::clone(&turn)));
        kept.order.push_back((Instant::now(), key.place.clone()));
        Some(turn)
    }
}

impl Answer {
    fn response(&self, again: bool) -> Response {
        let mut response = (self.status, Body::from(self.body.clone())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if again {
            headers.insert(HeaderName::from_static("idempotency-replayed"), HeaderValue::from_static("true"));
        }
        response
    }
}
