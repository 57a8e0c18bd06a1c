use std::rc::Rc;
use std::time::Duration;

use towpath::{Cx, Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    let count = Rc::new(1);
    cx.sleep(Duration::from_secs(*count)).await;
    drop(count);
    Ok(())
}

fn main() {}
