//! The kinds that a worker serves. All problems of a registry are reported together, before anything starts.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::store::{Served, Versions};
use towpath_core::{Kind, Queue};

use crate::batch::{BatchSize, erase_batch};
use crate::builtin;
use crate::context::Context;
use crate::durable::{self, Durable};
use crate::failure::Failure;
use crate::handler::{Erased, Perform, erase, erase_blocking, erase_left};
use crate::intake::{self, IntakeJob};
use crate::job::Job;
use crate::middleware::{Left, Middlewares, Next};

/// Handlers by kind.
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<&'static str, Entry>,
    middlewares: Middlewares,
    problems: Vec<RegistryProblem>,
}

type Make = Arc<dyn Fn(u64) -> Erased + Send + Sync>;

enum Entry {
    Handler {
        version: u16,
        /// Where jobs of this kind stand unless their enqueue says otherwise.
        queue: String,
        /// Of which kind this is an older name, if it is one.
        alias_of: Option<&'static str>,
        make: Make,
    },
    Durable(BTreeMap<u16, durable::Erased>),
}

impl Entry {
    fn finish(self, build: u64) -> Erased {
        match self {
            Self::Handler { make, .. } => make(build),
            Self::Durable(versions) => Erased::Run(versions),
        }
    }

    fn queue(&self) -> &str {
        match self {
            Self::Handler { queue, .. } => queue,
            Self::Durable(_) => Queue::DEFAULT,
        }
    }

    /// A run is pinned to the version on which it began; a handler understands older inputs.
    fn versions(&self) -> Versions {
        match self {
            Self::Handler { version, .. } => Versions::UpTo(*version),
            Self::Durable(versions) => Versions::Only(versions.keys().copied().collect()),
        }
    }
}

/// One thing wrong with a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryProblem {
    /// Two handlers for one kind.
    Duplicate {
        /// The kind.
        kind: String,
    },
    /// A name that cannot be one.
    Invalid {
        /// What is wrong with it.
        problem: String,
    },
    /// A step or the handlers take a state that the worker was not given.
    MissingState {
        /// The step; `None` for the handlers.
        step: Option<&'static str>,
        /// The state's type.
        state: &'static str,
    },
    /// No handler at all.
    Empty,
}

impl fmt::Display for RegistryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { kind } => write!(f, "the kind {kind} has two handlers: remove one"),
            Self::Invalid { problem } => f.write_str(problem),
            Self::MissingState { step: Some(step), state } => write!(f, "step {step} needs {state}: add .state(…)"),
            Self::MissingState { step: None, state } => write!(f, "the handlers need {state}: add .state(…)"),
            Self::Empty => f.write_str("no handler is registered: add one"),
        }
    }
}

/// A worker that cannot start, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRegistry {
    /// At least one problem.
    pub problems: Vec<RegistryProblem>,
}

