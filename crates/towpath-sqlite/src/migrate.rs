//! Bringing a file to this binary's schema: numbered steps, each only adding.

use rusqlite::{Connection, OptionalExtension};
use towpath_core::StoreErrorKind;
use towpath_core::store::{MIN_BINARY, Migration, SCHEMA_VERSION, SchemaState};

use crate::error::Fault;

/// Marks a file as a store: `TwPt`. `file(1)` and other programs can tell.
pub(crate) const APPLICATION_ID: i32 = 0x5477_5074;

/// The steps, in order; the place of a step plus one is the version it makes.
const STEPS: [&str; SCHEMA_VERSION as usize] =
    [include_str!("../migrations/0001_tables.sql"), include_str!("../migrations/0002_kinds_of_workers.sql")];

/// Migrates within the transaction that is open on `conn`.
pub(crate) fn migrate(conn: &Connection) -> Result<Migration, Fault> {
    let stored = schema(conn)?;
    let from = stored.map_or(0, |s| s.version);
    if let Some(stored) = stored
        && !stored.serves_us()
    {
        return Err(Fault::Refused(
            StoreErrorKind::SchemaTooNew,
            format!(
                "the schema has version {} and serves binaries from {}, this one has {SCHEMA_VERSION}: use a newer \
                 towpath",
                stored.version, stored.floor
            ),
        ));
    }
    for step in STEPS.iter().skip(from as usize) {
        conn.execute_batch(step)?;
    }
    if from < SCHEMA_VERSION {
        conn.prepare(sql!("meta_write"))?.execute([SCHEMA_VERSION, MIN_BINARY])?;
        conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    Ok(Migration { from, to: from.max(SCHEMA_VERSION) })
}

/// What the file says of itself; `None` for an empty one.
fn schema(conn: &Connection) -> Result<Option<SchemaState>, Fault> {
    let tables: i64 = conn.prepare(sql!("table_count"))?.query_row([], |row| row.get(0))?;
    if tables == 0 {
        return Ok(None);
    }
    let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION_ID {
        return Err(Fault::corrupt(
            "it is a SQLite database of another application, and no store: choose another file",
        ));
    }
    conn.prepare(sql!("meta_read"))?
        .query_row([], |row| Ok(SchemaState { version: row.get(0)?, floor: row.get(1)? }))
        .optional()?
        .ok_or_else(|| Fault::corrupt("its schema states no version: restore a backup"))
        .map(Some)
}
