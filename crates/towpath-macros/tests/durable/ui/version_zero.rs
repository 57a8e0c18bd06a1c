use towpath::{Cx, Failure, durable};

#[durable(version = 0, max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    let _ = cx.now();
    Ok(())
}

fn main() {}
