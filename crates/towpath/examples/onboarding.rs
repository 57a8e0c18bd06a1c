//! Onboarding as a durable function: reserve a name, send a welcome mail, wait for its confirmation, open the account; or,
//! if nobody confirms in time, give the name up again.
//!
//! ```sh
//! cargo run -p towpath --example onboarding /tmp/onboarding
//! ```
//!
//! Kill it at any moment and run it again with the same folder: every user goes on where they were. The guide,
//! `docs/guide/durable.md`, builds it up line by line.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{
    Client, Cx, Failure, RunError, Signal, State, StepCx, StepError, Worker, WorkerHandle, durable, select, step,
};

/// What is done in the world: a file with a line for each thing.
pub(crate) struct World {
    path: PathBuf,
}

impl World {
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    async fn does(&self, what: &str, user: &str) -> Result<(), Failure> {
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
        // One write to a file opened for append: lines of several processes do not mix.
        file.write_all(format!("{what} {user}\n").as_bytes())?;
        // The world takes its time, and this process may die before it knows.
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) name: String,
    /// How long the confirmation may take. It goes with the run: changing it for new users leaves the old ones alone.
    pub(crate) patience: Duration,
}

/// The id of a mail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mail(String);

/// Why there is no account.
#[derive(Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum OnboardError {
    #[error("nobody confirmed in time")]
    Expired,
    #[error("it could not be done: {0}")]
    Undone(String),
}

impl From<StepError<Failure>> for OnboardError {
    fn from(error: StepError<Failure>) -> Self {
        Self::Undone(error.to_string())
    }
}

#[step]
async fn reserve_name(world: State<World>, name: String) -> Result<(), Failure> {
    world.does("reserve", &name).await
}

#[step]
async fn release_name(world: State<World>, name: String) -> Result<(), Failure> {
    world.does("release", &name).await
}

#[step(attempts = 5, timeout = "30s")]
async fn send_welcome(cx: StepCx, world: State<World>, name: String) -> Result<Mail, Failure> {
    world.does("welcome", &name).await?;
    // The same in every attempt: a mail service that is given it sends once.
    Ok(Mail(cx.idempotency_key().to_owned()))
}

#[step]
async fn activate(world: State<World>, name: String, mail: Mail) -> Result<String, Failure> {
    world.does("activate", &name).await?;
    Ok(format!("{name} is in, by mail {}", mail.0))
}

/// What comes when the link in the mail is followed.
pub(crate) const CONFIRMED: Signal<Mail> = Signal::new("confirmed");

#[durable(max_duration = "96h")]
pub(crate) async fn onboard(cx: Cx<'_>, user: User) -> Result<String, OnboardError> {
    cx.step(RESERVE_NAME, &user.name).await?;
    cx.undo(RELEASE_NAME, user.name.clone());
    cx.step(SEND_WELCOME, &user.name).await?;
    let mail = select! {
        mail = cx.signal(CONFIRMED) => mail,
        () = cx.sleep(user.patience) => return Err(OnboardError::Expired),
    };
    Ok(cx.step(ACTIVATE, &(user.name, mail)).await?)
}

/// A worker that serves onboarding.
pub(crate) fn worker(client: &Client, world: World) -> Result<WorkerHandle, Box<dyn Error>> {
    let worker = Worker::builder(client)
        .state(world)
        .step(RESERVE_NAME)
        .step(RELEASE_NAME)
        .step(SEND_WELCOME)
        .step(ACTIVATE)
        .durable(ONBOARD)
        .start()?;
    Ok(worker)
}

/// Follows the link in the mail.
pub(crate) async fn confirm(client: &Client, name: &str) -> Result<(), towpath::Error> {
    client.signal(name, CONFIRMED, &Mail(format!("{name}/1"))).dedup("link").await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("towpath-onboarding"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let client = Client::open(&format!("sqlite:{}", folder.join("app.db").display())).await?;
    let world = folder.join("world.txt");
    let worker = worker(&client, World::at(&world))?;

    // At most one run has an id: started again after a kill, these answer the runs that are there.
    let patience = Duration::from_secs(5);
    let ann = client.start(ONBOARD, "ann", &User { name: "ann".into(), patience }).await?;
    let bob = client.start(ONBOARD, "bob", &User { name: "bob".into(), patience }).await?;
    println!("ann and bob have mail; ann follows the link, bob has {patience:?} to do so");
    confirm(&client, "ann").await?;
    println!("ann: {}", client.result(&ann).await?);
    match client.result(&bob).await {
        Err(RunError::Failed(OnboardError::Expired)) => println!("bob: {}", OnboardError::Expired),
        other => println!("bob: {other:?}"),
    }
    println!("what was done, by {}:\n{}", world.display(), fs::read_to_string(&world)?);
    worker.shutdown().await;
    Ok(())
}
