//! `towpath bench`: what this machine and this store give, with the library's own defaults.
//!
//! One line per figure. The time of one lone fsync stands beside all of them, since on many machines it decides.

mod drain;
mod enqueue;
mod graphs;
mod jobs;
mod large;
mod layout;
mod maps;
mod measure;
mod pages;
mod process;
mod recover;
mod runs;
mod sleepers;
mod steady;
mod subject;
mod wake;

use std::time::Duration;

use miette::{IntoDiagnostic, Result, miette};
use serde_json::{Value, json};

pub(crate) use process::{ChildArgs, run_child};
use recover::Gone;
use subject::Place;

/// What a user may set.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BenchArgs {
    /// Where to measure: sqlite:DIRECTORY, or postgres://USER@HOST/DATABASE. Files and schemas of its own are made
    /// there and removed. Without it, SQLite in a directory of its own beneath the current one.
    #[arg(long, env = "TOWPATH_STORE")]
    store: Option<String>,
    /// Only the figures whose name contains this; may be repeated.
    #[arg(long)]
    only: Vec<String>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// How many jobs a drain has.
    #[arg(long, default_value_t = 100_000)]
    jobs: usize,
    /// How many ended jobs lie in the store for `drain_with_history` and `steady` (which has as many that are not due yet),
    /// and how many jobs for `pages_1m`
    #[arg(long, default_value_t = 1_000_000)]
    history: usize,
    /// How long `steady` and `pinned_horizon` take. They are left out unless they are named by --only.
    #[arg(long, default_value_t = 180)]
    seconds: u64,
    /// At how many jobs a second `pinned_horizon` enqueues.
    #[arg(long, default_value_t = 20_000)]
    pace: usize,
    /// How often the whole is repeated.
    #[arg(long, default_value_t = 1)]
    runs: u32,
}

/// One figure.
pub(crate) struct Figure {
    test: &'static str,
    value: f64,
    unit: &'static str,
    n: usize,
    params: Value,
}

impl Figure {
    pub(crate) fn new(test: &'static str, value: f64, unit: &'static str, n: usize) -> Self {
        Self { test, value, unit, n, params: json!({}) }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params[name] = value.into();
        self
    }

    fn print(&self, as_json: bool) -> Result<()> {
        let value = (self.value * 1_000.0).round() / 1_000.0;
        let line = if as_json {
            let figure =
                json!({"test": self.test, "value": value, "unit": self.unit, "n": self.n, "params": self.params});
            serde_json::to_string(&figure).into_diagnostic()?
        } else {
            let params = self.params.as_object().filter(|p| !p.is_empty()).map(|_| self.params.to_string());
            format!("{:24} {value:>14} {:8} n={} {}", self.test, self.unit, self.n, params.unwrap_or_default())
        };
        println!("{}", line.trim_end());
        Ok(())
    }
}

const FSYNC: &str = "fsync_p50";
/// Figures that take minutes: only those who name them wait for them.
const LONG: [&str; 2] = ["steady", "pinned_horizon"];
const SCHEDULES: usize = 10_000;
/// Runs at work when their worker is gone.
const RECOVERED: usize = 10_000;

/// The figures in the order in which they are taken. One measurement may give several.
const TESTS: &[(&str, &[&str])] = &[
    ("fsync", &[FSYNC]),
    ("enqueue_one", &["enqueue_one"]),
    ("enqueue_32", &["enqueue_32"]),
    ("enqueue_bulk", &["enqueue_bulk"]),
    ("drain", &["drain"]),
    ("drain_with_history", &["drain_with_history"]),
    ("wake", &["wake_p50", "wake_p99"]),
    ("wake_other_process", &["wake_other_process_p50"]),
    ("chain_100", &["chain_100", "chain_100_commits"]),
    ("fan_1000", &["fan_1000"]),
    ("diamonds_100", &["diamonds_100"]),
    ("graph_enqueue_10k", &["graph_enqueue_10k"]),
    ("chains_100x100", &["chains_100x100"]),
    ("layers_10x100", &["layers_10x100"]),
    ("fan_10k", &["fan_10k"]),
    ("cancel_and_view", &["cancel_10k", "view_10k"]),
    ("idle_graphs_1k", &["idle_graphs_1k"]),
    ("map_10k", &["map_10k"]),
    ("run_steps", &["run_steps"]),
    ("run_latency", &["run_latency"]),
    ("signal_roundtrip", &["signal_roundtrip_p50", "signal_roundtrip_1k_p50"]),
    ("replay", &["replay_10k", "replay_join_10k"]),
    ("sleepers", &["sleepers_100k"]),
    ("recover_known_gone", &["recover_10k_known_gone"]),
    ("recover_lease", &["recover_10k_lease"]),
    ("steady", &["steady", "steady_last_to_first", "steady_wal_bytes_a_job"]),
    ("pinned_horizon", &["pinned_horizon_p99", "pinned_horizon_to_before"]),
    ("schedules_10k", &["schedules_10k"]),
    ("graph_layout", &["graph_layout"]),
    ("pages_1m", &["page_1m", "pages_1m"]),
    ("tabs_50_idle", &["tabs_50_idle"]),
    ("rss_peak", &["rss_peak"]),
    ("idle_cpu", &["idle_cpu"]),
];

