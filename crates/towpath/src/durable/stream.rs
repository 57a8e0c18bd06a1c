//! Streams: lines that a run writes while it goes on, and that clients read as they come.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::store::{Showing, StreamLine};
use towpath_core::{JobId, Label, RunId, StoreError, Timestamp};

use super::cx::{Cx, show, shown};
use super::function::check_name;
use super::step::StepCx;
use crate::client::Client;
use crate::error::Error;
use crate::failure::Failure;

/// The name and type of a stream: the words of a model, the lines of a log.
///
/// ```
/// use towpath::Stream;
/// const WORDS: Stream<String> = Stream::new("words");
/// ```
pub struct Stream<T> {
    name: &'static str,
    line: PhantomData<fn() -> T>,
}

impl<T> Stream<T> {
    /// A stream of this name: 1 to 64 of a-z 0-9 and inner hyphens. Each run has its own.
    ///
    /// # Panics
    /// On a bad name; in a `const` that is a compile error.
    pub const fn new(name: &'static str) -> Self {
        check_name(name);
        Self { name, line: PhantomData }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Stream<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Stream<T> {}

impl<T> fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.name)
    }
}

impl Cx<'_> {
    /// Writes the next line of a stream of this run, with the run's next commit, which follows at once: exactly once, however
    /// often the function is entered again. At most 1 MiB of JSON; a line that has no stored form blocks the run. Lines stay
    /// through chapters and after the end, and go with the run.
    ///
    /// ```
    /// # use towpath::{Cx, Failure, Stream};
    /// const LOG: Stream<String> = Stream::new("log");
    ///
    /// async fn import(cx: Cx<'_>, files: Vec<String>) -> Result<(), Failure> {
    ///     for file in files {
    ///         cx.run_with("import", &file, |_, file| async move { import_one(&file).await }).await?;
    ///         cx.emit(LOG, &format!("{file} is in"));
    ///     }
    ///     Ok(())
    /// }
    /// # async fn import_one(_: &str) -> Result<(), Failure> { Ok(()) }
    /// ```
    pub fn emit<T: Serialize>(&self, stream: Stream<T>, line: &T) {
        let what = format!("a line of stream {}", stream.name);
        show(self.ops(), line, &what, |payload| Showing::line(stream.name, payload));
    }
}

impl StepCx {
    /// Writes the next line of a stream of the run, while the step goes on: soon, in the order of the step's lines, and before its
    /// result. **At least once**: what an attempt has written stays if the step is tried again. Waits while the store is behind.
    ///
    /// ```
    /// # use towpath::{Failure, StepCx, Stream};
    /// const WORDS: Stream<String> = Stream::new("words");
    ///
    /// async fn answer(cx: StepCx, question: String) -> Result<String, Failure> {
    ///     let mut answer = String::new();
    ///     for word in question.split(' ').rev() {
    ///         cx.emit(WORDS, &word.to_owned()).await?;
    ///         answer.push_str(word);
    ///     }
    ///     Ok(answer)
    /// }
    /// ```
    ///
    /// # Errors
    /// The line has no stored form, or more than 1 MiB of it; a further attempt would find the same.
    ///
    /// # Cancel safety
    /// Dropped, the line is written or is not.
    pub async fn emit<T: Serialize>(&self, stream: Stream<T>, line: &T) -> Result<(), Failure> {
        let refused = |problem| Failure::permanent(format!("a line of stream {}: {problem}", stream.name));
        let payload = shown(line).map_err(refused)?;
        // Without a driver the claim is lost, and this attempt counts for nothing.
        let _ = self.lines.send(Showing::line(stream.name, payload)).await;
        Ok(())
    }
}

/// Why a stream could not be read on.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// What is given is no id of a run, or no name.
    Name(Error),
    /// The store could not be asked. Ask again: the reader stands where it stood.
    Store(StoreError),
    /// There is no such run.
    Unknown {
        /// The run.
        run: String,
    },
    /// A line is of another type. The reader stands behind it.
    Decode {
        /// The stream.
        stream: String,
        /// The line's number.
        number: u64,
        /// How it differs.
        problem: String,
    },
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Unknown { run } => write!(f, "there is no run {run}: start it before its streams are read"),
            Self::Decode { stream, number, problem } => {
                write!(f, "line {number} of stream {stream} cannot be read: {problem}")
            }
        }
    }
}

impl StdError for StreamError {}

