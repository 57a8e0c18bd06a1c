//! The page `docs/schema.md`: every table, its columns, its indexes, and the statements that each index serves, of both
//! databases. Printed from the migrations and from the headers of the statements; `TOWPATH_UPDATE=1` writes it anew.
//! That a header names the indexes of the plan is tested by each store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod meanings;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use files::{Index, Store, Table};

const INTRODUCTION: &str = "\
# The schema

Printed from `migrations/` and from the headers in `queries/` of both stores. What the verbs do with the tables is in
[store.md](store.md). The tables are the same in both databases, but for what is said here; so are the names of most
statements. An index is named by its table and columns; a statement is named by its file.

Units: an instant is a `bigint` of microseconds since 1970 (UTC), by the store's clock; `_us` is a duration in microseconds,
`_bytes` a size. Ids are 16 bytes (`uuid` in PostgreSQL). A **key** is a number drawn by the store, in the order of arrival.
Codes are those of the core (`End::code`, `AttemptOutcome::code`, `Codec::code`, `GraphEnd::code`, `StopReason::code`).
`?` behind a type: may be null.
";

#[test]
fn the_page_of_the_schema_is_that_of_the_migrations_and_the_statements() {
    let (sqlite, postgres) = (Store::read("towpath-sqlite"), Store::read("towpath-postgres"));
    let mut page = String::from(INTRODUCTION);
    let mut meant: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (name, purpose) in meanings::TABLES {
        write!(page, "\n## `{name}`\n\n{purpose}\n\n").unwrap();
        let tables = [&sqlite, &postgres].map(|store| store.tables.iter().find(|table| table.name == *name));
        columns(&mut page, name, tables, &mut meant);
        indexes(&mut page, name, [&sqlite, &postgres]);
    }
    let told: BTreeSet<&str> = meanings::TABLES.iter().map(|(name, _)| *name).collect();
    for table in sqlite.tables.iter().chain(&postgres.tables) {
        assert!(told.contains(table.name.as_str()), "what the table {} is for is said nowhere", table.name);
    }
    for (table, column, _) in meanings::COLUMNS {
        assert!(meant.contains(&(*table, *column)), "{table}.{column} has a meaning, but is in no migration");
    }
    for store in [&sqlite, &postgres] {
        store.headers_name_indexes_that_are_there();
    }
    check("schema.md", &page);
}

fn columns(
    page: &mut String,
    name: &str,
    tables: [Option<&Table>; 2],
    meant: &mut BTreeSet<(&'static str, &'static str)>,
) {
    page.push_str("| column | SQLite | PostgreSQL | meaning |\n|---|---|---|---|\n");
    let mut seen = BTreeSet::new();
    for column in tables.iter().flatten().flat_map(|table| &table.columns) {
        if !seen.insert(&column.name) {
            continue;
        }
        let kinds = tables.map(|table| {
            let found = table.and_then(|table| table.columns.iter().find(|other| other.name == column.name));
            found.map_or("-", |found| found.kind.as_str())
        });
        let (table, column, meaning) = meanings::of(name, &column.name);
        meant.insert((table, column));
        writeln!(page, "| {column} | {} | {} | {meaning} |", kinds[0], kinds[1]).unwrap();
    }
}

fn indexes(page: &mut String, table: &str, stores: [&Store; 2]) {
    let of = |store: &Store| -> BTreeMap<String, Index> {
        let of_table = store.indexes.iter().filter(|index| index.table == table);
        of_table.map(|index| (index.name(), index.clone())).collect()
    };
    let both = stores.map(of);
    let names: BTreeSet<&String> = both.iter().flat_map(BTreeMap::keys).collect();
    if names.is_empty() {
        return;
    }
    page.push_str("\n| index | serves on SQLite | serves on PostgreSQL |\n|---|---|---|\n");
    for name in names {
        let served = [0, 1].map(|at| match both[at].get(name) {
            None => "-".to_owned(),
            Some(_) => match stores[at].served_by(name).join(", ") {
                served if served.is_empty() => "no statement: it keeps rows apart".to_owned(),
                served => served,
            },
        });
        let index = both.iter().find_map(|indexes| indexes.get(name)).unwrap();
        writeln!(page, "| {name}{} | {} | {} |", index.note, served[0], served[1]).unwrap();
    }
}

fn check(page: &str, expected: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/{page} differs from the code: run the tests with TOWPATH_UPDATE=1");
}
