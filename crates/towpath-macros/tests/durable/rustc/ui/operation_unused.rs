#![deny(unused_must_use)]

use std::time::Duration;

use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    cx.sleep(Duration::from_secs(1));
    Ok(())
}

fn main() {}
