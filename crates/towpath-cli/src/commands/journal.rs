//! A run's journal in the words of people: what is open in it, and its last lines.

use std::collections::{BTreeMap, HashSet};

use towpath::Timestamp;
use towpath::core::replay::{Ident, Pos};
use towpath::core::store::InboxLine;
use towpath::testing::{Entry, History};

use crate::words;

/// Lines and open operations that are shown.
const SHOWN: usize = 10;

/// An operation that was opened, and of which nothing has come yet: the run waits for it, or has dropped it in a race.
pub(super) struct Open {
    pub(super) pos: Pos,
    pub(super) op: String,
    pub(super) due: Option<Timestamp>,
}

/// The newest operations of the function that are open, in their order. Nothing is of a run that has ended.
pub(super) fn open(history: &History) -> Vec<Open> {
    let mut open = BTreeMap::new();
    for entry in &history.entries {
        match entry {
            Entry::Opened { pos, op, due } if !pos.is_reserved() => {
                open.insert(*pos, Open { pos: *pos, op: name(op), due: *due });
            }
            Entry::Done { pos, .. } => {
                open.remove(pos);
            }
            Entry::Ended { .. } | Entry::Continued { .. } => open.clear(),
            _ => {}
        }
    }
    let more = open.len().saturating_sub(SHOWN);
    open.into_values().skip(more).collect()
}

/// Those of a run's arrivals that no wait has taken, the engine's own left out.
pub(super) fn unread(history: &History, inbox: Vec<InboxLine>) -> Vec<InboxLine> {
    let took = |entry: &Entry| match entry {
        Entry::Done { arrival, .. } => *arrival,
        _ => None,
    };
    let taken: HashSet<i64> = history.entries.iter().filter_map(took).collect();
    inbox.into_iter().filter(|line| !taken.contains(&line.seq) && !line.name.as_str().starts_with("towpath.")).collect()
}

/// The last lines.
pub(super) fn last(history: &History) -> &[Entry] {
    &history.entries[history.entries.len().saturating_sub(SHOWN)..]
}

/// A line of the journal.
pub(super) fn in_words(entry: &Entry) -> String {
    match entry {
        Entry::Began { at, version, carried, .. } => {
            let carried = match carried {
                Some(carried) if carried.lines > 0 => {
                    format!(", with {} taken over", words::count(carried.lines as usize, "line", "lines"))
                }
                _ => String::new(),
            };
            format!("{} began as version {version}{carried}", words::instant(*at))
        }
        Entry::Opened { pos, op, due: Some(due) } => {
            format!("opened {} at {pos}, until {}", name(op), words::instant(*due))
        }
        Entry::Opened { pos, op, .. } => format!("opened {} at {pos}", name(op)),
        Entry::Failed { pos, failures, error, .. } => {
            format!("failed at {pos}, for the {failures}. time: {}", words::short(error))
        }
        Entry::Started { pos } => format!("started the child at {pos}"),
        Entry::Patched { id } => format!("patched {id}"),
        Entry::Done { pos, op, at, outcome, .. } => {
            format!("{} {} at {pos}: {}", words::instant(*at), name(op), words::short(outcome.json()))
        }
        Entry::Left { at } => format!("{} its function was over, and what follows is behind it", words::instant(*at)),
        Entry::Continued { at } => format!("{} goes on in its next chapter", words::instant(*at)),
        Entry::Ended { at, error: None } => format!("{} returned", words::instant(*at)),
        Entry::Ended { at, error: Some(error) } => {
            format!("{} returned the error {}", words::instant(*at), words::short(error.json()))
        }
        _ => "a line of a newer release".to_owned(),
    }
}

fn name(op: &Ident) -> String {
    if op.name.is_empty() { op.kind.word().to_owned() } else { format!("{} {}", op.kind.word(), op.name) }
}
