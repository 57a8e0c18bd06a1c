//! What is refused when a file is opened, and with which remedy.

use futures_executor::block_on;
use rusqlite::Connection;
use towpath_core::store::{Migration, SCHEMA_VERSION};
use towpath_core::{Store, StoreErrorKind};

use super::{folder, one, open, open_at};
use crate::{SqliteOptions, SqliteStore};

fn refusal(path: &std::path::Path) -> (StoreErrorKind, String) {
    let refused = SqliteStore::open(path, SqliteOptions::default()).unwrap_err();
    (refused.kind, refused.to_string())
}

#[test]
fn the_folder_and_the_file_are_made() {
    let folder = folder();
    let path = folder.path().join("a/b/work.db");
    let store = open_at(&path);
    block_on(store.enqueue(one(1))).unwrap();
    assert_eq!(block_on(store.migrate()).unwrap(), Migration { from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    drop(store);
    let again = open_at(&path);
    let answer = block_on(again.enqueue(one(1))).unwrap();
    assert_eq!(answer.items, [Ok(towpath_core::store::Placed::Existing)]);
}

#[test]
fn a_file_of_the_first_version_is_brought_forward_with_what_it_holds() {
    let folder = folder();
    let path = folder.path().join("work.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(include_str!("../../migrations/0001_tables.sql")).unwrap();
    conn.execute("insert into meta (only, version, floor, next) values (1, 1, 1, 7)", []).unwrap();
    let was =
        "insert into worker values (6, x'00000000000000000000000000000001', 0, x'', 'w', '', '', '', 1, 1, 1, '[]', 1)";
    conn.execute_batch(was).unwrap();
    conn.execute_batch("insert into lease (worker, until_at) values (6, 10)").unwrap();
    conn.pragma_update(None, "application_id", crate::migrate::APPLICATION_ID).unwrap();
    drop(conn);
    let store = open_at(&path);
    let workers = block_on(store.inspect().workers()).unwrap();
    assert_eq!((workers.len(), workers[0].kinds.len()), (1, 0));
    assert_eq!(block_on(store.migrate()).unwrap(), Migration { from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    block_on(store.enqueue(one(1))).unwrap();
}

#[test]
fn a_file_that_is_no_database_is_corrupt() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "buy milk ".repeat(1_000)).unwrap();
    let (kind, message) = refusal(&path);
    assert_eq!(kind, StoreErrorKind::Corrupt);
    assert!(message.contains("notes.txt") && message.contains("restore a backup"), "{message}");
}

#[test]
fn a_damaged_page_is_corrupt_and_not_a_crash() {
    let folder = folder();
    let path = folder.path().join("work.db");
    drop(open_at(&path));
    let mut bytes = std::fs::read(&path).unwrap();
    // Everything behind the header of the first page.
    for byte in &mut bytes[100..] {
        *byte = 0x5a;
    }
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(refusal(&path).0, StoreErrorKind::Corrupt);
}

#[test]
fn a_database_of_another_application_is_left_alone() {
    let folder = folder();
    let path = folder.path().join("theirs.db");
    Connection::open(&path).unwrap().execute_batch("create table customer (name text)").unwrap();
    let (kind, message) = refusal(&path);
    assert_eq!(kind, StoreErrorKind::Corrupt);
    assert!(message.contains("no store: choose another file"), "{message}");
    let tables: i64 =
        Connection::open(&path).unwrap().query_row("select count(*) from sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_newer_floor_is_refused_and_a_newer_version_above_our_floor_is_not() {
    let folder = folder();
    let path = folder.path().join("work.db");
    drop(open_at(&path));
    let set = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    set("update meta set version = 9, floor = 1");
    drop(open_at(&path));
    set("update meta set floor = 9");
    let (kind, message) = refusal(&path);
    assert_eq!(kind, StoreErrorKind::SchemaTooNew);
    assert!(message.contains("use a newer towpath"), "{message}");
}

#[test]
fn a_store_that_can_only_be_read_says_so() {
    let folder = folder();
    let store = open(&folder);
    block_on(store.enqueue(one(1))).unwrap();
    // A test that runs as root may write any file, so the connection is what refuses.
    store.core().with_writer(|conn| conn.pragma_update(None, "query_only", true).unwrap());
    let refused = block_on(store.enqueue(one(2))).unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::ReadOnly);
    store.core().with_writer(|conn| conn.pragma_update(None, "query_only", false).unwrap());
    block_on(store.enqueue(one(2))).unwrap();
}

#[test]
fn a_full_disk_says_so_and_nothing_is_written() {
    let folder = folder();
    let store = open(&folder);
    store.core().with_writer(|conn| conn.pragma_update(None, "max_page_count", 60).unwrap());
    let full = (0..100_000).find_map(|number| block_on(store.enqueue(one(number))).err()).unwrap();
    assert_eq!(full.kind, StoreErrorKind::Full);
    store.core().with_writer(|conn| conn.pragma_update(None, "max_page_count", 1_000_000).unwrap());
    block_on(store.enqueue(one(200_000))).unwrap();
}
