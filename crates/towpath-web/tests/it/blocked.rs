//! A blocked run: where it stopped, in its place among what it has done.

use std::time::Duration;

use towpath::{Cx, Durable, Failure, JobState, Signal, Step, StepCx, Worker};
use towpath_web::{Part, WebOptions};

use crate::site::Site;
use crate::stores::{Subject, on_every_store};

on_every_store!(where_code_and_journal_part_is_marked);

const CHARGE: Step<(), u32, Failure> = Step::new("charge", &seven);
const REFUND: Step<(), u32, Failure> = Step::new("refund", &seven);
async fn seven(_cx: StepCx, (): ()) -> Result<u32, Failure> {
    Ok(7)
}

const GO: Signal<()> = Signal::new("go");
const LIMIT: Duration = Duration::from_secs(3_600);

const BEFORE: Durable<(), u32, Failure> = Durable::new("order", 1, LIMIT, &before);
async fn before(cx: Cx<'_>, (): ()) -> Result<u32, Failure> {
    let cents = cx.step(CHARGE, &()).await?;
    cx.signal(GO).await;
    Ok(cents)
}

/// The same version, with other code.
const AFTER: Durable<(), u32, Failure> = Durable::new("order", 1, LIMIT, &after);
async fn after(cx: Cx<'_>, (): ()) -> Result<u32, Failure> {
    let cents = cx.step(REFUND, &()).await?;
    cx.signal(GO).await;
    Ok(cents)
}

async fn where_code_and_journal_part_is_marked(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client).durable(BEFORE).start().unwrap();
    let run = client.start(BEFORE, "order/1", &()).await.unwrap();
    crate::works::wait_for(client, run.job(), "go").await;
    worker.shutdown().await;
    let worker = Worker::builder(client).durable(AFTER).start().unwrap();
    client.signal("order/1", GO, &()).await.unwrap();
    let is_blocked = async || client.inspect().job(run.job()).await.unwrap().unwrap().line.state == JobState::Blocked;
    while !is_blocked().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    worker.shutdown().await;
    let path = format!("/jobs/{}", run.job());
    let page = Site::new(client, WebOptions::default()).get(&path).await.body;
    let (operations, rest) = page.split_once("class=\"stops\"").unwrap_or_else(|| panic!("{page}"));
    assert!(operations.contains("step charge"), "it stands below the operation: {page}");
    let told = rest.split("</tr>").next().unwrap();
    assert!(told.contains("step charge v1") && told.contains("step refund v1"), "{told}");
    assert!(rest.contains("signal go"), "what comes after stands below: {page}");
    // Who may not read the reason is not told of it here either.
    let hidden = WebOptions::default().redact(|_, part, text| if part == Part::Error { "hidden".into() } else { text });
    let page = Site::new(client, hidden).get(&path).await.body;
    assert!(!page.contains("refund"), "{page}");
}
