use towpath::{Cx, Failure, step};

#[step]
async fn send_mail(cx: Cx<'_>) -> Result<(), Failure> {
    let _ = cx.now();
    Ok(())
}

fn main() {}
