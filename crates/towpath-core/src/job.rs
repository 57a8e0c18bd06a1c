//! A job as it is asked for, before any store has seen it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::id::JobId;
use crate::limits;
use crate::name::{Kind, Queue, RunId};
use crate::payload::Payload;
use crate::rules::JobRules;
use crate::store::Refusal;
use crate::tag;
use crate::time::Timestamp;
use crate::unique::{OwnKey, Unique};

/// From when a job may be claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Due {
    /// At once; for a node, as soon as its parents allow it.
    #[default]
    Now,
    /// This long after it is enqueued; for a node, after its parents allow it.
    After(Duration),
    /// At this instant, or when its parents allow it if that is later.
    At(Timestamp),
}

impl Due {
    /// The instant it names, counted from `from`.
    pub fn instant(self, from: Timestamp) -> Timestamp {
        match self {
            Self::Now => from,
            Self::After(wait) => from + wait,
            Self::At(at) => at.max(from),
        }
    }
}

/// A job to be enqueued.
///
/// ```
/// use towpath_core::{JobId, Kind, NewJob, Payload};
/// let job = NewJob::new(JobId::from_bytes([1; 16]), Kind::new("send-mail").unwrap())
///     .input(Payload::json("ann@example.org").unwrap());
/// assert_eq!(job.queue.as_str(), "default");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    /// Its id, drawn by the caller.
    pub id: JobId,
    /// What routes it to a handler.
    pub kind: Kind,
    /// The version of its input.
    pub version: u16,
    /// The queue it stands in.
    pub queue: Queue,
    /// Higher first; ties by the order of arrival.
    pub priority: i16,
    /// What its handler is given.
    pub input: Payload,
    /// From when it may be claimed.
    pub due: Due,
    /// By when it must have ended.
    pub deadline: Option<Timestamp>,
    /// Retry, timeout, crash limit, retention.
    pub rules: JobRules,
    /// Labels for people, at most 32 of 128 bytes.
    pub tags: Vec<String>,
    /// What travels with the job, such as a trace context; at most 4 KiB.
    pub headers: BTreeMap<String, String>,
    /// The run that it is, if it is one: a job with a journal.
    pub run: Option<RunId>,
    /// How long the id of a run stays taken after its end, also when the run itself is pruned before; none of it is no longer
    /// than the run is kept. Of lone runs only: a node goes with its graph. At most ten years.
    pub keep_id: Option<Duration>,
    /// The key that it alone of its kind may have. Lone jobs only: a graph has a key of its own, a run its id.
    pub unique: Option<Box<Unique>>,
}

impl NewJob {
    /// A job with every default and an empty input.
    pub fn new(id: JobId, kind: Kind) -> Self {
        Self {
            id,
            kind,
            version: 1,
            queue: Queue::default(),
            priority: 0,
            input: Payload::default(),
            due: Due::Now,
            deadline: None,
            rules: JobRules::default(),
            tags: Vec::new(),
            headers: BTreeMap::new(),
            run: None,
            keep_id: None,
            unique: None,
        }
    }

    /// Sets the input.
    pub fn input(mut self, input: Payload) -> Self {
        self.input = input;
        self
    }

    /// Sets the queue.
    pub fn queue(mut self, queue: Queue) -> Self {
        self.queue = queue;
        self
    }

    /// Sets the priority; higher first.
    pub fn priority(mut self, priority: i16) -> Self {
        self.priority = priority;
        self
    }

    /// Sets from when it may be claimed.
    pub fn due(mut self, due: Due) -> Self {
        self.due = due;
        self
    }

    /// Sets its rules.
    pub fn rules(mut self, rules: JobRules) -> Self {
        self.rules = rules;
        self
    }

    /// Makes it a run with this id, which no other job in the store may have.
    pub fn run(mut self, id: RunId) -> Self {
        self.run = Some(id);
        self
    }

    /// Gives it a key that it alone of its kind may have.
    pub fn unique(mut self, unique: Unique) -> Self {
        self.unique = Some(Box::new(unique));
        self
    }

