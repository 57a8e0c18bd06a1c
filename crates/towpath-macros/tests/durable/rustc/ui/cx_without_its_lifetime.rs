use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx) -> Result<(), Failure> {
    let _ = cx.now();
    Ok(())
}

fn main() {}
