//! An agent as a durable function: a model is asked, uses tools, writes what it thinks into a stream, and waits for a person
//! before it does what cannot be taken back.
//!
//! ```sh
//! cargo run -p towpath --example agent /tmp/agent
//! ```
//!
//! Kill it at any moment and run it again with the same folder: no answer of the model is asked for twice, no tool is used
//! twice once its result is recorded, and an approval that was given stays given. The model here is a fake that needs no network.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{Client, Cx, Failure, Signal, State, StepCx, Stream, Worker, WorkerHandle, durable, select, step};

/// A line of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Said {
    Task(String),
    Call(Call),
    Result(String),
}

/// A tool that the model wants to use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) argument: String,
}

impl Call {
    /// Whether a person is asked first.
    fn is_grave(&self) -> bool {
        self.tool == "refund"
    }
}

/// What the model says to a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Turn {
    Use(Call),
    Answer(String),
}

/// Whether somebody lets it do what it wants to.
pub(crate) const DECIDED: Signal<bool> = Signal::new("decided");
/// What it thinks, word by word, and what it does.
pub(crate) const THOUGHTS: Stream<String> = Stream::new("thoughts");

/// The outside: a file with a line for each question to the model and each use of a tool.
pub(crate) struct Outside {
    path: PathBuf,
}

impl Outside {
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    async fn note(&self, what: &str) -> Result<(), Failure> {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        // One write to a file opened for append: lines of several processes do not mix.
        file.write_all(format!("{what}\n").as_bytes())?;
        // Models and tools take their time, and this process may die before it knows.
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(())
    }
}

/// What a model would say. A real one is asked here, with the idempotency key for its cache.
fn model(talk: &[Said]) -> Turn {
    let call = |tool: &str, argument: &str| Turn::Use(Call { tool: tool.into(), argument: argument.into() });
    match talk {
        [Said::Task(_)] => call("find_order", "7"),
        [.., Said::Call(last), Said::Result(result)] => match last.tool.as_str() {
            "find_order" => call("refund", result),
            _ if result == "refused" => Turn::Answer("nobody allowed the refund".into()),
            _ => Turn::Answer(format!("done: {result}")),
        },
        _ => Turn::Answer("there is nothing to do".into()),
    }
}

#[step(attempts = 5, timeout = "2m")]
async fn think(cx: StepCx, outside: State<Outside>, talk: Vec<Said>) -> Result<Turn, Failure> {
    outside.note(&format!("think {}", talk.len())).await?;
    let turn = model(&talk);
    // Lines of a step leave while it works: a reader sees the words as they come. An attempt that fails leaves its own.
    for word in format!("{turn:?}").split_whitespace() {
        cx.emit(THOUGHTS, &word.to_owned()).await?;
    }
    Ok(turn)
}

#[step(attempts = 3, timeout = "30s")]
async fn use_tool(cx: StepCx, outside: State<Outside>, call: Call) -> Result<String, Failure> {
    // The same key in every attempt: a service that takes one refunds once.
    outside.note(&format!("{} {} by {}", call.tool, call.argument, cx.idempotency_key())).await?;
    Ok(match call.tool.as_str() {
        "find_order" => "order-7".into(),
        "refund" => format!("refunded {}", call.argument),
        // The model is told, and may think of something else.
        other => format!("there is no tool {other}"),
    })
}

/// Turns of one conversation: a model that goes round in circles comes to an end.
const TURNS_MAX: usize = 20;

#[durable(max_duration = "24h")]
pub(crate) async fn agent(cx: Cx<'_>, task: String, patience: Duration) -> Result<String, Failure> {
    let mut talk = vec![Said::Task(task)];
    for _ in 0..TURNS_MAX {
        let call = match cx.step(THINK, &talk).await? {
            Turn::Answer(answer) => return Ok(answer),
            Turn::Use(call) => call,
        };
        // What it asks for is shown to whoever looks, for as long as it waits.
        let is_allowed = if call.is_grave() {
            cx.publish(&Some(&call));
            let decided = select! {
                decided = cx.signal(DECIDED) => decided,
                () = cx.sleep(patience) => false,
            };
            cx.publish(&None::<Call>);
            decided
        } else {
            true
        };
        let result = if is_allowed { cx.step(USE_TOOL, &call).await? } else { "refused".to_owned() };
        cx.emit(THOUGHTS, &format!("{} -> {result}", call.tool));
        talk.extend([Said::Call(call), Said::Result(result)]);
    }
    Err(Failure::new(format!("no answer after {TURNS_MAX} turns")))
}

/// A worker that serves agents.
pub(crate) fn worker(client: &Client, outside: Outside) -> Result<WorkerHandle, Box<dyn Error>> {
    Ok(Worker::builder(client).state(outside).step(THINK).step(USE_TOOL).durable(AGENT).start()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("towpath-agent"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let client = Client::open(&format!("sqlite:{}", folder.join("app.db").display())).await?;
    let outside = folder.join("outside.txt");
    let worker = worker(&client, Outside::at(&outside))?;

    let task = ("give the money for order 7 back".to_owned(), Duration::from_secs(3_600));
    let run = client.start(AGENT, "agent-7", &task).await?;
    let mut thoughts = client.stream("agent-7", THOUGHTS);
    let asks = loop {
        if let Some(Some(call)) = client.published::<Option<Call>>("agent-7").await? {
            break Some(call);
        }
        match thoughts.next().await? {
            Some(line) => println!("  {}", line.value),
            None => break None,
        }
    };
    if let Some(Call { tool, argument }) = asks {
        println!("it asks for {tool} of {argument}; allowed");
        client.signal("agent-7", DECIDED, &true).dedup("first").await?;
    }
    println!("{}", client.result(&run).await?);
    println!("what was done, by {}:\n{}", outside.display(), fs::read_to_string(&outside)?);
    worker.shutdown().await;
    Ok(())
}
