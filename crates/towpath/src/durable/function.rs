//! The definition of a durable function: its name, version, limit of time and body.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::Payload;
use towpath_core::replay::{Body, Ops};

use super::cx::Cx;
use super::frame::{self, RunEnd};

/// Something that can be run as a durable function: any `async fn(Cx<'_>, I) -> Result<O, E>`.
pub trait DurableFn<I, O, E>: Send + Sync {
    /// Enters it.
    fn enter(&self, cx: Cx<'static>, input: I) -> Pin<Box<dyn Future<Output = Result<O, E>> + Send>>;
}

impl<F, Fut, I, O, E> DurableFn<I, O, E> for F
where
    F: Fn(Cx<'static>, I) -> Fut + Send + Sync,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
{
    fn enter(&self, cx: Cx<'static>, input: I) -> Pin<Box<dyn Future<Output = Result<O, E>> + Send>> {
        Box::pin(self(cx, input))
    }
}

/// The definition of a durable function.
///
/// ```
/// use std::time::Duration;
/// use towpath::{Cx, Durable, Failure};
///
/// const GREET: Durable<String, String, Failure> = Durable::new("greet", 1, Duration::from_secs(60), &greet);
///
/// async fn greet(cx: Cx<'_>, name: String) -> Result<String, Failure> {
///     cx.sleep(Duration::from_millis(10)).await;
///     Ok(format!("hello {name}"))
/// }
/// ```
pub struct Durable<I: 'static, O: 'static, E: 'static> {
    pub(super) name: &'static str,
    pub(super) version: u16,
    pub(super) max_duration: Duration,
    pub(super) body: &'static dyn DurableFn<I, O, E>,
}

impl<I, O, E> Durable<I, O, E> {
    /// Defines a function.
    ///
    /// The name is 1 to 64 of a-z 0-9 and inner hyphens. A run is pinned to the version on which it began. It may take
    /// no longer than `max_duration` from its beginning, asleep or not.
    ///
    /// # Panics
    /// On a bad name or a version of 0; in a `const` that is a compile error.
    pub const fn new(
        name: &'static str,
        version: u16,
        max_duration: Duration,
        body: &'static dyn DurableFn<I, O, E>,
    ) -> Self {
        check_name(name);
        assert!(version > 0, "versions of a durable function begin with 1");
        Self { name, version, max_duration, body }
    }

    /// A function of the product's own, whose name no application can give.
    pub(crate) const fn builtin(
        name: &'static str,
        max_duration: Duration,
        body: &'static dyn DurableFn<I, O, E>,
    ) -> Self {
        Self { name, version: 1, max_duration, body }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its version.
    pub const fn version(&self) -> u16 {
        self.version
    }
}

impl<I, O, E> Clone for Durable<I, O, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O, E> Copy for Durable<I, O, E> {}

impl<I, O, E> fmt::Debug for Durable<I, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.name, self.version)
    }
}

/// Refuses a name that is not 1 to 64 of a-z 0-9 and inner hyphens.
pub(super) const fn check_name(name: &str) {
    let bytes = name.as_bytes();
    assert!(!bytes.is_empty() && bytes.len() <= 64, "a name has 1 to 64 characters");
    let mut at = 0;
    while at < bytes.len() {
        let inner = at > 0 && at + 1 < bytes.len();
        let byte = bytes[at];
        assert!(
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || (byte == b'-' && inner),
            "a name uses a-z, 0-9 and inner hyphens"
        );
        at += 1;
    }
}

/// A function without its types: input in, the body of a run out; an input that does not fit says why.
#[derive(Clone)]
pub(crate) struct Erased {
    pub(crate) version: u16,
    make: Arc<Make>,
}

type Make = dyn Fn(&Payload, Ops, &frame::Run) -> Result<Body<RunEnd>, String> + Send + Sync;

impl Erased {
    pub(crate) fn new<I, O, E>(function: Durable<I, O, E>) -> Self
    where
        I: DeserializeOwned + Send + 'static,
        O: Serialize + Send + 'static,
        E: Serialize + fmt::Display + Send + 'static,
    {
        let make = move |input: &Payload, ops: Ops, run: &frame::Run| {
            let nothing = Payload::json_bytes(&b"null"[..]);
            let input = if input.bytes.is_empty() { &nothing } else { input };
            let input: I = input.decode().map_err(|e| format!("the input does not fit {}: {e}", function.name))?;
            Ok(frame::body(function, ops, run.clone(), input))
        };
        Self { version: function.version, make: Arc::new(make) }
    }

    pub(crate) fn body(&self, input: &Payload, ops: Ops, run: &frame::Run) -> Result<Body<RunEnd>, String> {
        (self.make)(input, ops, run)
    }
}
