use std::time::Duration;

use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    let nap = cx.sleep(Duration::from_secs(1));
    tokio::spawn(nap);
    Ok(())
}

fn main() {}
