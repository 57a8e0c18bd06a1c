//! A call of a flow: one request to a server, and what its answer means.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use towpath::core::builtin::Scope;
use towpath::core::limits;
use towpath::{Context, Failure, Job};
use ureq::http::{HeaderName, HeaderValue, Request, Response};
use ureq::{Agent, Body};

use super::redact::Redactor;
use super::redirect::{self, Next};
use super::text::{Text, Texts};
use super::{Success, stopped, storable};

/// A request to be sent.
#[derive(Clone, Debug, Serialize, Deserialize, Job)]
#[job(kind = "flow.http", output = Option<Box<RawValue>>)]
pub(crate) struct Http {
    pub(crate) method: String,
    pub(crate) url: Text,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, Text>,
    /// A text is sent as it is, everything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Text>,
    /// The statuses that are a success; 200 to 299 if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) expect: Vec<u16>,
    /// How long the whole of it may take, in microseconds.
    pub(crate) timeout_us: u64,
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub(crate) scope: Scope,
}

/// A request whose texts are known.
struct Prepared {
    request: Request<String>,
    timeout: Duration,
    redactor: Redactor,
    /// Method and URL, for people.
    shown: String,
}

/// An answer as far as it is kept.
struct Answer {
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

impl Http {
    /// One attempt.
    pub(super) async fn call(&self, cx: &Context) -> Result<Success, Failure> {
        let prepared = self.prepare(cx).await?;
        let (redactor, shown, expect) = (prepared.redactor.clone(), prepared.shown.clone(), self.expect.clone());
        if let Some(why) = cx.cancellation() {
            return Err(stopped(why));
        }
        // A request that was given up goes on in its thread until its own limit of time; its answer is not wanted.
        let sent = tokio::task::spawn_blocking(move || send(prepared));
        let answer = tokio::select! {
            biased;
            answer = sent => answer.map_err(|e| Failure::new(format!("the call was stopped: {e}")))?,
            why = cx.cancelled() => return Err(stopped(why)),
        };
        let answer = answer.map_err(|e| match e {
            Unsent::Broken(e) => failed(&e, &shown, &redactor),
            Unsent::Refused(why) => Failure::permanent(storable(&format!("{shown}: {why}"), 1_000)),
        })?;
        conclude(answer, &expect, &shown, &redactor)
    }

    async fn prepare(&self, cx: &Context) -> Result<Prepared, Failure> {
        let texts: Vec<&Text> = std::iter::once(&self.url).chain(self.headers.values()).chain(&self.body).collect();
        let body_at = self.body.as_ref().map(|_| texts.len() - 1);
        let resolved = Texts::resolve(cx, &texts, &self.scope).await?;
        let mut known = resolved.iter();
        let url = known.next().unwrap_or_default();
        let cannot = |what: &str| Failure::permanent(format!("{what} cannot be sent"));
        let mut request = Request::builder().method(self.method.as_str()).uri(&url);
        for name in self.headers.keys() {
            let value = known.next().unwrap_or_default();
            let mut value = HeaderValue::from_str(&value).map_err(|_| cannot(&format!("the header {name}")))?;
            value.set_sensitive(true);
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot(&format!("the header {name}")))?;
            request = request.header(name, value);
        }
        if body_at.is_some_and(|at| resolved.is_json(at))
            && !self.headers.keys().any(|n| n.eq_ignore_ascii_case("content-type"))
        {
            request = request.header("content-type", "application/json");
        }
        let request =
            request.body(known.next().unwrap_or_default()).map_err(|e| Failure::permanent(format!("{url}: {e}")))?;
        let shown = resolved.redactor.text(&format!("{} {url}", self.method));
        drop(known);
        Ok(Prepared { request, timeout: Duration::from_micros(self.timeout_us), redactor: resolved.redactor, shown })
    }
}

/// Why there is no answer.
enum Unsent {
    Broken(ureq::Error),
    Refused(String),
}

impl From<ureq::Error> for Unsent {
    fn from(error: ureq::Error) -> Self {
        Self::Broken(error)
    }
}

/// Sends a request, and on to where its answers say, within one limit of time.
fn send(prepared: Prepared) -> Result<Answer, Unsent> {
    let Prepared { mut request, timeout, redactor, .. } = prepared;
    let until = Instant::now() + timeout;
    let mut redirects = 0;
    let mut response: Response<Body> = loop {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))))
            .max_redirects(0)
            .user_agent(concat!("towpath/", env!("CARGO_PKG_VERSION")))
            .build();
        let response = Agent::new_with_config(config).run(request.clone())?;
        match redirect::next(&request, response.status(), response.headers(), &redactor) {
            Next::Answer => break response,
            Next::Refused(why) => return Err(Unsent::Refused(why)),
            Next::Request(_) if redirects == REDIRECTS_MAX => return Err(ureq::Error::TooManyRedirects.into()),
            Next::Request(next) => request = *next,
        }
        redirects += 1;
    };
    let seconds = response.headers().get("retry-after").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let body = response.body_mut().with_config().limit(limits::PAYLOAD_BYTES_MAX as u64 + 1).read_to_vec()?;
    Ok(Answer { status: response.status().as_u16(), retry_after: seconds.map(Duration::from_secs), body })
}

/// What a server does not take now it may take later: nobody answered, or it is busy. All else stays wrong.
fn failed(error: &ureq::Error, shown: &str, redactor: &Redactor) -> Failure {
    let text = storable(&redactor.text(&format!("{shown}: {error}")), 1_000);
    match error {
        ureq::Error::BodyExceedsLimit(_) => {
            let max = limits::PAYLOAD_BYTES_MAX;
            Failure::permanent(format!(
                "{shown}: its answer is too large, at most {max} bytes are allowed: fetch it by a command"
            ))
        }
        ureq::Error::BadUri(_) | ureq::Error::RequireHttpsOnly(_) | ureq::Error::TooManyRedirects => {
            Failure::permanent(text)
        }
        _ => Failure::new(text),
    }
}

fn conclude(answer: Answer, expect: &[u16], shown: &str, redactor: &Redactor) -> Result<Success, Failure> {
    let status = answer.status;
    let body = redactor.text(&String::from_utf8_lossy(&answer.body));
    let is_good = if expect.is_empty() { (200..300).contains(&status) } else { expect.contains(&status) };
    if !is_good {
        let said = body.trim().lines().next().unwrap_or_default();
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let error = storable(&format!("{shown}: status {status}{said}"), 1_000);
        return Err(match (status, answer.retry_after) {
            (408 | 429 | 500..=599, Some(wait)) => Failure::retry_after(error, wait.min(RETRY_AFTER_MAX)),
            (408 | 429 | 500..=599, None) => Failure::new(error),
            _ => Failure::permanent(error),
        });
    }
    let body: Value = serde_json::from_str(&body).unwrap_or_else(|_| Value::from(body));
    let output = json!({ "status": status, "body": body });
    match serde_json::value::to_raw_value(&output) {
        Ok(output) if output.get().len() <= limits::PAYLOAD_BYTES_MAX => {
            Ok(Success { output: Some(output), note: None })
        }
        _ => Err(Failure::permanent(format!("{shown}: its answer is too large as JSON: fetch it by a command"))),
    }
}

/// A call without a limit of its own.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
const REDIRECTS_MAX: u32 = 5;
/// A server that asks for more is asked again before.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
