//! `schedule`, `schedules` and `tick`: rules that mint jobs, and a scheduler's look at them.

use towpath_core::schedule::{
    Activity, CatchUp, Keeper, Overlap, Policy, Schedule, ScheduleWrite, Spec, StoredSchedule, TickJob, Zone, look,
};
use towpath_core::store::ScheduleWritten;
use towpath_core::{JobId, Kind, NewJob, Queue, ScheduleName};

use crate::args::Args;
use crate::error::ScriptError;
use crate::names::Names;
use crate::run::enqueue::{parsed, read_payload};
use crate::run::{Answer, Runner};
use crate::say::Line;
use crate::span;
use crate::subject::{START, Subject};

impl<S: Subject> Runner<S> {
    pub(super) async fn schedule(&mut self, verb: &str, args: Args) -> Answer {
        match verb {
            "tick" => self.tick(args).await,
            "schedules" => self.schedules(args).await,
            _ => self.change_schedule(args).await,
        }
    }

    /// As a worker looks.
    async fn tick(&mut self, mut args: Args) -> Answer {
        let limit = args.number("limit")?.unwrap_or(100);
        args.finish()?;
        match look(self.subject.store(), limit).await {
            Err(error) => Ok(self.refused(&error)),
            Ok(looked) => {
                let mut lines = Vec::new();
                self.check_now(looked.now, &mut lines);
                let next = looked.next.map(|next| span::show_instant(next, START));
                lines.push(
                    Line::default().count("due", looked.due).count("minted", looked.minted).maybe("next", next).end(),
                );
                Ok(lines)
            }
        }
    }

    async fn schedules(&mut self, mut args: Args) -> Answer {
        let after = args.text("after")?.map(|name| parsed(ScheduleName::new(&name))).transpose()?;
        let limit = args.number("limit")?.unwrap_or(100);
        args.finish()?;
        let listed = match self.subject.store().schedules(after, limit).await {
            Err(error) => return Ok(self.refused(&error)),
            Ok(listed) => listed,
        };
        let mut lines = Vec::new();
        self.check_now(listed.now, &mut lines);
        for (_, row) in listed.rows {
            self.say_schedule(&row, &mut lines);
        }
        Ok(lines)
    }

    fn say_schedule(&mut self, row: &StoredSchedule, lines: &mut Vec<String>) {
        let at = |at| span::show_instant(at, START);
        for minted in &row.minted {
            self.names.learn_job(minted.job, &format!("{}@{}", row.name, at(minted.tick)));
        }
        let paused = if row.activity == Activity::Paused { "paused" } else { "" };
        let minted = row.minted.last().map(|minted| self.names.of(minted.job));
        let line = Line::new(row.name.as_str()).word(paused).word(format!("{:?}", row.rule.spec.to_string()));
        lines.push(line.pair("cursor", at(row.cursor)).maybe("next", row.next.map(at)).maybe("minted", minted).end());
        for span in &row.skipped {
            let line = Line::new("  skipped").pair("from", at(span.first)).pair("to", at(span.last));
            lines.push(line.pair("count", span.count).word(format!("{:?}", span.reason)).end());
        }
    }

    async fn change_schedule(&mut self, mut args: Args) -> Answer {
        let verb = args.word("put, pause, resume, trigger or forget")?;
        let name = parsed(ScheduleName::new(&args.word("a name")?))?;
        let stale = args.flag("stale");
        let put = if verb == "put" { Some(read_schedule(&mut args)?) } else { None };
        let id = args.text("id")?.map(|id| self.names.job(&id));
        args.finish()?;
        let listed = match self.subject.store().schedules(None, 1_000).await {
            Err(error) => return Ok(self.refused(&error)),
            Ok(listed) => listed,
        };
        let there = listed.rows.into_iter().find(|(_, row)| row.name == name);
        let there = there.map(|(revision, row)| (if stale { revision - 1 } else { revision }, row));
        let write = match (put, there) {
            (Some(rule), there) => StoredSchedule::put(there, name, rule, Keeper::Hand, listed.now),
            (None, None) => return Ok(vec!["unknown".into()]),
            (None, Some((revision, row))) => match verb.as_str() {
                "pause" => row.pause(revision),
                "resume" => row.resume(revision, listed.now),
                "trigger" => {
                    let id: JobId = id.ok_or_else(|| ScriptError::new("trigger needs an id="))?;
                    row.trigger(revision, id, listed.now)
                }
                "forget" => row.forget(revision),
                other => return Err(ScriptError::new(format!("{other:?} is nothing that a schedule does"))),
            },
        };
        self.write_schedule(write.by("ann", "", "change schedule")).await
    }

    async fn write_schedule(&mut self, write: ScheduleWrite) -> Answer {
        Ok(match self.subject.store().write_schedules(vec![write]).await {
            Err(error) => self.refused(&error),
            Ok(written) => written.iter().map(ScheduleWritten::to_string).collect(),
        })
    }
}

/// `spec="@every 1h" zone=UTC kind= queue= priority= version= input= overlap=skip catch_up=skip|coalesce|3 grace=1m`.
fn read_schedule(args: &mut Args) -> Result<(Schedule, TickJob), ScriptError> {
    let spec = args.text("spec")?.ok_or_else(|| ScriptError::new("a schedule needs a spec="))?;
    let zone = args.text("zone")?.unwrap_or_else(|| "UTC".into());
    let overlap = match args.text("overlap")?.as_deref() {
        None | Some("allow") => Overlap::Allow,
        Some("skip") => Overlap::Skip,
        Some(other) => return Err(ScriptError::new(format!("{other:?} is no overlap"))),
    };
    let catch_up = match args.text("catch_up")?.as_deref() {
        None | Some("coalesce") => CatchUp::Coalesce,
        Some("skip") => CatchUp::Skip,
        Some(count) => CatchUp::Backfill(parsed(count.parse::<u8>())?),
    };
    let mut policy = Policy { overlap, catch_up, ..Policy::default() };
    if let Some(grace) = args.read("grace", span::parse)? {
        policy = policy.grace(grace);
    }
    let kind = args.text("kind")?.unwrap_or_else(|| "echo".into());
    let mut job = NewJob::new(Names::default().job("tick"), parsed(Kind::new(&kind))?);
    job.input = args.read("input", |text| Ok(read_payload(text)))?.unwrap_or_default();
    job.version = args.number("version")?.unwrap_or(job.version);
    job.priority = args.number("priority")?.unwrap_or(job.priority);
    if let Some(queue) = args.text("queue")? {
        job.queue = parsed(Queue::new(&queue))?;
    }
    let rule = Schedule { spec: parsed(Spec::parse(&spec))?, zone: parsed(Zone::named(&zone))?, policy };
    Ok((rule, parsed(TickJob::of(&job))?))
}
