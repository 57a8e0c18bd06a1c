//! The statements themselves: all are listed, say what they are for, and use their indexes.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;

use super::{folder, open};
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
    let conn = Connection::open(folder.path().join("work.db")).unwrap();
    // These read tables that stay small, or are questions of people, who page.
    let small = ["WorkerLeases", "WorkerList", "Peers", "StopFind", "BlockedByOthers", "QueueList", "Census"];
    let people = ["JobList", "GraphList", "AuditList", "GraphEdges", "GraphNodes"];
    // A graph's nodes come by name and are put in order; each reads one graph.
    let sorted = ["NodeList", "NodeKeys", "GraphCounts", "Settleable", "JobListOfGraph"];
    for query in Query::ALL {
        let name = format!("{query:?}");
        let plan = plan(&conn, query.text());
        if small.contains(&name.as_str()) || people.contains(&name.as_str()) {
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

/// Tables that are read whole where it is meant: one row, overflow, stops.
const GROWS_NOT: [&str; 4] = ["meta", "SCAN u", "SCAN stop", "SCAN l"];

fn plan(conn: &Connection, text: &str) -> Vec<String> {
    let mut plan = conn.prepare(&format!("explain query plan {text}")).unwrap();
    let parameters = plan.parameter_count();
    let nothing = rusqlite::params_from_iter((0..parameters).map(|_| 0));
    let rows = plan.query_map(nothing, |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect()
}
