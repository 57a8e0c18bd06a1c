use towpath::{Failure, step};

#[step(attempts = 5, timeout = "30s", attempts = 6)]
async fn send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