    /// The stored form of its rules, with its unique key if it has that again when it is put back. `None` when all is default.
    pub fn rules_to_store(&self) -> Option<String> {
        match self.own_key() {
            None => self.rules.to_stored(),
            own_key => JobRules { own_key, ..self.rules.clone() }.to_stored(),
        }
    }

    /// Keeps its unique key in its rules, as a store does that holds jobs as they are.
    pub(crate) fn keep_key(&mut self) {
        if let Some(own_key) = self.own_key() {
            self.rules.own_key = Some(own_key);
        }
    }

    fn own_key(&self) -> Option<OwnKey> {
        self.unique.as_ref().and_then(|unique| unique.own())
    }

    /// Takes these headers over if it has none of them, and room for all: what travels with a job by itself never takes the
    /// place of what somebody has said.
    pub fn carry(&mut self, headers: &BTreeMap<String, String>) {
        let has_room = headers_bytes(&self.headers) + headers_bytes(headers) <= limits::HEADERS_BYTES_MAX;
        if has_room && !headers.keys().any(|name| self.headers.contains_key(name)) {
            self.headers.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
    }

    /// What the job adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        let text: usize = self.tags.iter().map(String::len).sum();
        let headers: usize = self.headers.iter().map(|(k, v)| k.len() + v.len()).sum();
        let names = self.kind.as_str().len() + self.queue.as_str().len();
        let run = self.run.as_ref().map_or(0, |id| id.as_str().len());
        let unique = self.unique.as_ref().map_or(0, |unique| unique.key.as_str().len());
        self.input.bytes.len() + names + run + unique + text + headers + 64
    }

    /// Checks the limits of its tags and headers alone.
    ///
    /// # Errors
    /// The first that it breaks, with both numbers.
    pub fn check_labels(&self) -> Result<(), Refusal> {
        self.label_problems().next().map_or(Ok(()), Err)
    }

    fn label_problems(&self) -> impl Iterator<Item = Refusal> + '_ {
        let of_tag = |problem| Refusal::Invalid { problem: format!("job {} has {problem}", self.id) };
        let has_nul = self.headers.iter().any(|(k, v)| k.contains('\0') || v.contains('\0'));
        let nul = has_nul.then(|| Refusal::Invalid {
            problem: format!("a header of job {} holds a NUL character: remove it", self.id),
        });
        let headers = headers_bytes(&self.headers);
        let over = (headers > limits::HEADERS_BYTES_MAX).then(|| Refusal::TooLarge {
            what: format!("the headers of job {} ({})", self.id, self.kind),
            bytes: headers,
            max: limits::HEADERS_BYTES_MAX,
        });
        tag::problems(&self.tags).map(of_tag).chain(nul).chain(over)
    }

    /// Checks the limits of one job.
    ///
    /// # Errors
    /// The first that it breaks, with both numbers.
    pub fn check(&self) -> Result<(), Refusal> {
        self.problems().into_iter().next().map_or(Ok(()), Err)
    }

    /// All limits that it breaks, of which [`check`](Self::check) says the first.
    pub fn problems(&self) -> Vec<Refusal> {
        let mut problems = Vec::new();
        if self.input.bytes.len() > limits::PAYLOAD_BYTES_MAX {
            let (bytes, max) = (self.input.bytes.len(), limits::PAYLOAD_BYTES_MAX);
            problems.push(Refusal::TooLarge {
                what: format!("the input of job {} ({})", self.id, self.kind),
                bytes,
                max,
            });
        } else if let Err(e) = self.input.check_text() {
            let problem = format!("the input of job {} ({}): {e}", self.id, self.kind);
            problems.push(Refusal::Invalid { problem });
        }
        problems.extend(self.label_problems());
        let mut invalid = |problem: String| problems.push(Refusal::Invalid { problem });
        if let (Some(unique), Some(run)) = (&self.unique, &self.run) {
            invalid(format!(
                "the run {run} has the unique key {:?}: its id is its key, leave the other out",
                unique.key
            ));
        }
        if let Some(keep) = self.keep_id {
            if self.run.is_none() {
                invalid(format!("job {} is no run and has no id to keep: leave `keep_id` out", self.id));
            }
            if keep > limits::KEEP_ID_MAX {
                invalid(format!(
                    "the id of job {} is to stay taken for {} days, at most {} are allowed",
                    self.id,
                    keep.as_secs() / 86_400,
                    limits::KEEP_ID_MAX.as_secs() / 86_400
                ));
            }
        }
        if self.rules.timeout_us == Some(0) {
            invalid(format!("job {} has a timeout of 0, which ends each attempt at once: leave it out", self.id));
        }
        if let Due::After(delay) = self.due
            && delay > limits::DELAY_MAX
        {
            invalid(format!(
                "job {} is put off by {} days, at most {} are allowed",
                self.id,
                delay.as_secs() / 86_400,
                limits::DELAY_MAX.as_secs() / 86_400
            ));
        }
        if self.rules.retry.attempts_max == 0 || self.rules.crash_limit == 0 {
            invalid(format!("job {}: attempts and crash limit are at least 1", self.id));
        }
        problems
    }
}

