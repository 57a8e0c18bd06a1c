use towpath::{Failure, step};

#[step(backoff = "1s")]
async fn send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
