//! What a run that has work in flight waits for: its steps, their lines, its inbox, a time, a word to stop.

use std::time::Instant;

use tokio::sync::watch;
use towpath_core::Report;
use towpath_core::dispatch::CancelWhy;

use super::{Driver, LOOK, Leave, PAGE, Step, later};

impl Driver {
    /// Waits until something has happened that the function may want to know.
    pub(super) async fn wait(&mut self) -> Step<()> {
        if self.in_flight.is_empty() && self.waiting.is_empty() {
            return Ok(());
        }
        let now = self.now();
        let again = self.waiting.first_key_value().map(|(key, _)| key.0);
        let due = self.live.waits().due.into_iter().chain(again).min();
        let look = LOOK.saturating_sub(self.looked_at.elapsed());
        let until = due.map_or(look, |due| due.since(now).min(look));
        if self.in_flight.is_empty() && again.is_some() {
            // Only failed steps are left: `rest` decides whether to park until the first of them.
            return Ok(());
        }
        tokio::select! {
            biased;
            why = stopped(&mut self.cancel) => self.interrupted(why)?,
            done = self.finished.1.recv() => {
                if let Some(done) = done {
                    self.finished(done)?;
                }
            }
            line = self.lines.1.recv() => {
                self.shows.extend(line);
                self.must_commit = true;
            }
            () = self.bell.notified() => self.read_inbox().await?,
            () = tokio::time::sleep(until) => {}
        }
        if self.looked_at.elapsed() >= LOOK {
            self.read_inbox().await?;
        }
        while let Ok(done) = self.finished.1.try_recv() {
            self.finished(done)?;
        }
        self.start_waiting();
        Ok(())
    }

    fn interrupted(&mut self, why: CancelWhy) -> Step<()> {
        match why {
            // A run is asked by an arrival, never by its row.
            CancelWhy::Asked(_) => Ok(()),
            CancelWhy::Shutdown => {
                self.abort_all();
                Err(Leave::Report(Report::HandedBack))
            }
            CancelWhy::Lost => {
                self.abort_all();
                Err(Leave::Over)
            }
            // A run has no timeout of an attempt; its limit of time is its function's.
            CancelWhy::Timeout | CancelWhy::Deadline => {
                self.abort_all();
                Err(Leave::Report(Report::Overdue))
            }
        }
    }

    pub(super) async fn read_inbox(&mut self) -> Step<()> {
        self.has_read_inbox = true;
        self.looked_at = Instant::now();
        let mut after = 0;
        loop {
            let page = self.client.store().inbox(self.run.id.clone(), after, PAGE).await.map_err(|e| later(&e))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            let is_last = page.len() < PAGE as usize;
            for line in page {
                self.live.arrived(line);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Waits for a word to stop. One to cancel is none: it comes as an arrival.
async fn stopped(cancel: &mut watch::Receiver<Option<CancelWhy>>) -> CancelWhy {
    let is_stop = |why: &Option<CancelWhy>| why.as_ref().is_some_and(|why| !matches!(why, CancelWhy::Asked(_)));
    match cancel.wait_for(is_stop).await {
        Ok(why) => why.clone().unwrap_or(CancelWhy::Lost),
        Err(_) => CancelWhy::Lost,
    }
}
