use std::time::Duration;

use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    tokio::spawn(async move { cx.sleep(Duration::from_secs(1)).await });
    Ok(())
}

fn main() {}
