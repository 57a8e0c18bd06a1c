use towpath::{Cx, Failure, durable, step};

#[step]
async fn send_mail(_to: String) -> Result<(), Failure> {
    Ok(())
}

#[durable(max_duration = "96h")]
async fn onboard(cx: Cx<'_>, user: u64) -> Result<(), Failure> {
    cx.step(SEND_MAIL, &user).await?;
    Ok(())
}

fn main() {}
