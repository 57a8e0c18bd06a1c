//! What became of a graph: a table of its nodes, and one line that says it all.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use towpath::core::State;
use towpath::core::store::{Ended, GraphDetail, NodeLine};
use towpath::{Cause, Client, End, GraphEnd, GraphId, JobId, NodeName};

use crate::error::CliError;
use crate::held::Held;
use crate::table::Table;
use crate::{say, words};

/// A graph that has ended, and what this process knows of it.
pub(crate) struct About<'a> {
    pub(crate) graph: GraphId,
    pub(crate) end: GraphEnd,
    /// How long ago it was resumed, if it was: since its enqueue it may have lain for days.
    pub(crate) resumed: Option<Duration>,
    /// How long commands took that ended here.
    pub(crate) took: &'a HashMap<JobId, Duration>,
    /// What to add to a command so that it finds the store.
    pub(crate) store_option: &'a str,
}

impl About<'_> {
    /// Prints it to stdout.
    ///
    /// # Errors
    /// The store could not be asked.
    pub(crate) async fn print(&self, client: &Client) -> Result<(), CliError> {
        let Some(detail) = client.inspect().graph(self.graph).await? else { return Ok(()) };
        let errors = errors(client, &detail).await?;
        let (shown, left_out) = shown(&detail.nodes);
        say::line("");
        if !shown.is_empty() {
            nodes(&detail, &shown, &errors, self.took).print();
        }
        Held::look(client, &detail).await?.lines(&detail).iter().for_each(say::line);
        if left_out > 0 {
            say::line(format_args!("{left_out} nodes that succeeded are not listed"));
        }
        say::line("");
        let bad: Vec<&NodeLine> = shown.iter().copied().filter(|n| is_bad(n)).collect();
        for node in bad.iter().take(BAD_NAMED) {
            say::line(format_args!("more about {}: towpath job{} {}", node.name, self.store_option, node.job));
        }
        if bad.len() > BAD_NAMED {
            let more = bad.len() - BAD_NAMED;
            say::line(format_args!(
                "and {more} more that failed: towpath graph show{} {}",
                self.store_option, self.graph
            ));
        }
        say::line(format_args!("{} {}{}: {}", detail.line.name, self.end, self.time(&detail), counts(&detail.nodes)));
        Ok(())
    }
}

impl About<'_> {
    /// How long it took, or what there is to say of that.
    fn time(&self, detail: &GraphDetail) -> String {
        let line = &detail.line;
        match (self.resumed, line.ended_at) {
            (Some(ago), _) => format!(" {} after it was resumed", words::duration(ago)),
            // When the last generation began is not kept.
            (None, Some(at)) if line.generation == 1 => format!(" in {}", words::duration(at.since(line.created_at))),
            _ => String::new(),
        }
    }
}

/// A table of nodes, and of undos behind them in the order in which they have begun, or will.
pub(crate) fn nodes(
    detail: &GraphDetail,
    nodes: &[&NodeLine],
    errors: &BTreeMap<JobId, Ended>,
    seen: &HashMap<JobId, Duration>,
) -> Table {
    let now = words::here_and_now();
    let mut table = Table::new(&["node", "state", "attempts", "time", "cause"]);
    let (mut undos, others): (Vec<&NodeLine>, Vec<&NodeLine>) = nodes.iter().partition(|node| node.guards.is_some());
    undos.reverse();
    undos.sort_by_key(|undo| (undo.started_at.is_none(), undo.started_at));
    for node in others.into_iter().chain(undos) {
        let held = || node.started_at.zip(node.ended_at).map(|(from, to)| to.since(from));
        let took = seen.get(&node.job).copied().or_else(held).map(words::duration);
        let error = errors.get(&node.job).and_then(|e| e.error.as_deref());
        let cause = node.cause.as_ref().filter(|_| matches!(node.state, State::Ended(_)));
        table.row(vec![
            node.name.to_string(),
            node.word(now).to_owned(),
            node.counters.attempt.to_string(),
            took.unwrap_or_else(|| "-".into()),
            why(detail, &node.name, cause, error).unwrap_or_default(),
        ]);
    }
    table
}

/// How the nodes that did not succeed ended, with their errors.
pub(crate) async fn errors(client: &Client, detail: &GraphDetail) -> Result<BTreeMap<JobId, Ended>, CliError> {
    let jobs: Vec<JobId> = detail.nodes.iter().filter(|n| is_bad(n)).map(|n| n.job).collect();
    let mut errors = BTreeMap::new();
    for batch in jobs.chunks(1_000) {
        let ended = client.store().ended(batch.to_vec()).await?;
        errors.extend(ended.into_iter().flatten().map(|e| (e.id, e)));
    }
    Ok(errors)
}

/// Why a node ended so, in a line: what its command said tells more than that its attempts are exhausted.
pub(crate) fn why(detail: &GraphDetail, node: &NodeName, cause: Option<&Cause>, error: Option<&str>) -> Option<String> {
    let said = error.and_then(|e| e.lines().next());
    match (cause?, said) {
        (Cause::Exhausted | Cause::Permanent, Some(said)) => Some(said.to_owned()),
        (cause, _) => Some(detail.in_words(node, cause)),
    }
}

fn is_bad(node: &NodeLine) -> bool {
    matches!(node.state, State::Ended(end) if end.is_failure())
}

/// Whether it is an undo that was not needed, or is not yet: nothing of it is to be told.
fn is_idle_undo(node: &NodeLine) -> bool {
    node.guards.is_some() && matches!(node.state, State::Waiting | State::Ended(End::Skipped(_)))
}

/// All nodes of a small graph; of a large one those that did not succeed.
fn shown(nodes: &[NodeLine]) -> (Vec<&NodeLine>, usize) {
    let nodes: Vec<&NodeLine> = nodes.iter().filter(|n| !is_idle_undo(n)).collect();
    if nodes.len() <= ALL_SHOWN {
        return (nodes, 0);
    }
    let rest: Vec<&NodeLine> = nodes.iter().copied().filter(|n| n.state != State::Ended(End::Succeeded)).collect();
    let left_out = nodes.len() - rest.len();
    (rest, left_out)
}

/// How many nodes stand how, in the order of the lifecycle, and behind them how the undos do that were needed.
pub(crate) fn counts(nodes: &[NodeLine]) -> String {
    let (undos, others): (Vec<&NodeLine>, Vec<&NodeLine>) = nodes.iter().partition(|n| n.guards.is_some());
    let undos: Vec<&NodeLine> = undos.into_iter().filter(|n| !is_idle_undo(n)).collect();
    let undone = if undos.is_empty() { String::new() } else { format!("; undos: {}", count_states(&undos)) };
    count_states(&others) + &undone
}

fn count_states(nodes: &[&NodeLine]) -> String {
    let now = words::here_and_now();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for state in State::ALL {
        for node in nodes.iter().filter(|n| n.state == state) {
            let word = node.word(now);
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
    }
    counts.iter().map(|(word, count)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// More nodes than a screen holds.
const ALL_SHOWN: usize = 60;
/// Failed nodes that are told how to look into.
const BAD_NAMED: usize = 3;