impl fmt::Display for InvalidRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the worker cannot start: ")?;
        for (at, problem) in self.problems.iter().enumerate() {
            let semicolon = if at == 0 { "" } else { "; " };
            write!(f, "{semicolon}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidRegistry {}

impl Registry {
    /// A registry without handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a handler that takes many jobs of a kind at once, and answers a result for each, by position.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{BatchSize, Context, Failure, Job, Registry};
    /// # #[derive(Serialize, Deserialize, Job)]
    /// # #[job(kind = "insert")]
    /// # struct Insert(u64);
    /// # fn insert_all(rows: &[u64]) -> Vec<bool> { vec![true; rows.len()] }
    /// let mut registry = Registry::new();
    /// let size = BatchSize { max: 100, wait: Duration::from_millis(20) };
    /// registry.handle_batch(size, |jobs: Vec<(Insert, Context)>| async move {
    ///     let rows: Vec<u64> = jobs.iter().map(|(job, _)| job.0).collect();
    ///     let inserted = insert_all(&rows);
    ///     inserted.into_iter().map(|ok| if ok { Ok(()) } else { Err(Failure::new("refused")) }).collect()
    /// });
    /// ```
    pub fn handle_batch<J, F, Fut, E>(&mut self, size: BatchSize, handler: F)
    where
        J: Job,
        F: Fn(Vec<(J, Context)>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Result<J::Output, E>>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        if size.max == 0 {
            let problem = format!("a batch of {} has no job: give it a maximum of at least 1", J::KIND);
            self.problems.push(RegistryProblem::Invalid { problem });
        }
        let handler = Arc::new(handler);
        self.add::<J>(Arc::new(move |build| {
            let handler = Arc::clone(&handler);
            erase_batch::<J, _, Fut, E>(build, size, move |jobs| handler(jobs))
        }));
    }

    /// Adds a middleware around every attempt of every job: see
    /// [`WorkerBuilder::middleware`](crate::WorkerBuilder::middleware).
    pub fn middleware<F, Fut>(&mut self, middleware: F)
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Left, Failure>> + Send + 'static,
    {
        self.middlewares.push(middleware);
    }

    /// Adds an async handler for the kind of its first parameter.
    pub fn handle<J, F, Fut, E>(&mut self, handler: F)
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<J::Output, E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        let handler = Arc::new(handler);
        self.add::<J>(Arc::new(move |build| {
            let handler = Arc::clone(&handler);
            erase::<J, _, Fut, E>(build, move |job, cx| handler(job, cx))
        }));
    }

    /// Adds a handler that blocks, for the kind of its first parameter. It runs on a thread for blocking work and
    /// cannot be stopped by force.
    pub fn handle_blocking<J, F, E>(&mut self, handler: F)
    where
        J: Job,
        F: Fn(J, Context) -> Result<J::Output, E> + Send + Sync + 'static,
        E: Into<Failure> + 'static,
    {
        let handler = Arc::new(handler);
        self.add::<J>(Arc::new(move |build| {
            let handler = Arc::clone(&handler);
            erase_blocking::<J, _, E>(build, move |job, cx| handler(job, cx))
        }));
    }

    /// Adds a job that performs itself.
    pub fn perform<J: Perform>(&mut self) {
        self.handle(|job: J, cx: Context| job.perform(cx));
    }

    /// Adds a durable function. Several versions of one may be there.
    pub fn durable<I, O, E>(&mut self, function: Durable<I, O, E>)
    where
        I: DeserializeOwned + Send + 'static,
        O: Serialize + Send + 'static,
        E: Serialize + fmt::Display + Send + 'static,
    {
        let name = function.name();
        let entry = self.entries.entry(name).or_insert_with(|| Entry::Durable(BTreeMap::new()));
        let Entry::Durable(versions) = entry else {
            self.problems.push(RegistryProblem::Duplicate { kind: name.to_owned() });
            return;
        };
        if versions.insert(function.version(), durable::Erased::new(function)).is_some() {
            let problem =
                format!("{name} v{} is there twice: remove one, or give it another version", function.version());
            self.problems.push(RegistryProblem::Invalid { problem });
        }
    }

    fn add<J: Job>(&mut self, make: Make) {
        let queue = J::defaults().queue.unwrap_or_else(|| Queue::DEFAULT.to_owned());
        let names = std::iter::once((J::KIND, None)).chain(J::ALIASES.iter().map(|alias| (*alias, Some(J::KIND))));
        for (name, alias_of) in names {
            match Kind::new(name) {
                Err(e) => self.problems.push(RegistryProblem::Invalid { problem: e.to_string() }),
                Ok(kind) if kind.is_reserved() => {
                    let problem = format!("the kind {kind} is kept for the product: choose another");
                    self.problems.push(RegistryProblem::Invalid { problem });
                }
                Ok(_) => {}
            }
            let (queue, make) = (queue.clone(), Arc::clone(&make));
            if self.entries.insert(name, Entry::Handler { version: J::VERSION, queue, alias_of, make }).is_some() {
                self.problems.push(RegistryProblem::Duplicate { kind: name.to_owned() });
            }
        }
    }

    /// Adds a handler of the product's own.
    pub(crate) fn add_builtin<J, F, Fut>(&mut self, handler: F)
    where
        J: Job,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Left, Failure>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let make: Make = Arc::new(move |build| {
            let handler = Arc::clone(&handler);
            erase_left::<J, _, Fut>(build, move |job, cx| handler(job, cx))
        });
        let queue = Queue::DEFAULT.to_owned();
        self.entries.insert(J::KIND, Entry::Handler { version: J::VERSION, queue, alias_of: None, make });
    }

    pub(crate) fn problem(&mut self, problem: RegistryProblem) {
        self.problems.push(problem);
    }

    /// The kinds and versions (of a durable function each that is there), a line each in the order of their names: commit it and compare it in a test, so that
    /// a rename is seen in review.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Failure, Job, Registry};
    /// # #[derive(Serialize, Deserialize, Job)]
    /// # #[job(kind = "greet")]
    /// # struct Greet;
    /// let mut registry = Registry::new();
    /// registry.handle(|_job: Greet, _cx| async { Ok::<_, Failure>(()) });
    /// assert_eq!(registry.manifest(), "greet 1\n");
    /// ```
    pub fn manifest(&self) -> String {
        let newest = |entry: &Entry| entry.versions().ranges().into_iter().map(|(_, newest)| newest);
        let alias = |entry: &Entry| match entry {
            Entry::Handler { alias_of: Some(kind), .. } => format!(" (now {kind})"),
            _ => String::new(),
        };
        let line = |(kind, entry)| newest(entry).map(move |v| format!("{kind} {v}{}\n", alias(entry)));
        self.entries.iter().flat_map(line).collect()
    }

    /// The kinds whose jobs stand in none of these queues unless their enqueue says otherwise, with the queue they stand in.
    pub(crate) fn beside(&self, queues: &[Queue]) -> Vec<(&'static str, &str)> {
        let is_served = |entry: &Entry| queues.iter().any(|queue| queue.as_str() == entry.queue());
        self.entries.iter().filter(|(_, entry)| !is_served(entry)).map(|(kind, entry)| (*kind, entry.queue())).collect()
    }

    /// Checks everything and gives the handlers their build.
    pub(crate) fn finish(mut self, build_id: &str) -> Result<Handlers, InvalidRegistry> {
        if self.entries.is_empty() {
            self.problems.push(RegistryProblem::Empty);
        }
        if !self.problems.is_empty() {
            return Err(InvalidRegistry { problems: self.problems });
        }
        // They are not the application's, so its manifest does not list them; but a worker that has them is another build.
        let own = builtin::registry();
        let build = fnv(format!("{}{}{build_id}", self.manifest(), own.manifest()).as_bytes());
        self.entries.extend(own.entries);
        let make: Make = Arc::new(|build| erase::<IntakeJob, _, _, Failure>(build, intake::take_in));
        let queue = Queue::DEFAULT.to_owned();
        self.entries.insert(Kind::INTAKE, Entry::Handler { version: 1, queue, alias_of: None, make });
        let serves: Vec<Served> = self
            .entries
            .iter()
            .map(|(kind, entry)| Served { kind: Kind::from_stored(kind), versions: entry.versions() })
            .collect();
        let around = &self.middlewares;
        let finish = |(kind, entry): (_, Entry)| (kind, around.wrap(entry.finish(build), build));
        let by_kind = self.entries.into_iter().map(finish).collect();
        Ok(Handlers { build, serves: serves.into(), by_kind })
    }
}

