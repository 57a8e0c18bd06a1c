//! What makes a type a job: a kind, a version, an output, and defaults.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

use towpath_core::{JobRules, RetryPolicy};

/// A unit of work with a kind that routes it to its handler. The value is the job's input.
///
/// Derive it, or write it out:
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use towpath::{Job, JobDefaults};
///
/// #[derive(Serialize, Deserialize)]
/// struct Resize {
///     path: String,
/// }
///
/// impl Job for Resize {
///     const KIND: &'static str = "resize";
///     type Output = u64;
///
///     fn defaults() -> JobDefaults {
///         JobDefaults::new().queue("images").attempts(5)
///     }
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The stable name of this kind of job: 1 to 64 of `a-z 0-9 . _ -`. Renaming it orphans what is stored.
    const KIND: &'static str;
    /// The version of the input. A worker takes jobs up to its own version and leaves newer ones to others.
    const VERSION: u16 = 1;
    /// Older names of this kind: jobs that were enqueued under one of them have the same handler. A rename keeps the old name
    /// here until no such job is stored.
    const ALIASES: &'static [&'static str] = &[];
    /// What the job leaves when it succeeds.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// What a job of this kind has unless its enqueue says otherwise.
    fn defaults() -> JobDefaults {
        JobDefaults::new()
    }

    /// Turns an input of version `from` into one of `from + 1`. It is called once for each version between that of the stored
    /// input and [`VERSION`](Self::VERSION); without one of your own an older input must fit as it is.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use serde_json::{Value, json};
    /// use towpath::Job;
    ///
    /// /// Version 1 had one field `name`.
    /// #[derive(Serialize, Deserialize)]
    /// struct Greet {
    ///     first: String,
    ///     last: String,
    /// }
    ///
    /// impl Job for Greet {
    ///     const KIND: &'static str = "greet";
    ///     const VERSION: u16 = 2;
    ///     type Output = ();
    ///
    ///     fn upcast(from: u16, mut input: Value) -> Result<Value, String> {
    ///         if from == 1 {
    ///             let name = input["name"].as_str().ok_or("it has no name")?;
    ///             let (first, last) = name.split_once(' ').unwrap_or((name, ""));
    ///             input = json!({ "first": first, "last": last });
    ///         }
    ///         Ok(input)
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// Why it has no newer form: the job is blocked with that text, spends no attempt, and is tried again by another build.
    fn upcast(_from: u16, input: serde_json::Value) -> Result<serde_json::Value, String> {
        Ok(input)
    }

    /// The branches that it may choose, if it is a gate. See [`Gate`](crate::Gate).
    fn labels() -> &'static [&'static str] {
        &[]
    }

    /// The branch that it has chosen, if it is a gate.
    fn chosen(_output: &Self::Output) -> Option<&'static str> {
        None
    }
}

/// What a job of a kind has unless its enqueue says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobDefaults {
    /// The queue; `default` if it names none.
    pub queue: Option<String>,
    /// Higher first.
    pub priority: i16,
    /// Retry, timeout, crash limit and retention.
    pub rules: JobRules,
    /// Labels for people.
    pub tags: Vec<String>,
}

impl JobDefaults {
    /// The product's own defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the queue.
    pub fn queue(mut self, queue: &str) -> Self {
        self.queue = Some(queue.to_owned());
        self
    }

    /// Sets the priority; higher first.
    pub fn priority(mut self, priority: i16) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how many failures make a job dead, with the default back-off.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.rules.retry.attempts_max = attempts;
        self
    }

    /// Sets the whole retry policy.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.rules.retry = retry;
        self
    }

    /// Sets how long one attempt may take before its handler is told to stop; one that does not listen is dropped after
    /// the worker's abort grace (10 s).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.rules.timeout_us = u64::try_from(timeout.as_micros()).ok();
        self
    }

    /// Sets how many crashes in a row put a job aside.
    pub fn crash_limit(mut self, crashes: u32) -> Self {
        self.rules.crash_limit = crashes;
        self
    }

    /// Sets how long a lone job that succeeded or was skipped stays stored (24 h). A node stays as long as its graph.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.rules.keep_us = u64::try_from(keep.as_micros()).ok();
        self
    }

    /// Sets how long a lone job that ended otherwise stays stored (30 days).
    pub fn keep_failed(mut self, keep: Duration) -> Self {
        self.rules.keep_failed_us = u64::try_from(keep.as_micros()).ok();
        self
    }

    /// Adds a tag.
    pub fn tag(mut self, tag: &str) -> Self {
        self.tags.push(tag.to_owned());
        self
    }
}
