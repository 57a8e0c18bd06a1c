use std::time::Duration;

use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    let inner = cx.clone();
    cx.run("nap", move |_| {
        let inner = inner.clone();
        async move {
            inner.sleep(Duration::from_secs(1)).await;
            Ok::<(), Failure>(())
        }
    })
    .await?;
    Ok(())
}

fn main() {}
