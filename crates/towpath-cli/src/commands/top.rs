//! `towpath top`: a store at work, in a terminal, as it changes.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use towpath::Client;
use towpath::core::State;
use towpath::core::store::{JobFilter, JobLine, Page, QueueLine, StateCounts};

use super::StoreArgs;
use crate::error::CliError;
use crate::served::Served;
use crate::{exit, words};

/// Watch a store at work: counts, queues, workers and what runs
///
/// In a terminal it is drawn anew until Ctrl-C; elsewhere it is printed once.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Seconds between two looks, 1 to 3600.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=3_600))]
    every: u16,
    #[command(flatten)]
    store: StoreArgs,
}

/// Up to how many of a state are counted.
const COUNTED: u32 = 10_000;
/// Lines of queues, of workers, and of what runs.
const SHOWN: usize = 10;

/// Another screen without a cursor, and back: what stood in the terminal before stands there again.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const FROM_THE_TOP: &str = "\x1b[H\x1b[J";

impl Top {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let location = self.store.found()?;
        let client = location.open_to_read().await?;
        let shown = location.shown();
        if !std::io::stdout().is_terminal() {
            write(&look(&client, &shown).await?);
            return Ok(exit::SUCCEEDED);
        }
        write(ENTER);
        let ended = self.watch(&client, &shown).await;
        write(LEAVE);
        ended.map(|()| exit::SUCCEEDED)
    }

    async fn watch(&self, client: &Client, shown: &str) -> Result<(), CliError> {
        let mut stop = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            write(&format!("{FROM_THE_TOP}{}", look(client, shown).await?));
            tokio::select! {
                // Also where the signal cannot be heard: nobody could stop it then.
                _ = &mut stop => return Ok(()),
                () = tokio::time::sleep(Duration::from_secs(self.every.into())) => {}
            }
        }
    }
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that went away is no error.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

async fn look(client: &Client, shown: &str) -> Result<String, CliError> {
    let inspect = client.inspect();
    let counts = inspect.counts(COUNTED).await?;
    let mut queues = inspect.queues(COUNTED).await?;
    queues.sort_by_key(|queue| std::cmp::Reverse((queue.running, queue.ready, queue.blocked)));
    let running = JobFilter { state: Some(State::Running), ..JobFilter::default() };
    let running = inspect.jobs(running, Page { after: None, limit: 200 }).await?;
    let served = Served::look(client).await?;
    Ok([head(shown, &counts), of_queues(&queues, &served), of_workers(&served), of_running(running)].concat())
}

fn head(shown: &str, counts: &StateCounts) -> String {
    let number = |count: u64| if count >= COUNTED.into() { format!("{COUNTED}+") } else { count.to_string() };
    format!(
        "towpath  {shown}  {}\n\nrunning {}   ready {}   later {}   blocked {}   dead {}   quarantined {}   open graphs {}\n",
        words::time_of_day(),
        number(counts.running),
        number(counts.ready),
        number(counts.later),
        number(counts.blocked),
        number(counts.dead),
        number(counts.quarantined),
        number(counts.open_graphs),
    )
}

fn of_queues(queues: &[QueueLine], served: &Served) -> String {
    let mut text =
        format!("\n{:<26}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "QUEUE", "running", "ready", "later", "blocked", "workers");
    for queue in queues.iter().take(SHOWN) {
        let workers = served.of_queue(&queue.queue).count();
        let name = words::short(queue.queue.as_str());
        text += &format!(
            "{name:<26}{:>9}{:>9}{:>9}{:>9}{workers:>9}\n",
            queue.running, queue.ready, queue.later, queue.blocked
        );
    }
    text + &left_out(queues.len(), "queue", "queues")
}

fn of_workers(served: &Served) -> String {
    let mut text = format!("\n{:<26}{:>9}  {}\n", "WORKER", "running", "lives");
    for worker in served.workers.iter().take(SHOWN) {
        let lives = if served.lives(worker) { "yes" } else { "dead" };
        text += &format!("{:<26}{:>9}  {lives}\n", words::short(&worker.name), worker.running);
    }
    text + &left_out(served.workers.len(), "worker", "workers")
}

/// The longest first.
fn of_running(mut running: Vec<JobLine>) -> String {
    running.sort_by_key(|line| line.started_at);
    let mut text = format!("\n{:<38}{:<26}{:<18}{}\n", "RUNNING", "kind", "queue", "since");
    for line in running.iter().take(SHOWN) {
        let (kind, queue) = (words::short(line.kind.as_str()), words::short(line.queue.as_str()));
        let since = line.started_at.map_or_else(|| "-".to_owned(), words::instant);
        text += &format!("{:<38}{kind:<26}{queue:<18}{since}\n", line.id.to_string());
    }
    text + &left_out(running.len(), "job", "jobs")
}

fn left_out(all: usize, one: &str, many: &str) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("… and {}\n", words::count(more, one, many)),
    }
}
