use towpath::{Cx, Failure, Signal, durable, select};

const CONFIRMED: Signal<u32> = Signal::new("confirmed");

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    select! {
        () = cx.sleep(std::time::Duration::from_secs(1)) => {}
        n if n > 2 = cx.signal(CONFIRMED) => {}
    }
    Ok(())
}

fn main() {}
