use towpath::{Cx, Failure, Signal, durable, select};

const CONFIRMED: Signal<u32> = Signal::new("confirmed");

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>, waits: bool) -> Result<(), Failure> {
    select! {
        _ = cx.signal(CONFIRMED), if waits => {}
        () = cx.sleep(std::time::Duration::from_secs(1)) => {}
    }
    Ok(())
}

fn main() {}
