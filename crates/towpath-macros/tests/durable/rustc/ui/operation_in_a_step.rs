use std::time::Duration;

use towpath::{Failure, StepCx, step};

#[step]
async fn send_mail(cx: StepCx) -> Result<(), Failure> {
    cx.sleep(Duration::from_secs(1)).await;
    Ok(())
}

fn main() {}
