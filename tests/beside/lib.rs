//! An application that has sqlx: it enqueues inside its own transactions, on both databases.
#![cfg(test)]

mod postgres;
mod sqlite;
mod wire;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Cx, Durable, Failure, Graph, Job, Perform, Signal, Worker, WorkerHandle};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "ship", output = u64)]
struct Ship(u64);

impl Perform for Ship {
    async fn perform(self, _cx: Context) -> Result<u64, Failure> {
        Ok(self.0)
    }
}

const GO: Signal<u64> = Signal::new("go");
const WAITER: Durable<u64, u64, Failure> = Durable::new("wait-for-go", 1, Duration::from_secs(3_600), &wait_for_go);

async fn wait_for_go(cx: Cx<'_>, add: u64) -> Result<u64, Failure> {
    Ok(add + cx.signal(GO).await)
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).perform::<Ship>().durable(WAITER).start().unwrap()
}

fn graph() -> Graph {
    let graph = Graph::builder("order");
    graph.node("a", &Ship(1)).then("b", &Ship(2));
    graph.build().unwrap()
}

async fn jobs(client: &Client) -> u64 {
    client.inspect().census().await.unwrap().jobs
}

/// How long the median of nine takes.
fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}
