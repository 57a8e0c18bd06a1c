//! The picture of a graph in the guide is what the guide says it is: printed from a charge that failed.
//!
//! `TOWPATH_UPDATE=1` writes it anew.

use std::path::Path;

use serde::{Deserialize, Serialize};
use towpath::core::{Picture, Timestamp};
use towpath::{Context, Failure, Graph, GraphEnd, Job, Worker};

use crate::stores::memory;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "step", attempts = 1)]
struct Step(bool);

#[tokio::test]
async fn the_picture_of_the_guide_is_that_of_a_charge_that_failed() {
    let client = memory().client;
    let worker = Worker::builder(&client)
        .handle(|Step(is_done): Step, _: Context| async move {
            if is_done { Ok(()) } else { Err(Failure::permanent("the card is declined")) }
        })
        .start()
        .unwrap();
    let graph = Graph::builder("checkout");
    let price = graph.node("price", &Step(true));
    let charge = price
        .parallel()
        .arm(|price| price.then("reserve", &Step(true)))
        .arm(|price| price.then("notify", &Step(true)).may_fail().finished())
        .then("charge", &Step(false));
    charge.then("ship", &Step(true));
    charge.failed().then("alarm", &Step(true));
    charge.finished().then("tidy", &Step(true));
    let graph = graph.enqueue(&client).await.unwrap();
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Failed);
    worker.shutdown().await;
    let detail = client.inspect().graph(graph.id()).await.unwrap().unwrap();
    let drawn = Picture::of_stored(&detail, Timestamp::ZERO).text();

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/graphs.md");
    let guide = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = guide.split_once("of a charge that failed:\n\n```text\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        let anew = format!("{before}of a charge that failed:\n\n```text\n{drawn}```{after}");
        std::fs::write(&page, anew).unwrap();
        return;
    }
    assert_eq!(shown, drawn, "docs/guide/graphs.md differs from what is drawn: run the test with TOWPATH_UPDATE=1");
}
