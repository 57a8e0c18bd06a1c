use towpath::{Cx, Failure, State, durable};

struct App;

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>, _app: State<App>) -> Result<(), Failure> {
    let _ = cx.now();
    Ok(())
}

fn main() {}
