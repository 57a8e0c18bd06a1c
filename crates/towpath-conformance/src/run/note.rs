//! `note`, `marks` and `tags`: what handlers say of their jobs while they work.

use towpath_core::Progress;
use towpath_core::store::{Mark, Note, Noted, TagQuery};

use crate::args::Args;
use crate::error::ScriptError;
use crate::run::enqueue::read_payload;
use crate::run::{Answer, Runner, WorkerBook};
use crate::say::{self, Line};
use crate::subject::Subject;

impl<S: Subject> Runner<S> {
    pub(super) async fn notes(&mut self, verb: &str, args: Args, body: &[String]) -> Answer {
        match verb {
            "note" => self.note(args, body).await,
            "marks" => self.marks(args).await,
            _ => self.tags(args).await,
        }
    }

    /// `note w1 a done=3 total=10 say="rows" tags=x,y mark=step:{"n":1}`; or several in one transaction, one a line below it.
    async fn note(&mut self, mut args: Args, body: &[String]) -> Answer {
        let worker = args.word("a worker")?;
        let book = self.workers.entry(worker).or_default();
        let mut notes = Vec::new();
        if body.is_empty() {
            notes.push(read_note(book, args)?);
        } else {
            args.finish()?;
            for line in body {
                notes.push(read_note(book, Args::parse(line.trim())?)?);
            }
        }
        let (names, notes): (Vec<String>, Vec<Note>) = notes.into_iter().unzip();
        match self.subject.store().note(notes).await {
            Ok(answers) => {
                let line = |(name, noted): (&String, Noted)| {
                    let word = match noted {
                        Noted::Done => "noted",
                        Noted::Stale => "stale",
                        Noted::Full => "full",
                    };
                    format!("{name} {word}")
                };
                Ok(names.iter().zip(answers).map(line).collect())
            }
            Err(error) => Ok(self.refused(&error)),
        }
    }

    async fn marks(&mut self, mut args: Args) -> Answer {
        let job = args.word("a job")?;
        args.finish()?;
        let found = self.subject.store().marks(self.names.job(&job)).await;
        let say = self.say();
        self.told(found.map(|all| {
            let line = |line: &towpath_core::store::MarkLine| {
                let value = say::payload(&line.mark.value);
                Line::new(&line.mark.name).pair("value", value).pair("at", say.at(line.at)).end()
            };
            all.iter().map(line).collect()
        }))
    }

    /// `tags`, `tags prefix=customer= after=x limit=2`.
    async fn tags(&mut self, mut args: Args) -> Answer {
        let query = TagQuery {
            prefix: args.text("prefix")?.unwrap_or_default(),
            after: args.text("after")?,
            limit: args.number("limit")?.unwrap_or(100),
        };
        args.finish()?;
        let found = self.subject.store().inspect().tags(query).await;
        self.told(found.map(|all| all.iter().map(|line| format!("{} {}", line.tag, line.jobs)).collect()))
    }
}

fn read_note(book: &WorkerBook, mut args: Args) -> Result<(String, Note), ScriptError> {
    let job = args.word("a job")?;
    let mut note = Note::new(book.fence(&job)?);
    let (done, total) = (args.number("done")?, args.number("total")?);
    let say = args.text("say")?;
    if done.is_some() || say.is_some() {
        let done = done.unwrap_or(0);
        let progress = total.map_or_else(|| Progress::counted(done), |total| Progress::of(done, total));
        note.progress = Some(progress.say(say.unwrap_or_default()));
    }
    note.tags = args.list("tags").unwrap_or_default();
    // `x1..33`: so many.
    if let Some(many) = args.number::<u32>("tags_many")? {
        note.tags = (1..=many).map(|n| format!("x{n}")).collect();
    }
    let value = |text: &str| match text.split_once(':') {
        Some((name, value)) => Ok(Mark { name: name.to_owned(), value: read_payload(value) }),
        None => Err(ScriptError::new(format!("mark={text} lacks a value: mark=name:value"))),
    };
    while let Some(mark) = args.read("mark", value)? {
        note.marks.push(mark);
    }
    if let Some(many) = args.number::<u32>("marks_many")? {
        let mark = |n| Mark { name: format!("m{n}"), value: read_payload("1") };
        note.marks = (1..=many).map(mark).collect();
    }
    args.finish()?;
    Ok((job, note))
}
