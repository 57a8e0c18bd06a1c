//! Every test of correctness, on every store, with what they need.

use crate::beside;
use crate::cluster::Cluster;
use crate::command::cargo;
use crate::pooler::Pooler;
use crate::tools;

/// Where tests find a throwaway cluster.
pub(crate) const POSTGRES: &str = "TOWPATH_TEST_POSTGRES";

/// Where tests find the browser for the dashboard's pages, and the script that looks at them.
const CHROMIUM: &str = "TOWPATH_TEST_CHROMIUM";
const AXE: &str = "TOWPATH_TEST_AXE";

/// Where tests find the program that makes up requests to the API.
const SCHEMATHESIS: &str = "TOWPATH_TEST_SCHEMATHESIS";

/// Where tests find psql, and a Python that has psycopg.
const PSQL: &str = "TOWPATH_TEST_PSQL";
const PYTHON: &str = "TOWPATH_TEST_PYTHON";

/// What properties are drawn from: the same each time, so that a red run is red again; a soak draws anew.
const PROPTEST: &str = "PROPTEST_RNG_SEED";

/// Says that the way there leads through a pooler.
const POOLER: &str = "TOWPATH_TEST_POOLER";

/// What the pooler is tried with: all of PostgreSQL's tests, but those in which what varies is the client, not what is in between.
const THROUGH_POOLER: &str = "(test(/postgres/) + package(towpath-postgres)) \
    - test(/client_dies_after_every_other_answer|by_the_function_for_applications|random_graphs_on/)";

pub(crate) fn run(names: &[String]) -> Result<(), String> {
    tools::nextest()?;
    let bin = tools::postgres()?;
    let pgbouncer = tools::pgbouncer()?;
    let cluster = Cluster::start(&bin)?;
    let url = cluster.url();
    let mut args = vec!["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"];
    args.extend(names.iter().map(String::as_str));
    let chromium = tools::chromium()?.display().to_string();
    let axe = tools::axe().map(|script| script.display().to_string());
    let drawn = std::env::var(PROPTEST).unwrap_or_else(|_| "1".into());
    let mut given = vec![(POSTGRES, url.as_str()), (CHROMIUM, chromium.as_str()), (PROPTEST, drawn.as_str())];
    let schemathesis = tools::schemathesis()?.display().to_string();
    given.push((SCHEMATHESIS, schemathesis.as_str()));
    let (psql, python) = (bin.join("psql").display().to_string(), tools::psycopg()?.display().to_string());
    given.extend([(PSQL, psql.as_str()), (PYTHON, python.as_str())]);
    given.extend(axe.as_deref().map(|axe| (AXE, axe)));
    cargo(&args, &given)?;
    if names.is_empty() {
        let pooler = Pooler::start(&pgbouncer, &cluster)?;
        let through = pooler.url();
        eprintln!("the same for PostgreSQL, through a transaction pooler:");
        let args = ["nextest", "run", "--workspace", "--all-features", "--no-fail-fast", "-E", THROUGH_POOLER];
        cargo(&args, &[(POSTGRES, &through), (POOLER, "transaction")])?;
        cargo(&["test", "--workspace", "--all-features", "--doc"], &[(POSTGRES, &url)])?;
        beside::run_all(&url)?;
    }
    match cluster.deadlocks() {
        0 => Ok(()),
        found => Err(format!("the server's log tells of {found} deadlocks; lock orders must not cross")),
    }
}

pub(crate) fn hold_cluster() -> Result<(), String> {
    let cluster = Cluster::start(&tools::postgres()?)?;
    println!("export {POSTGRES}={}", cluster.url());
    println!("press Enter to remove it");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map(|_| ()).map_err(|e| e.to_string())
}
