//! What an application does to every job that it enqueues: a tag of its release, a header of its tenant, a refusal.

use std::fmt;
use std::sync::Arc;

use towpath_core::store::{Item, Refusal};
use towpath_core::{JobId, Kind, NewJob, Payload, Queue, tag};

use crate::client::Client;

/// A job on its way into the store, in the hands of a hook ([`Client::before_enqueue`]).
#[derive(Debug)]
pub struct Outgoing<'a> {
    job: &'a mut NewJob,
}

impl Outgoing<'_> {
    /// The job.
    pub fn id(&self) -> JobId {
        self.job.id
    }

    /// Its kind.
    pub fn kind(&self) -> &Kind {
        &self.job.kind
    }

    /// The queue in which it is to stand.
    pub fn queue(&self) -> &Queue {
        &self.job.queue
    }

    /// Its input.
    pub fn input(&self) -> &Payload {
        &self.job.input
    }

    /// Adds a tag, unless it has it.
    pub fn tag(&mut self, tag: &str) {
        if !self.job.tags.iter().any(|there| there == tag) {
            self.job.tags.push(tag.to_owned());
        }
    }

    /// Adds the tag `key=value`, unless it has it.
    pub fn tag_value(&mut self, key: &str, value: impl fmt::Display) {
        self.tag(&tag::pair(key, value));
    }

    /// Adds a header, in place of one of that name.
    pub fn header(&mut self, name: &str, value: &str) {
        self.job.headers.insert(name.to_owned(), value.to_owned());
    }
}

pub(crate) type Hook = Arc<dyn Fn(&mut Outgoing<'_>) -> Result<(), String> + Send + Sync>;

impl Client {
    /// The same client with a hook that is called for each job that it enqueues, before it is written: lone ones, nodes of graphs and
    /// appends, runs that it starts, also in a transaction of the application's. What is added is held against the limits; an error refuses the whole enqueue, and
    /// nothing is written. Hooks are called in the order in which they were given, in every clone that is made from here on.
    /// Not called for what runs and schedules enqueue.
    ///
    /// ```
    /// # use towpath::Client;
    /// # fn f(client: Client) -> Client {
    /// client.before_enqueue(|job| {
    ///     job.tag_value("release", env!("CARGO_PKG_VERSION"));
    ///     if job.kind().as_str() == "old-report" { Err("nobody writes these any more".into()) } else { Ok(()) }
    /// })
    /// # }
    /// ```
    pub fn before_enqueue(
        mut self,
        hook: impl Fn(&mut Outgoing<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    pub(crate) fn run_hooks(&self, items: &mut [Item]) -> Result<(), Refusal> {
        if self.hooks.is_empty() {
            return Ok(());
        }
        for job in items.iter_mut().flat_map(Item::jobs_mut) {
            for hook in &self.hooks {
                hook(&mut Outgoing { job }).map_err(|problem| Refusal::Invalid {
                    problem: format!("job {} ({}) is refused by a hook of this client: {problem}", job.id, job.kind),
                })?;
            }
            job.check_labels()?;
        }
        Ok(())
    }
}