impl From<StoreError> for StreamError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line<T> {
    /// Its number, from 1, without gaps: with it, a reader goes on behind the line ([`StreamReader::after`]).
    pub number: u64,
    /// When it was written, by the store's clock.
    pub at: Timestamp,
    /// What it says.
    pub value: T,
}

impl Client {
    /// Reads a stream of a run from its first line on, those that are there and those to come.
    ///
    /// ```
    /// # use towpath::{Client, Stream};
    /// # const WORDS: Stream<String> = Stream::new("words");
    /// # async fn read(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut words = client.stream("answer-7", WORDS);
    /// while let Some(word) = words.next().await? {
    ///     print!("{} ", word.value);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream<T: DeserializeOwned>(&self, run: &str, stream: Stream<T>) -> StreamReader<T> {
        self.stream_named(run, stream.name)
    }

    /// The same with a name that is known at run time only.
    pub fn stream_named<T: DeserializeOwned>(&self, run: &str, stream: &str) -> StreamReader<T> {
        StreamReader {
            client: self.clone(),
            run: run.to_owned(),
            stream: stream.to_owned(),
            after: 0,
            job: None,
            page: VecDeque::new(),
            line: PhantomData,
        }
    }
}

/// Reads a stream. It holds no connection and no task while it waits.
pub struct StreamReader<T> {
    client: Client,
    run: String,
    stream: String,
    after: u64,
    job: Option<JobId>,
    page: VecDeque<StreamLine>,
    line: PhantomData<fn() -> T>,
}

/// How often a line is looked for, at first and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));
/// Lines that are read at once.
const PAGE: u32 = 500;

impl<T: DeserializeOwned> StreamReader<T> {
    /// Goes on behind the line of this number: a reader that was stopped misses nothing and reads nothing twice.
    pub fn after(mut self, number: u64) -> Self {
        self.after = number;
        self.page.clear();
        self
    }

    /// The next line, as soon as it is there; `None` once the run has ended and all its lines were read.
    ///
    /// # Errors
    /// There is no such run, the line is of another type, or the store could not be asked.
    ///
    /// # Cancel safety
    /// Safe: a line that was not given out is given out next.
    pub async fn next(&mut self) -> Result<Option<Line<T>>, StreamError> {
        let mut wait = LOOKS.0;
        loop {
            if let Some(line) = self.page.pop_front() {
                return self.read(line).map(Some);
            }
            let job = self.job().await?;
            // In this order: what it wrote before it ended is there by then.
            let has_ended = self.client.store().ended(vec![job]).await?.into_iter().next().flatten().is_some();
            self.look().await?;
            if !self.page.is_empty() {
                continue;
            }
            if has_ended {
                return Ok(None);
            }
            if wait == LOOKS.1 {
                // It may have ended and be gone.
                self.job = None;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOKS.1);
        }
    }

    /// The next line if it is there.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    ///
    /// # Cancel safety
    /// As [`next`](Self::next).
    pub async fn try_next(&mut self) -> Result<Option<Line<T>>, StreamError> {
        if self.page.is_empty() {
            self.job().await?;
            self.look().await?;
        }
        self.page.pop_front().map(|line| self.read(line)).transpose()
    }

    async fn look(&mut self) -> Result<(), StreamError> {
        let lines = self.client.store().stream(self.id()?, self.stream.clone(), self.after, PAGE).await?;
        self.page = lines.into();
        Ok(())
    }

    fn id(&self) -> Result<RunId, StreamError> {
        RunId::new(&self.run).map_err(|e| StreamError::Name(e.into()))
    }

    async fn job(&mut self) -> Result<JobId, StreamError> {
        if let Some(job) = self.job {
            return Ok(job);
        }
        Label::new(&self.stream).map_err(|e| StreamError::Name(e.into()))?;
        let job = self.client.inspect().run(self.id()?).await?;
        self.job = job;
        job.ok_or_else(|| StreamError::Unknown { run: self.run.clone() })
    }

    fn read(&mut self, StreamLine { number, payload, at }: StreamLine) -> Result<Line<T>, StreamError> {
        self.after = number;
        match payload.decode() {
            Ok(value) => Ok(Line { number, at, value }),
            Err(e) => Err(StreamError::Decode { stream: self.stream.clone(), number, problem: e.problem }),
        }
    }
}

impl<T> fmt::Debug for StreamReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("StreamReader");
        out.field("run", &self.run).field("stream", &self.stream).field("after", &self.after).finish_non_exhaustive()
    }
}
