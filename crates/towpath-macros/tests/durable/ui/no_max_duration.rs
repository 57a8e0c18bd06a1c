use towpath::{Cx, Failure, durable};

#[durable(version = 2)]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    let _ = cx.now();
    Ok(())
}

fn main() {}
