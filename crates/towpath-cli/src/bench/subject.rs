//! Where it is measured: a fresh SQLite file or PostgreSQL schema for each figure, removed afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use miette::{IntoDiagnostic, Result, miette};
use towpath::{Client, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store, tokio_postgres};

/// A directory or a database in which stores are made.
pub(crate) struct Place {
    dir: PathBuf,
    remove: bool,
    postgres: Option<String>,
}

/// A store of its own.
pub(crate) struct Subject {
    pub(crate) client: Client,
    /// Where a child process finds it.
    pub(crate) address: String,
    kind: Kind,
}

enum Kind {
    Sqlite { store: Arc<SqliteStore>, dir: PathBuf },
    Postgres { store: Arc<PostgresStore> },
}

impl Place {
    pub(crate) async fn open(store: Option<&str>) -> Result<Self> {
        let fresh = std::env::current_dir().into_diagnostic()?.join(format!(".towpath-bench-{}", std::process::id()));
        match store {
            None => Self::directory(fresh, true),
            Some(url) if url.starts_with("postgres:") || url.starts_with("postgresql:") => {
                let mut place = Self::directory(fresh, true)?;
                place.postgres = Some(url.to_owned());
                Ok(place)
            }
            Some(url) => match url.strip_prefix("sqlite:") {
                Some(dir) if !Path::new(dir).is_file() => {
                    let dir = PathBuf::from(dir);
                    let remove = !dir.exists();
                    Self::directory(dir, remove)
                }
                Some(file) => Err(miette!(
                    help = "name a directory: the bench makes files of its own there and removes them",
                    "{file} is a file"
                )),
                None => {
                    Err(miette!(help = "use sqlite:DIRECTORY or postgres://USER@HOST/DATABASE", "{url:?} is no store"))
                }
            },
        }
    }

    fn directory(dir: PathBuf, remove: bool) -> Result<Self> {
        std::fs::create_dir_all(&dir).map_err(|error| {
            let help = "name a folder that can be written: --store sqlite:DIRECTORY";
            miette!(help = help, "cannot make the folder {}: {error}", dir.display())
        })?;
        Ok(Self { dir, remove, postgres: None })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A store without a row.
    pub(crate) async fn fresh(&self) -> Result<Subject> {
        let name = format!("bench_{}", Client::new_job_id().as_uuid().simple());
        match &self.postgres {
            None => {
                let dir = self.dir.join(&name);
                let path = dir.join("store.db");
                let store = Arc::new(SqliteStore::open(&path, SqliteOptions::default()).into_diagnostic()?);
                let address = format!("sqlite:{}", path.display());
                Ok(Subject { client: Client::new(store.clone()), address, kind: Kind::Sqlite { store, dir } })
            }
            Some(url) => {
                let store = Arc::new(connect(url, &name)?);
                store.migrate().await.into_diagnostic()?;
                let address = format!("{url}#{name}");
                Ok(Subject { client: Client::new(store.clone()), address, kind: Kind::Postgres { store } })
            }
        }
    }

    /// Removes what it has made.
    pub(crate) async fn close(self) -> Result<()> {
        if self.remove {
            std::fs::remove_dir_all(&self.dir).into_diagnostic()?;
        }
        Ok(())
    }
}

fn connect(url: &str, schema: &str) -> Result<PostgresStore> {
    PostgresStore::connect(url, PostgresOptions::default().schema(schema)).into_diagnostic()
}

/// The store at an address of [`Subject::address`], in a child process.
pub(crate) async fn open(address: &str) -> Result<Client> {
    match address.split_once('#') {
        Some((url, schema)) => Ok(Client::new(Arc::new(connect(url, schema)?))),
        None => Client::open(address).await.into_diagnostic(),
    }
}

impl Subject {
    /// Commits that had to be on disk so far, and the time spent in them. On PostgreSQL that is the time from the answer
    /// to the last statement of a turn until that to its `COMMIT`.
    pub(crate) fn commits(&self) -> (u64, Duration) {
        let counts = match &self.kind {
            Kind::Sqlite { store, .. } => store.commits(),
            Kind::Postgres { store } => store.commits(),
        };
        (counts.durable, counts.durable_time)
    }

    /// All commits so far, those that need not be on disk included.
    pub(crate) fn all_commits(&self) -> u64 {
        let counts = match &self.kind {
            Kind::Sqlite { store, .. } => store.commits(),
            Kind::Postgres { store } => store.commits(),
        };
        counts.durable + counts.lazy
    }

    /// The store, if it is one on PostgreSQL.
    pub(crate) fn postgres(&self) -> Option<&PostgresStore> {
        match &self.kind {
            Kind::Sqlite { .. } => None,
            Kind::Postgres { store } => Some(store),
        }
    }

    /// A transaction on PostgreSQL that stays open until it is dropped, and sees all that is there now.
    pub(crate) async fn pin(&self) -> Result<Option<tokio_postgres::Client>> {
        let Some((url, _)) = self.address.split_once('#') else { return Ok(None) };
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.into_diagnostic()?;
        tokio::spawn(connection);
        let pin = "begin isolation level repeatable read; select txid_current()";
        client.batch_execute(pin).await.into_diagnostic()?;
        Ok(Some(client))
    }

    /// Waits until a worker has registered.
    pub(crate) async fn wait_for_worker(&self) -> Result<()> {
        while self.client.inspect().workers().await.into_diagnostic()?.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Removes the store.
    pub(crate) async fn remove(self) -> Result<()> {
        match self.kind {
            Kind::Sqlite { store, dir } => {
                drop(self.client);
                drop(store);
                std::fs::remove_dir_all(dir).into_diagnostic()
            }
            Kind::Postgres { store } => store.drop_schema().await.into_diagnostic(),
        }
    }
}
