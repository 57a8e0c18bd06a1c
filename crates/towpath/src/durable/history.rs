//! A stored run's history, to be looked at, or kept with the code and replayed in its tests.

use towpath_core::replay::{Entry, HISTORY_VERSION, History, HistoryHeader, Outcome, seed_of};
use towpath_core::store::{JobDetail, RunLine};
use towpath_core::{JobId, RunId, StoreError, StoreErrorKind};

use crate::client::Client;
use crate::error::Error;

/// Lines that are read at once.
const PAGE: u32 = 1_000;

impl Client {
    /// What is recorded of a run, in its current chapter; `None` if there is no such run. Its lines of JSON
    /// ([`History::to_json_lines`]) are what [`testing::assert_replays`](crate::testing::assert_replays) takes.
    ///
    /// # Errors
    /// The name is no id, the store could not be asked, or a line is of a newer release.
    pub async fn history(&self, run: &str) -> Result<Option<History>, Error> {
        let Some(job) = self.inspect().run(RunId::new(run)?).await? else { return Ok(None) };
        let Some(detail) = self.inspect().job(job).await? else { return Ok(None) };
        let Some(run) = &detail.run else { return Ok(None) };
        let entries = self.journal(job, run).await?;
        let mut header = header(&detail, run)?;
        if let Some(Entry::Began { input: Some(input), .. }) = entries.first() {
            header.input = input.clone();
        }
        Ok(Some(History { header, entries }))
    }

    /// The journal of a run in its current chapter.
    pub(super) async fn journal(&self, job: JobId, run: &RunLine) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::with_capacity(run.entries as usize);
        loop {
            let from = u32::try_from(entries.len()).unwrap_or(u32::MAX);
            let page = self.store().entries(job, run.chapter, from, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            for line in page {
                let unread = |e| corrupt(format!("line {} of the journal of {}: {e}", line.seq, run.id));
                entries.push(Entry::read(&line).map_err(|e| unread(e.problem))?);
            }
            if is_last {
                return Ok(entries);
            }
        }
    }
}

fn header(detail: &JobDetail, run: &RunLine) -> Result<HistoryHeader, Error> {
    let input = match &detail.input.bytes[..] {
        [] => Outcome::null(),
        bytes => Outcome::from_json(bytes).map_err(|e| corrupt(format!("the input of {}: {}", run.id, e.problem)))?,
    };
    Ok(HistoryHeader {
        towpath_history: HISTORY_VERSION,
        function: detail.line.kind.to_string(),
        version: detail.line.version,
        run: run.id.to_string(),
        job: detail.line.id,
        chapter: run.chapter,
        seed: seed_of(detail.line.id, run.chapter),
        input,
    })
}

fn corrupt(problem: String) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "read a history", problem)
}
