//! `signal`, `entries`, `inbox` and `shown`: what is sent to runs, and what they have recorded and show.

use towpath_core::store::{Arrival, Showing};
use towpath_core::{Label, RunId};

use crate::args::Args;
use crate::error::ScriptError;
use crate::run::enqueue::{parsed, read_payload};
use crate::run::{Answer, Runner};
use crate::subject::Subject;

impl<S: Subject> Runner<S> {
    /// `signal order-1 paid {"n":1} dedup=x times=3`, or several in one transaction, each on its own line.
    pub(super) async fn signal(&mut self, args: Args, body: &[String]) -> Answer {
        let mut arrivals = Vec::new();
        if body.is_empty() {
            read_signal(args, &mut arrivals)?;
        } else {
            args.finish()?;
        }
        for line in body {
            read_signal(Args::parse(line)?, &mut arrivals)?;
        }
        let names: Vec<String> = arrivals.iter().map(|arrival| format!("{} {}", arrival.run, arrival.name)).collect();
        let reply = match self.subject.store().signal(arrivals).await {
            Ok(reply) => reply,
            Err(error) => return Ok(self.refused(&error)),
        };
        let mut lines = Vec::new();
        self.check_now(reply.now, &mut lines);
        if reply.items.len() != names.len() {
            lines.push(format!("{} answers for {} signals", reply.items.len(), names.len()));
        }
        lines.extend(names.iter().zip(&reply.items).map(|(name, delivery)| match delivery {
            Ok(delivery) => format!("{name} {}", delivery.word()),
            Err(refusal) => format!("{name} refused: {refusal}"),
        }));
        Ok(count_same(lines))
    }

    /// `entries r chapter=1 from=0 limit=2`.
    pub(super) async fn entries(&mut self, mut args: Args) -> Answer {
        let job = self.names.job(&args.word("a job")?);
        let chapter = args.number("chapter")?.unwrap_or(1);
        let from = args.number("from")?.unwrap_or(0);
        let limit = args.number("limit")?.unwrap_or(1_000);
        args.finish()?;
        match self.subject.store().entries(job, chapter, from, limit).await {
            Ok(entries) => Ok(entries.iter().map(|entry| self.say().entry(entry)).collect()),
            Err(error) => Ok(self.refused(&error)),
        }
    }

    /// `stream order-1 log`, `stream order-1 log after=2 limit=10`.
    pub(super) async fn stream(&mut self, mut args: Args) -> Answer {
        let run = parsed(RunId::new(&args.word("a run")?))?;
        let name = args.word("a stream")?;
        let (after, limit) = (args.number("after")?.unwrap_or(0), args.number("limit")?.unwrap_or(1_000));
        args.finish()?;
        let reply = self.subject.store().stream(run, name, after, limit).await;
        self.told(reply.map(|lines| lines.iter().map(|line| self.say().stream_line(line)).collect()))
    }

    /// `streams order-1`: what it has written into.
    pub(super) async fn streams(&mut self, mut args: Args) -> Answer {
        let run = parsed(RunId::new(&args.word("a run")?))?;
        args.finish()?;
        let reply = self.subject.store().inspect().streams(run).await;
        self.told(reply.map(|heads| heads.iter().map(|head| self.say().stream_head(head)).collect()))
    }

    /// `tombstone order-1`: what is left of a run that was pruned.
    pub(super) async fn tombstone(&mut self, mut args: Args) -> Answer {
        let run = parsed(RunId::new(&args.word("a run")?))?;
        args.finish()?;
        let reply = self.subject.store().inspect().tombstone(run).await;
        self.told(reply.map(|found| match found {
            Some(left) => vec![self.say().tombstone(&left)],
            None => vec!["nothing".to_owned()],
        }))
    }

    /// `shown order-1` is what the run publishes, `shown order-1 u1` its answer to that update.
    pub(super) async fn shown(&mut self, mut args: Args) -> Answer {
        let run = parsed(RunId::new(&args.word("a run")?))?;
        let name = args.word_maybe()?.unwrap_or_else(|| Showing::PUBLISHED.to_owned());
        args.finish()?;
        match self.subject.store().shown(run, name).await {
            Ok(Some(shown)) => Ok(vec![self.say().shown(&shown)]),
            Ok(None) => Ok(vec!["nothing".to_owned()]),
            Err(error) => Ok(self.refused(&error)),
        }
    }

    /// `inbox order-1 after=2 limit=2`: after the second line that an earlier look has shown.
    pub(super) async fn inbox(&mut self, mut args: Args) -> Answer {
        let run = args.word("a run")?;
        let seen: usize = args.number("after")?.unwrap_or(0);
        let limit = args.number("limit")?.unwrap_or(1_000);
        args.finish()?;
        let after = match (seen, self.keys.get(&format!("{run}#{seen}"))) {
            (0, _) => 0,
            (_, Some(seq)) => *seq,
            (_, None) => return Err(ScriptError::new(format!("no look has shown {seen} lines of {run}"))),
        };
        match self.subject.store().inbox(parsed(RunId::new(&run))?, after, limit).await {
            Ok(lines) => {
                let places = lines.iter().enumerate();
                self.keys.extend(places.map(|(at, line)| (format!("{run}#{}", seen + at + 1), line.seq)));
                Ok(count_same(lines.iter().map(|line| self.say().inbox_line(line)).collect()))
            }
            Err(error) => Ok(self.refused(&error)),
        }
    }
}

fn read_signal(mut args: Args, out: &mut Vec<Arrival>) -> Result<(), ScriptError> {
    let run = parsed(RunId::new(&args.word("a run")?))?;
    let name = parsed(Label::new(&args.word("the name of a signal")?))?;
    let payload = args.word_maybe()?.map(|text| read_payload(&text)).unwrap_or_default();
    let dedup = args.text("dedup")?.map(read_dedup);
    let times = args.number("times")?.unwrap_or(1);
    args.finish()?;
    out.extend(std::iter::repeat_n(Arrival { run, name, dedup, payload }, times));
    Ok(())
}

/// `big:256` is a key of that many bytes.
fn read_dedup(text: String) -> String {
    let bytes = text.strip_prefix("big:").and_then(|n| n.parse().ok());
    bytes.map_or(text, |bytes| "x".repeat(bytes))
}

/// Equal lines in a row as one, with their number.
fn count_same(lines: Vec<String>) -> Vec<String> {
    let same = lines.chunk_by(|a, b| a == b);
    same.map(|same| if same.len() > 1 { format!("{} ×{}", same[0], same.len()) } else { same[0].clone() }).collect()
}
