//! Brings the schema to this binary's version. Processes that do so at once wait for each other.

use std::hash::{DefaultHasher, Hash, Hasher};

use towpath_core::store::{MIN_BINARY, Migration, SCHEMA_VERSION, SchemaState};
use towpath_core::{StoreError, StoreErrorKind};

use crate::error::Fault;
use crate::queries::{in_schema, quoted};
use crate::rows::{count, signed};
use crate::session::{Commit, Session};

/// Every migration, in the order of its number.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [
    concat!(
        include_str!("../migrations/0001_tables.sql"),
        include_str!("../migrations/0001_functions.sql"),
        include_str!("../migrations/0001_interface.sql")
    ),
    include_str!("../migrations/0002_kinds_of_workers.sql"),
];

pub(crate) async fn migrate(session: Session, schema: &str) -> Result<Migration, Fault> {
    session.begin(Commit::Durable).await?;
    // Held to the end of the transaction, so that a process that dies leaves nothing behind.
    session.batch(&format!("select pg_advisory_xact_lock({})", lock_number(schema))).await?;
    let name = quoted(schema);
    let literal = name.replace('\'', "''");
    let is_there = format!("select to_regclass('{literal}.meta') is not null");
    let state = if session.ask(&is_there).await?.as_deref() == Some("t") {
        let meta = session.ask(&format!("select version || ' ' || floor from {name}.meta")).await?.unwrap_or_default();
        let mut parts = meta.split(' ').map(|number| number.parse().unwrap_or(0));
        SchemaState { version: count(parts.next().unwrap_or(0)), floor: count(parts.next().unwrap_or(0)) }
    } else {
        SchemaState { version: 0, floor: 0 }
    };
    if !state.serves_us() {
        let message = format!(
            "the schema {schema:?} has version {} and serves binaries from {} on, this one is {SCHEMA_VERSION}: use a newer one",
            state.version, state.floor
        );
        return Err(StoreError::new(StoreErrorKind::SchemaTooNew, "migrate", message).into());
    }
    if state.version == 0 {
        // Without this question a user who may not make schemas could not use one that was made for them.
        let exists = format!(
            "select exists (select 1 from pg_namespace where quote_ident(nspname) = quote_ident('{}'))",
            schema.replace('\'', "''")
        );
        if session.ask(&exists).await?.as_deref() != Some("t") {
            session.batch(&format!("create schema {name}")).await?;
        }
    }
    for migration in MIGRATIONS.iter().skip(state.version as usize) {
        session.batch(&in_schema(migration, schema)).await?;
    }
    let to = state.version.max(SCHEMA_VERSION);
    if state.version < SCHEMA_VERSION {
        let values = format!("values ({SCHEMA_VERSION}, {MIN_BINARY})");
        let update = "do update set version = excluded.version, floor = excluded.floor";
        session.batch(&format!("insert into {name}.meta (version, floor) {values} on conflict (one) {update}")).await?;
    }
    session.commit().await?;
    Ok(Migration { from: state.version, to })
}

/// The same number in every process that migrates this schema.
fn lock_number(schema: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    ("towpath", schema).hash(&mut hasher);
    signed(hasher.finish())
}
