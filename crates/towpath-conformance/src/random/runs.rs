//! Runs in a random script: starts under ids that may be taken, signals, pauses, retries and forks.

use super::RandomScript;
use crate::script::Command;

impl RandomScript {
    /// A run under one of a few ids, which another job may have.
    pub(super) fn enqueue_run(&mut self) -> Command {
        let name = self.name("r");
        self.remember_job(&name);
        let run = self.some_run();
        let keep_id = self.keep_id();
        Command::bare(format!("enqueue job {name} run={run}{keep_id}{}{}", self.options(), self.deadline()), Vec::new())
    }

    /// For how long the id of a run stays taken.
    pub(super) fn keep_id(&mut self) -> &'static str {
        self.chance.pick(&["", " keep_id=90s", " keep_id=10m", " keep_id=10m"]).copied().unwrap_or_default()
    }

    /// The same with a signal, and with what becomes of the run that has the id.
    pub(super) fn start_run(&mut self) -> Command {
        let name = self.name("r");
        self.remember_job(&name);
        let taken = self.chance.pick(&["", " taken=replace", " taken=refuse"]).copied().unwrap_or_default();
        let signal = match self.chance.below(3) {
            0 => String::new(),
            1 => " signal=paid payload={\"n\":1}".to_owned(),
            _ => format!(" signal=moved dedup=d{}", self.chance.below(30)),
        };
        let (run, keep_id) = (self.some_run(), self.keep_id());
        Command::bare(
            format!("enqueue start {name} run={run}{taken}{signal}{keep_id} keep=5s keep_failed=5s"),
            Vec::new(),
        )
    }

    /// Lines of a journal that a run goes on from.
    pub(super) fn kept(&mut self) -> String {
        let below = [1, 1, 2, 3][self.chance.below(4)];
        let without = if below > 1 && self.chance.percent(30) { " without=1" } else { "" };
        format!("below={below}{without} chapter={} first={{\"again\":1}}", if self.chance.percent(85) { 1 } else { 2 })
    }

    /// A run that has ended goes on in its next chapter.
    pub(super) fn rewind(&mut self) -> Command {
        let even = if self.chance.percent(80) { " even succeeded" } else { "" };
        Command::bare(format!("rewind {} {}{even}", self.some_run_job(), self.kept()), Vec::new())
    }

    /// A run that goes on from another one's journal.
    pub(super) fn fork(&mut self) -> Command {
        let (of, name) = (self.some_run_job(), self.name("r"));
        self.remember_job(&name);
        let run = format!("{RUN}{}", RUNS + self.chance.below(FORKS));
        Command::bare(
            format!("enqueue start {name} run={run} taken=refuse fork={of} {} keep=30s", self.kept()),
            Vec::new(),
        )
    }

    pub(super) fn pause_run(&mut self) -> Command {
        let verb = if self.chance.percent(50) { "pause" } else { "unpause" };
        Command::bare(format!("{verb} run {}", self.some_run()), Vec::new())
    }

    pub(super) fn some_run(&mut self) -> String {
        format!("{RUN}{}", self.chance.below(RUNS))
    }

    pub(super) fn some_run_job(&mut self) -> String {
        let runs: Vec<String> = self.jobs.iter().filter(|job| job.starts_with('r')).cloned().collect();
        self.chance.pick(&runs).cloned().unwrap_or_else(|| "nobody".into())
    }

    pub(super) fn signal(&mut self) -> Command {
        let body = (0..1 + self.chance.below(3)).map(|_| {
            let (run, name) = (self.some_run(), *self.chance.pick(&["paid", "moved"]).unwrap_or(&"paid"));
            let dedup =
                if self.chance.percent(50) { format!(" dedup=d{}", self.chance.below(30)) } else { String::new() };
            format!("{run} {name} {{\"n\":{}}}{dedup}", self.chance.below(9))
        });
        let body = body.collect();
        Command::bare("signal", body)
    }

    /// What lets every run end and its signals be deleted: a job for each id, a signal for those that are parked, and a word for
    /// those that are paused.
    pub fn wind_up() -> Vec<Command> {
        let jobs = (0..RUNS + FORKS).map(|at| format!("job z{at} run={RUN}{at} keep=1s")).collect();
        let signals = (0..RUNS + FORKS).map(|at| format!("{RUN}{at} over")).collect();
        let resumes = (0..RUNS + FORKS).map(|at| Command::bare(format!("unpause run {RUN}{at}"), Vec::new()));
        [Command::bare("batch", jobs), Command::bare("signal", signals)].into_iter().chain(resumes).collect()
    }
}

/// How the ids of runs begin, and how many there are: few, so that they meet.
pub(super) const RUN: &str = "order-";
pub(super) const RUNS: usize = 12;
/// Ids beyond those, that only forks take.
const FORKS: usize = 24;
