//! Transactional steps: queued, and done one after the other, since what one causes is to follow its line in the journal.

use std::sync::{Arc, Mutex};

use towpath_core::Report;
use towpath_core::replay::{Command, Entry, Live, Pos};
use towpath_core::store::{Transact, Transacted, TxEnd};
use tracing::Instrument;

use super::{Driver, Leave, Running, Step, block, later, lock};
use crate::durable::frame::RunEnd;
use crate::durable::step::{self, StepWork};
use crate::durable::transact::Judge;
use crate::trace;

impl Driver {
    /// Takes transactional steps out of what is to be started.
    pub(super) fn queue_inside(&mut self, commands: Vec<Command>) -> Vec<Command> {
        let is_inside = |command: &Command| command.work.downcast_ref::<StepWork>().is_some_and(StepWork::is_inside);
        let (inside, outside): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_inside);
        for command in inside {
            let accepted = self.accept(command);
            self.inside.extend(accepted);
        }
        outside
    }

    /// Does a piece in the store's database. The line that tells of it is on disk with what it wrote.
    pub(super) async fn transact(&mut self, pos: Pos, mut running: Running) -> Step<()> {
        running.failures += 1;
        let judged = Arc::new(Mutex::new(None));
        let (work, failures, job) = (Arc::clone(&running.work), running.failures, self.job);
        let (at, ahead) = (self.live.at(self.now()), self.live.ahead());
        let (verdict, ident) = (Arc::clone(&judged), running.ident.clone());
        let judge: Judge = Box::new(move |attempted| {
            let rows = attempted.rows();
            let next = step::next(attempted, failures, &work, job);
            let line = match &next {
                step::Next::Done(outcome) => Live::<RunEnd>::line_alone(pos, ident, at, outcome.clone(), ahead),
                step::Next::Again { error, wait } => {
                    Entry::Failed { pos, failures, due: at + *wait, error: error.clone() }
                }
                step::Next::Missing(what) => Entry::Failed { pos, failures, due: at, error: what.clone() },
            };
            *lock(&verdict) = Some(next);
            // What is recorded of a step was checked when it was made.
            TxEnd { rows, line: line.encode().unwrap_or_default() }
        });
        let body = match running.work.body(judge) {
            Ok(body) => body,
            Err(problem) => return Err(Leave::Report(Report::Undecodable { problem, build: self.build })),
        };
        self.lengthen(1)?;
        let (journal, shows) = self.take_pending();
        let work = Transact { fence: self.commits.fence, journal, shows, mark: None, body };
        let span = trace::step(&running.ident, running.failures);
        match self.client.store().transact(work).instrument(span).await {
            Ok(Transacted::Done) => {}
            Ok(Transacted::Paused) => self.is_paused = true,
            Ok(Transacted::Stale) => return Err(Leave::Over),
            Ok(Transacted::WrongDatabase) => {
                let problem = "a transactional step is written for another database than this worker's store".into();
                return Err(Leave::Report(Report::Undecodable { problem, build: self.build }));
            }
            // Whether it happened, the journal knows.
            Err(error) => return Err(later(&error)),
        }
        let verdict = lock(&judged).take();
        match verdict {
            Some(step::Next::Done(outcome)) => {
                if let Err(interrupt) = self.live.recorded(pos, at, outcome) {
                    self.abort_all();
                    return block(&mut self.commits, self.build, &interrupt).await;
                }
            }
            Some(step::Next::Again { wait, .. }) => {
                self.waiting.insert((at + wait, pos), running);
            }
            Some(step::Next::Missing(problem)) => {
                return Err(Leave::Report(Report::Undecodable { problem, build: self.build }));
            }
            None => return Err(Leave::Over),
        }
        Ok(())
    }
}
