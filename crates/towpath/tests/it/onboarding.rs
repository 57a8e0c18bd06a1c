//! The example of onboarding, with its worker killed in the middle: everybody comes to the right end, and what was done
//! twice was done twice in a row.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use example::{OnboardError, User};
use towpath::RunError;

use crate::stores::{self, Subject};

#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/onboarding.rs"]
mod example;

const STORE: &str = "TOWPATH_ONBOARDING_STORE";
const WORLD: &str = "TOWPATH_ONBOARDING_WORLD";
const USERS: usize = 40;

/// The worker process: this test binary, started below with the environment that names its store. Run by itself it has
/// nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let world = std::env::var(WORLD).unwrap();
    let client = stores::open(&url).await;
    example::worker(&client, example::World::at(world.as_ref())).unwrap().join().await;
}

fn spawn(url: &str, world: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "onboarding::worker_process", "--nocapture"])
        .env(STORE, url)
        .env(WORLD, world)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_comes_to_the_right_end_though_the_worker_is_killed() {
    let Subject { client, url, _dir } = stores::sqlite();
    let outside = tempfile::tempdir().unwrap();
    let world = outside.path().join("world.txt");
    let mut runs = Vec::new();
    for n in 0..USERS {
        let name = format!("user-{n}");
        // Every other one never follows the link.
        let patience = Duration::from_millis(if n % 2 == 0 { 60_000 } else { 300 });
        runs.push(client.start(example::ONBOARD, &name, &User { name: name.clone(), patience }).await.unwrap());
    }
    let mut process = spawn(&url, &world);
    // In the middle of the second step of most.
    while std::fs::read_to_string(&world).map_or(0, |text| text.lines().count()) < USERS + USERS / 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    process.kill().unwrap();
    process.wait().unwrap();
    for n in (0..USERS).step_by(2) {
        example::confirm(&client, &format!("user-{n}")).await.unwrap();
    }
    let mut process = spawn(&url, &world);
    for (n, run) in runs.iter().enumerate() {
        let result = client.result(run).await;
        if n % 2 == 0 {
            assert_eq!(result.unwrap(), format!("user-{n} is in, by mail user-{n}/1"));
        } else {
            assert!(matches!(result, Err(RunError::Failed(OnboardError::Expired))), "{result:?}");
        }
    }
    process.kill().unwrap();
    process.wait().unwrap();

    let mut done: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let text = std::fs::read_to_string(&world).unwrap();
    for line in text.lines() {
        let (what, name) = line.split_once(' ').unwrap();
        done.entry(name.to_owned()).or_default().push(what.to_owned());
    }
    let lines = text.lines().count();
    assert!(lines > 3 * USERS, "{lines} lines: the kill has hit no step");
    for n in 0..USERS {
        let steps = done.get_mut(&format!("user-{n}")).unwrap();
        steps.dedup();
        assert_eq!(*steps, ["reserve", "welcome", if n % 2 == 0 { "activate" } else { "release" }]);
    }
}
