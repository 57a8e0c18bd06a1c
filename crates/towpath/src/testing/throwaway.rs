//! A place for a store that is there for one test: a folder with a file of SQLite's, or a schema on PostgreSQL.

#[cfg(feature = "sqlite")]
use std::path::PathBuf;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use std::sync::Arc;

#[cfg(feature = "sqlite")]
use towpath_core::ManualClock;

use super::harness::Harness;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use super::harness::told;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::client::Client;
#[cfg(feature = "sqlite")]
use crate::random;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::worker::WorkerBuilder;

/// What goes with a harness.
#[derive(Default)]
pub(super) enum Throwaway {
    /// Nothing.
    #[default]
    Nothing,
    /// A folder, and the file in it.
    #[cfg(feature = "sqlite")]
    Folder(PathBuf, String),
    /// The address of a database, and a schema in it.
    #[cfg(feature = "postgres")]
    Schema(String, String),
}

#[cfg(feature = "sqlite")]
impl Harness {
    /// A harness on SQLite, on a file of its own that goes with it. The application's tables can be made in that file: [`place`](Self::place)
    /// is its path.
    ///
    /// # Panics
    /// The file cannot be made, or the worker cannot be built.
    pub async fn on_sqlite(worker: impl FnOnce(&Client) -> WorkerBuilder) -> Self {
        let folder = std::env::temp_dir().join(format!("towpath-test-{}", random::job_id()));
        if let Err(e) = std::fs::create_dir_all(&folder) {
            panic!("{} cannot be made: {e}", folder.display());
        }
        let file = folder.join("store.db");
        let throwaway = Throwaway::Folder(folder, file.display().to_string());
        let clock = ManualClock::default();
        let mut options = towpath_sqlite::SqliteOptions::default();
        options.clock = Arc::new(clock.clone());
        let store = told(towpath_sqlite::SqliteStore::open(&file, options));
        Self::on(Arc::new(store), clock, worker).await.with(throwaway)
    }
}

#[cfg(feature = "postgres")]
impl Harness {
    /// A harness on PostgreSQL, in a schema of its own in this database, which is dropped with it; [`place`](Self::place) is its name. A test
    /// that is killed leaves its schema: `towpath_test_` and an id.
    ///
    /// # Panics
    /// The database cannot be reached, its user may not make a schema, or the worker cannot be built.
    pub async fn on_postgres(url: &str, worker: impl FnOnce(&Client) -> WorkerBuilder) -> Self {
        let schema = format!("towpath_test_{}", Client::new_job_id().as_uuid().simple());
        let options = towpath_postgres::PostgresOptions::default().schema(&schema);
        let store = Arc::new(told(towpath_postgres::PostgresStore::connect(url, options)));
        let throwaway = Throwaway::Schema(url.to_owned(), schema);
        told(towpath_core::Store::migrate(&*store).await);
        Self::on(Arc::clone(&store) as _, store, worker).await.with(throwaway)
    }
}

impl Harness {
    /// Where the store of [`on_sqlite`](Self::on_sqlite) or [`on_postgres`](Self::on_postgres) lies: the path of its file, or the name of its
    /// schema. Empty of any other.
    pub fn place(&self) -> &str {
        match &self.throwaway {
            Throwaway::Nothing => "",
            #[cfg(feature = "sqlite")]
            Throwaway::Folder(_, file) => file,
            #[cfg(feature = "postgres")]
            Throwaway::Schema(_, schema) => schema,
        }
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        match self {
            Self::Nothing => {}
            #[cfg(feature = "sqlite")]
            Self::Folder(folder, _) => {
                if let Err(e) = std::fs::remove_dir_all(&*folder) {
                    eprintln!("{} stays: {e}", folder.display());
                }
            }
            #[cfg(feature = "postgres")]
            Self::Schema(url, schema) => {
                let (url, name) = (std::mem::take(url), std::mem::take(schema));
                let options = towpath_postgres::PostgresOptions::default().schema(&name);
                // Of its own: the test's runtime may be on its way out, and cannot wait here.
                let dropped = std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                    let runtime = runtime.map_err(|e| e.to_string())?;
                    let gone = async { towpath_postgres::PostgresStore::connect(&url, options)?.drop_schema().await };
                    runtime.block_on(gone).map_err(|e| e.to_string())
                });
                if let Ok(Err(e)) = dropped.join() {
                    eprintln!("the schema {name} stays: {e}");
                }
            }
        }
    }
}