/// A checked registry.
pub(crate) struct Handlers {
    pub(crate) build: u64,
    pub(crate) serves: Arc<[Served]>,
    by_kind: BTreeMap<&'static str, Erased>,
}

impl Handlers {
    pub(crate) fn get(&self, kind: &Kind) -> Option<&Erased> {
        self.by_kind.get(kind.as_str())
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every release.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    // Stores keep it as a signed number.
    hash >> 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    macro_rules! job {
        ($name:ident, $kind:literal) => {
            #[derive(Serialize, Deserialize)]
            struct $name;
            impl Job for $name {
                const KIND: &'static str = $kind;
                type Output = ();
            }
        };
    }
    job!(Bad, "Send Mail");
    job!(One, "one");
    job!(AlsoOne, "one");
    job!(Reserved, "towpath.end");

    #[test]
    fn all_problems_are_reported_together() {
        let mut registry = Registry::new();
        registry.handle(|_: Bad, _| async { Ok::<_, Failure>(()) });
        registry.handle(|_: One, _| async { Ok::<_, Failure>(()) });
        registry.handle(|_: AlsoOne, _| async { Ok::<_, Failure>(()) });
        registry.handle(|_: Reserved, _| async { Ok::<_, Failure>(()) });
        let refused = registry.finish("").err().unwrap().to_string();
        assert_eq!(
            refused,
            "the worker cannot start: kind \"Send Mail\" contains 'S': use only a-z 0-9 . _ -; \
             the kind one has two handlers: remove one; \
             the kind towpath.end is kept for the product: choose another"
        );
    }

    #[test]
    fn the_build_follows_from_kinds_and_versions() {
        assert_ne!(fnv(b"one 1\n"), fnv(b"one 2\n"));
        assert!(i64::try_from(fnv(b"one 1\n")).is_ok());
    }
}