fn headers_bytes(headers: &BTreeMap<String, String>) -> usize {
    headers.iter().map(|(name, value)| name.len() + value.len() + 6).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(bytes: usize) -> NewJob {
        NewJob::new(JobId::from_bytes([1; 16]), Kind::from_stored("echo")).input(Payload::json_bytes(vec![b'1'; bytes]))
    }

    #[test]
    fn an_input_at_the_limit_passes_and_one_past_it_does_not() {
        assert_eq!(job(1 << 20).check(), Ok(()));
        assert!(matches!(job((1 << 20) + 1).check(), Err(Refusal::TooLarge { bytes: 1_048_577, max: 1_048_576, .. })));
    }

    #[test]
    fn a_due_in_the_past_is_now() {
        let now = Timestamp::from_micros(100);
        assert_eq!(Due::At(Timestamp::from_micros(5)).instant(now), now);
        assert_eq!(Due::After(Duration::from_micros(5)).instant(now), Timestamp::from_micros(105));
    }

    #[test]
    fn what_is_carried_takes_no_place_and_no_room_of_what_was_said() {
        let carried =
            BTreeMap::from([("traceparent".to_owned(), "00-1".to_owned()), ("tracestate".into(), "a=b".into())]);
        let mut plain = job(1);
        plain.carry(&carried);
        assert_eq!(plain.headers, carried);
        let mut said = job(1);
        said.headers.insert("tracestate".into(), "mine".into());
        said.carry(&carried);
        assert_eq!(said.headers.len(), 1, "all of it or nothing");
        let mut full = job(1);
        let left = limits::HEADERS_BYTES_MAX - headers_bytes(&carried) - 6 - 1;
        full.headers.insert("x".into(), "y".repeat(left));
        full.carry(&carried);
        assert_eq!((full.headers.len(), full.check()), (3, Ok(())));
        full.headers.retain(|name, _| name == "x");
        full.headers.insert("x".into(), "y".repeat(left + 1));
        full.carry(&carried);
        assert_eq!(full.headers.len(), 1);
    }

    #[test]
    fn a_timeout_of_nothing_and_a_delay_of_ages_are_refused() {
        let job = || NewJob::new(JobId::from_bytes([1; 16]), Kind::from_stored("k"));
        let mut hasty = job();
        hasty.rules.timeout_us = Some(0);
        assert!(hasty.check().unwrap_err().to_string().contains("has a timeout of 0"));
        assert!(job().due(Due::After(limits::DELAY_MAX)).check().is_ok());
        let late = job().due(Due::After(Duration::MAX)).check().unwrap_err().to_string();
        assert!(late.contains("at most 36525 are allowed"), "{late}");
    }
}
