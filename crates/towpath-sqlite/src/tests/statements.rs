//! The statements themselves: all are listed, say what they are for, and use their indexes.

use std::collections::BTreeSet;
use std::path::Path;

use futures_executor::block_on;
use rusqlite::{Connection, StatementStatus};
use tempfile::TempDir;
use towpath_core::store::{Enqueue, Item, Move};
use towpath_core::{Due, Report, Store, settle_report};

use super::{folder, id, job, open, register, take_turn, worker};
use crate::SqliteOptions;
use crate::queries::Query;

#[test]
fn every_file_is_a_statement_with_a_header() {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("queries")).unwrap();
    let texts: BTreeSet<String> = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    for text in &texts {
        assert!(text.starts_with("-- "), "{text}");
        let statement: String = text.lines().filter(|line| !line.starts_with("--")).collect();
        assert!(!statement.contains("select *") && !statement.contains(';'), "{text}");
    }
    for query in Query::ALL {
        assert!(texts.contains(query.text()), "{query:?}");
    }
}

#[test]
fn no_statement_on_the_path_of_work_scans_or_sorts_what_grows() {
    let folder = folder();
    drop(open(&folder));
    let conn = connection(&folder);
    // These read tables that stay small, or are questions of people, who page and stop counting somewhere.
    let small = ["WorkerLeases", "WorkerList", "Peers", "StopFind", "BlockedByOthers", "QueueList", "Census"];
    // A sweeper's look counts a part of the open graphs that is bounded by its size; a copy of a journal reads that journal; what is kept
    // for a decision is taken by the next turn of any worker.
    let bounded = ["Suspects", "EntryCarry", "SettleableHeld"];
    let people = [
        "JobList",
        "JobListLive",
        "JobListTagged",
        "TagList",
        "JobListWaiting",
        "StateCounts",
        "ReadyMany",
        "GraphList",
        "AuditList",
        "GraphEdges",
        "GraphNodes",
        "PatchList",
        "VersionList",
        "StreamList",
        "EnqueuedIn",
    ];
    // A graph's nodes come by name and are put in order; each reads one graph.
    let sorted = [
        "NodeList",
        "NodeKeys",
        "GraphCounts",
        "SettleableIdle",
        "JobListOfGraph",
        "RunBegunOf",
        "ContentNodes",
        "ShapeNodes",
        "RetryDecisions",
    ];
    for query in Query::ALL {
        let name = format!("{query:?}");
        let plan = plan(&conn, query.text());
        if [&small[..], &bounded, &people].concat().contains(&name.as_str()) {
            continue;
        }
        for step in plan {
            let scans = step.starts_with("SCAN")
                && !step.contains("CONSTANT ROW")
                && !GROWS_NOT.iter().any(|t| step.contains(t));
            let sorts = step.contains("TEMP B-TREE") && !sorted.contains(&name.as_str());
            assert!(!scans && !sorts && !step.contains("AUTOMATIC"), "{name}: {step}");
        }
    }
}

/// A connection as the store has it.
fn connection(folder: &TempDir) -> Connection {
    crate::open::writer(&folder.path().join("work.db"), &SqliteOptions::default()).unwrap()
}

/// SQLite plans for what is bound if it is let, and plans again whenever that is bound.
#[test]
fn no_statement_is_compiled_again_for_other_parameters() {
    let folder = folder();
    let conn = connection(&folder);
    let (mut again, mut ran) = (Vec::new(), 0);
    for query in Query::ALL {
        let mut statement = conn.prepare(query.text()).unwrap();
        for round in 0..3 {
            let parameters = rusqlite::params_from_iter((0..statement.parameter_count()).map(|_| round));
            // Some refuse what means nothing; they have been planned all the same.
            let done = statement.query(parameters).and_then(|mut rows| rows.next().map(drop));
            ran += usize::from(done.is_ok());
        }
        if statement.get_status(StatementStatus::RePrepare) > 0 {
            again.push(*query);
        }
    }
    assert!(ran > Query::ALL.len(), "{ran}");
    assert!(again.is_empty(), "{again:?}");
}

/// Tables that are read whole where it is meant: one row, overflow, stops.
const GROWS_NOT: [&str; 4] = ["meta", "SCAN u", "SCAN stop", "SCAN l"];

