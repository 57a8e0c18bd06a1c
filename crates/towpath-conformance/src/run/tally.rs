//! `record` and `tallies`: what workers count for the charts.

use std::time::Duration;

use towpath_core::store::TallyQuery;
use towpath_core::tally::{Counted, Record, Spread, Tally, Width};
use towpath_core::{Kind, Queue};

use crate::args::Args;
use crate::run::enqueue::parsed;
use crate::run::{Answer, Runner};
use crate::say::Line;
use crate::span;
use crate::subject::{START, Subject};

impl<S: Subject> Runner<S> {
    pub(super) async fn tally(&mut self, verb: &str, args: Args) -> Answer {
        match verb {
            "record" => self.record(args).await,
            _ => self.tallies(args).await,
        }
    }

    /// `record kind=echo queue=q at=1m ok=2 failed=1 took=1s waited=5s times=3`: each of the attempts took that long, and so
    /// many records say the same.
    async fn record(&mut self, mut args: Args) -> Answer {
        let kind = parsed(Kind::new(&args.text("kind")?.unwrap_or_else(|| "echo".into())))?;
        let queue = args.text("queue")?.map(|name| parsed(Queue::new(&name))).transpose()?.unwrap_or_default();
        let at = START + args.read("at", span::parse)?.unwrap_or_default();
        let (ok, failed) = (args.number("ok")?.unwrap_or(0), args.number("failed")?.unwrap_or(0));
        let took = args.read("took", span::parse)?.unwrap_or_default();
        let waited = args.read("waited", span::parse)?;
        let times = args.number("times")?.unwrap_or(1_usize);
        args.finish()?;
        let mut tally = Tally::default();
        (0..ok).for_each(|_: u32| tally.ended(Counted::Succeeded, took));
        (0..failed).for_each(|_: u32| tally.ended(Counted::Failed, took));
        waited.iter().for_each(|waited| tally.wait.add(*waited));
        let records = vec![Record { at, queue, kind, tally }; times];
        match self.subject.store().record(records).await {
            Ok(()) => Ok(vec!["done".to_owned()]),
            Err(error) => Ok(self.refused(&error)),
        }
    }

    /// `tallies`, `tallies by=quarter from=1h queue=q kind=echo`.
    async fn tallies(&mut self, mut args: Args) -> Answer {
        let by = args.text("by")?;
        let query = TallyQuery {
            width: if by.as_deref() == Some("quarter") { Width::Quarter } else { Width::Minute },
            from: START + args.read("from", span::parse)?.unwrap_or_default(),
            queue: args.text("queue")?.map(|name| parsed(Queue::new(&name))).transpose()?,
            kind: args.text("kind")?.map(|name| parsed(Kind::new(&name))).transpose()?,
        };
        args.finish()?;
        let found = self.subject.store().inspect().tallies(query).await;
        self.told(found.map(|lines| {
            let line = |line: &towpath_core::store::TallyLine| {
                let Tally { succeeded, failed, wait, run } = &line.tally;
                Line::new(line.kind.as_str())
                    .word(line.queue.as_str())
                    .pair("at", span::show_instant(line.at, START))
                    .count("ok", *succeeded)
                    .count("failed", *failed)
                    .maybe("wait", median(wait))
                    .maybe("run", median(run))
                    .end()
            };
            lines.iter().map(line).collect()
        }))
    }
}

/// How many there were, and their median in whole milliseconds.
fn median(spread: &Spread) -> Option<String> {
    let median: Duration = spread.quantile(0.5)?;
    Some(format!("{}x{}ms", spread.count(), median.as_millis()))
}
