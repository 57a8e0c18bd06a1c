use towpath::{Failure, step};

#[step(retries = 5)]
async fn send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
