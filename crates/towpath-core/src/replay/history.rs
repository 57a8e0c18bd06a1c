//! A run's history outside of its store: lines of JSON, to be kept with the code and replayed in its tests.

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Outcome};
use crate::id::JobId;

/// A run as it can be replayed without a store.
#[derive(Clone, Debug)]
pub struct History {
    /// Which run, and of what.
    pub header: HistoryHeader,
    /// Its journal.
    pub entries: Vec<Entry>,
}

/// The first line of a history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistoryHeader {
    /// The version of this format.
    pub towpath_history: u16,
    /// The function.
    pub function: String,
    /// Its version.
    pub version: u16,
    /// The run's id.
    pub run: String,
    /// The job that it is, and the chapter that this is: a function may look at both.
    pub job: JobId,
    /// From 1.
    pub chapter: u32,
    /// What its random numbers come from.
    pub seed: u64,
    /// What it was started with.
    pub input: Outcome,
}

/// The version of the format that this build writes.
pub const HISTORY_VERSION: u16 = 1;

impl History {
    /// As lines of JSON: the header, then an entry each.
    pub fn to_json_lines(&self) -> String {
        let header = serde_json::to_string(&self.header);
        let lines = self.entries.iter().map(serde_json::to_string);
        // Numbers, texts and JSON always have a JSON form.
        std::iter::once(header).chain(lines).flatten().map(|line| line + "\n").collect()
    }

    /// Reads what [`to_json_lines`](Self::to_json_lines) wrote.
    ///
    /// # Errors
    /// A line that is no such thing, by its number.
    pub fn from_json_lines(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let Some((_, first)) = lines.next() else { return Err("it is empty: a history has a header".into()) };
        let header: HistoryHeader = serde_json::from_str(first).map_err(|e| format!("line 1 is no header: {e}"))?;
        if header.towpath_history > HISTORY_VERSION {
            let (have, know) = (header.towpath_history, HISTORY_VERSION);
            return Err(format!("it has format {have}, and this build knows up to {know}: update it"));
        }
        let entry = |(at, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|e| format!("line {} is no entry: {e}", at + 1))
        };
        Ok(Self { header, entries: lines.map(entry).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn it_comes_back_and_a_bad_line_is_named() {
        let header = HistoryHeader {
            towpath_history: HISTORY_VERSION,
            function: "order".into(),
            version: 2,
            run: "o-1".into(),
            job: JobId::from_bytes([7; 16]),
            chapter: 3,
            seed: u64::MAX,
            input: Outcome::of(&("tea", 3)).unwrap(),
        };
        let history = History {
            header,
            entries: vec![Entry::Began { at: Timestamp::ZERO, version: 2, input: None, carried: None }],
        };
        let text = history.to_json_lines();
        assert_eq!(History::from_json_lines(&text).unwrap().to_json_lines(), text);
        let refused = History::from_json_lines(&(text + "{}\n")).unwrap_err();
        assert!(refused.starts_with("line 3 is no entry"), "{refused}");
    }
}