fn plan(conn: &Connection, text: &str) -> Vec<String> {
    let mut plan = conn.prepare(&format!("explain query plan {text}")).unwrap();
    let parameters = plan.parameter_count();
    let nothing = rusqlite::params_from_iter((0..parameters).map(|_| 0));
    let rows = plan.query_map(nothing, |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// What a header says is what `docs/schema.md` prints.
#[test]
fn the_headers_name_the_indexes_of_the_plans() {
    let folder = folder();
    drop(open(&folder));
    let conn = connection(&folder);
    let mut wrong = Vec::new();
    // These read tables whole, each by its smallest index.
    for query in
        Query::ALL.iter().filter(|query| ![Query::Census, Query::PatchList, Query::VersionList].contains(query))
    {
        let header: Vec<&str> = query.text().lines().take_while(|line| line.starts_with("--")).collect();
        let header = header.join(" ").replace(" -- ", " ");
        for step in plan(&conn, query.text()) {
            // A list in a text has no index, whatever its plan calls it.
            let step = step.split_once(" VIRTUAL TABLE ").map_or(step.as_str(), |(table, _)| table);
            let index = step.split_once(" INDEX ").map(|(_, rest)| rest.split(' ').next().unwrap().to_owned());
            let named = match &index {
                Some(index) => header.contains(&described(&conn, index)),
                None if step.contains("PRIMARY KEY") => header.contains("Index: "),
                None => true,
            };
            if !named {
                wrong.push(format!("{query:?}: {step}"));
            }
        }
    }
    assert!(wrong.is_empty(), "indexes that no header names:\n{}", wrong.join("\n"));
}

/// An index by its table and columns.
fn described(conn: &Connection, index: &str) -> String {
    let text = "select tbl_name, (select group_concat(name, ', ') from pragma_index_info(?1)) from sqlite_schema \
        where name = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let (table, columns) = conn.query_row(text, [index], read).unwrap();
    format!("{table} ({columns})")
}

/// Every statement of enqueue, claim, settle, release, extend, promote and prune that looks anything up.
const HOT: [Query; 25] = [
    Query::JobFind,
    Query::LaneFind,
    Query::ReadyHead,
    Query::ReadyTake,
    Query::ReadyTakeMoved,
    Query::LaterDue,
    Query::LaterNext,
    Query::LaterTake,
    Query::DeadlineDue,
    Query::RunningHeld,
    Query::RunningDelete,
    Query::RunningGiven,
    Query::RunningKnown,
    Query::RunningOf,
    Query::RunningTakeOver,
    Query::EdgeChildren,
    Query::ChildRead,
    Query::NodeRead,
    Query::NodeUpdate,
    Query::StopRead,
    Query::WorkerTurn,
    Query::WorkerFind,
    Query::EndedPast,
    Query::GraphPast,
    Query::UndecidedNodes,
];

#[test]
fn the_statements_on_the_path_of_work_use_their_indexes_with_and_without_statistics() {
    let folder = folder();
    let store = open(&folder);
    fill(&store);
    drop(store);
    let conn = connection(&folder);
    let plans = || {
        let mut text = String::new();
        for query in HOT {
            text.push_str(&format!("{query:?}\n"));
            plan(&conn, query.text()).iter().for_each(|step| text.push_str(&format!("  {step}\n")));
        }
        text
    };
    let blind = plans();
    conn.execute_batch("analyze; analyze sqlite_schema").unwrap();
    assert_eq!(plans(), blind, "statistics, which a user may have made, change a plan");
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("plans", blind) });
}

/// Thousands of jobs, some of them later, running or over.
fn fill(store: &crate::SqliteStore) {
    for part in 0..5 {
        let items = (0..1_000).map(|n| {
            let job = job(part * 1_000 + n);
            Item::job(if n % 5 == 0 { job.due(Due::After(std::time::Duration::from_secs(n))) } else { job })
        });
        block_on(store.enqueue(Enqueue { items: items.collect() })).unwrap();
    }
    // A table of one row is rightly read whole.
    (1..50).for_each(|number| register(store, worker(number)));
    let given = take_turn(store, worker(1), 1, Vec::new(), 1_000).assigned;
    let settle = given.iter().take(500).filter_map(|assigned| match assigned {
        towpath_core::store::Assigned::Job(job) => {
            Some(settle_report(&job.head, Report::Succeeded { output: None, branches: Vec::new() }))
        }
        towpath_core::store::Assigned::Decision(_) => None,
    });
    let settle: Vec<_> = settle.collect();
    assert!(settle.len() == 500 && settle.iter().all(|settle| matches!(settle.then, Move::End(_))));
    take_turn(store, worker(1), 2, settle, 0);
    assert!(block_on(store.ended(vec![id(1)])).unwrap()[0].is_some());
}