/// Takes the figures.
pub(crate) async fn run(args: BenchArgs) -> Result<()> {
    let is_asked = |figure: &&str| args.only.is_empty() || args.only.iter().any(|only| figure.contains(only.as_str()));
    // No figure stands without that of the fsync.
    let is_wanted = |figure: &&str| *figure == FSYNC || is_asked(figure);
    let is_long = |test: &str| args.only.is_empty() && LONG.contains(&test);
    let wanted = TESTS.iter().filter(|(test, figures)| figures.iter().any(is_wanted) && !is_long(test));
    let tests: Vec<&str> = wanted.map(|(test, _)| *test).collect();
    if !TESTS.iter().any(|(_, figures)| figures.iter().any(is_asked)) {
        let known: Vec<&str> = TESTS.iter().flat_map(|(_, figures)| figures.iter().copied()).collect();
        return Err(miette!(help = format!("the figures are {}", known.join(", ")), "--only names no figure"));
    }
    let place = Place::open(args.store.as_deref()).await?;
    for _ in 0..args.runs.max(1) {
        for test in &tests {
            for figure in take(test, &place, &args).await? {
                if is_wanted(&figure.test) {
                    figure.print(args.json)?;
                }
            }
        }
    }
    place.close().await
}

async fn take(test: &str, place: &Place, args: &BenchArgs) -> Result<Vec<Figure>> {
    Ok(match test {
        "fsync" => vec![measure::fsync(place.dir())?],
        "enqueue_one" => vec![enqueue::one(place, Duration::from_secs(2)).await?],
        "enqueue_32" => vec![enqueue::many_clients(place, 32, Duration::from_secs(2)).await?],
        "enqueue_bulk" => vec![enqueue::bulk(place, 2 * args.jobs).await?],
        "drain" => vec![drain::drain(place, args.jobs).await?],
        "drain_with_history" => vec![drain::with_history(place, args.jobs, args.history).await?],
        "wake" => wake::same_process(place).await?,
        "wake_other_process" => vec![wake::other_process(place).await?],
        "chain_100" => graphs::chain(place).await?,
        "fan_1000" => vec![graphs::fan(place).await?],
        "diamonds_100" => vec![graphs::diamonds(place).await?],
        "graph_enqueue_10k" => vec![large::enqueue(place).await?],
        "chains_100x100" => vec![large::chains(place).await?],
        "layers_10x100" => vec![large::layers(place).await?],
        "fan_10k" => vec![large::fan(place).await?],
        "cancel_and_view" => large::cancel_and_view(place).await?,
        "idle_graphs_1k" => vec![large::idle(place).await?],
        "map_10k" => maps::map(place).await?,
        "run_steps" => vec![runs::steps_of_many(place).await?],
        "run_latency" => vec![runs::latency(place).await?],
        "signal_roundtrip" => vec![runs::signal_roundtrip(place).await?, runs::late_signal_roundtrip(place).await?],
        "replay" => runs::replay().await?,
        "sleepers" => vec![sleepers::sleepers(place, args.jobs).await?],
        "recover_known_gone" => vec![recover::recover(place, RECOVERED, Gone::Killed).await?],
        "recover_lease" => vec![recover::recover(place, RECOVERED, Gone::Silent).await?],
        "steady" => steady::steady(place, args.history, Duration::from_secs(args.seconds)).await?,
        "pinned_horizon" => steady::pinned_horizon(place, args.pace, Duration::from_secs(args.seconds)).await?,
        "schedules_10k" => vec![steady::schedules(place, SCHEDULES).await?],
        "graph_layout" => vec![layout::layout(2_000), layout::layout(10_000)],
        "pages_1m" => pages::pages(place, args.history).await?,
        "tabs_50_idle" => vec![pages::tabs(place).await?],
        "rss_peak" => vec![process::rss_peak(place, args.jobs).await?],
        _ => vec![process::idle_cpu(place).await?],
    })
}
