use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96 hours")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    let _ = cx.now();
    Ok(())
}

fn main() {}
