//! The tests that draw at random, again and again with new seeds, for as long as wanted.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::cluster::Cluster;
use crate::command::cargo;
use crate::test::POSTGRES;
use crate::tools;

const MINUTES: u64 = 30;
/// Tests that take a seed: the differential test, the simulation, the kills.
const FILTER: &str = "test(/random/) + test(/chance/) + test(/sim/) + test(/fifty_kills/) + test(/killed/)";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let minutes = match args {
        [] => MINUTES,
        [minutes] => minutes.parse().map_err(|_| format!("{minutes:?} is no number of minutes"))?,
        _ => return Err("usage: cargo xtask random [MINUTES]".into()),
    };
    tools::nextest()?;
    let cluster = Cluster::start(&tools::postgres()?)?;
    let url = cluster.url();
    let started = Instant::now();
    let mut rounds = 0;
    while started.elapsed() < Duration::from_secs(60 * minutes) {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_micros() as u64 >> 4).to_string();
        eprintln!("round {rounds}, TOWPATH_SEED={seed}");
        let args = ["nextest", "run", "--workspace", "--all-features", "--no-fail-fast", "-E", FILTER];
        cargo(&args, &[(POSTGRES, &url), ("TOWPATH_SEED", &seed)])?;
        rounds += 1;
    }
    match cluster.deadlocks() {
        0 => {
            eprintln!("{rounds} rounds in {} minutes, no difference, no deadlock", started.elapsed().as_secs() / 60);
            Ok(())
        }
        found => Err(format!("the server's log tells of {found} deadlocks")),
    }
}
