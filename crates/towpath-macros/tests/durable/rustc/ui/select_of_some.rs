use towpath::{Cx, Failure, Signal, durable, select};

const CONFIRMED: Signal<Option<u32>> = Signal::new("confirmed");

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    select! {
        Some(_) = cx.signal(CONFIRMED) => {}
        () = cx.sleep(std::time::Duration::from_secs(1)) => {}
    }
    Ok(())
}

fn main() {}
