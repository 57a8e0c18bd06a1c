//! `requeue`: what an operator does about work that ended badly.

use towpath_core::{Requeue, requeue_job};

use crate::args::Args;
use crate::run::enqueue::read_payload;
use crate::run::{Answer, Runner};
use crate::subject::Subject;

impl<S: Subject> Runner<S> {
    /// `requeue a`, `requeue a even succeeded input=2`.
    pub(super) async fn requeue(&mut self, mut args: Args) -> Answer {
        let name = args.word("a job")?;
        let which = if args.flag("even") && args.flag("succeeded") { Requeue::EvenSucceeded } else { Requeue::Failed };
        let input = args.read("input", |text| Ok(read_payload(text)))?;
        let actor = args.text("by")?.unwrap_or_else(|| "ann".into());
        let reason = args.text("reason")?.unwrap_or_default();
        args.finish()?;
        let job = self.names.job(&name);
        self.apply(requeue_job(job, which, input, &actor, &reason), &[name]).await
    }
}
