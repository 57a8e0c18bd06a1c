//! The PostgreSQL store as a subject: a schema of its own, which replaces its one clock function.

use std::sync::atomic::{AtomicU32, Ordering};

use towpath_core::store::BoxFuture;
use towpath_core::{JobId, Store, Timestamp};
use towpath_postgres::{PostgresOptions, PostgresStore};

use super::{Corruption, Subject, SubjectResult};
use crate::error::ScriptError;

/// The store in one schema of a PostgreSQL database.
pub struct PostgresSubject {
    url: String,
    schema: String,
    store: PostgresStore,
}

/// Tells the schemas of one process apart.
static SCHEMAS: AtomicU32 = AtomicU32::new(0);

impl PostgresSubject {
    /// A store in a new schema. [`Subject::remove`] drops it.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the schema.
    pub async fn new(url: &str) -> SubjectResult<Self> {
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("conformance_{}_{number}", std::process::id());
        let store = connect(url, &schema)?;
        store.drop_schema().await.map_err(failed)?;
        store.migrate().await.map_err(failed)?;
        Ok(Self { url: url.to_owned(), schema, store })
    }

    /// Another process on the same schema, which the server knows by this name.
    ///
    /// # Errors
    /// The URL cannot be read.
    pub fn beside(&self, name: &str) -> SubjectResult<Self> {
        let separator = match (self.url.contains("://"), self.url.contains('?')) {
            (true, false) => '?',
            (true, true) => '&',
            (false, _) => ' ',
        };
        let url = format!("{}{separator}application_name={name}", self.url);
        let store = connect(&url, &self.schema)?;
        Ok(Self { url, schema: self.schema.clone(), store })
    }

    /// Its schema.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The store with what it has for tests.
    pub fn postgres(&self) -> &PostgresStore {
        &self.store
    }
}

impl Subject for PostgresSubject {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn set_clock(&mut self, now: Timestamp) -> BoxFuture<'_, SubjectResult<()>> {
        Box::pin(async move { self.store.set_test_clock(now).await.map_err(failed) })
    }

    fn corrupt(&mut self, job: JobId, what: Corruption) -> BoxFuture<'_, SubjectResult<()>> {
        let (left, ok) = what.parts();
        Box::pin(async move { self.store.corrupt(job, left, ok).await.map_err(failed) })
    }

    fn crash(&mut self) -> BoxFuture<'_, SubjectResult<()>> {
        let reconnected = connect(&self.url, &self.schema).map(|store| self.store = store);
        Box::pin(async move { reconnected })
    }

    fn remove(&mut self) -> BoxFuture<'_, SubjectResult<()>> {
        Box::pin(async move { self.store.drop_schema().await.map_err(failed) })
    }
}

fn connect(url: &str, schema: &str) -> SubjectResult<PostgresStore> {
    PostgresStore::connect(url, PostgresOptions::default().schema(schema)).map_err(failed)
}

fn failed(error: towpath_core::StoreError) -> ScriptError {
    ScriptError::new(format!("{error} ({:?})", error.source))
}
