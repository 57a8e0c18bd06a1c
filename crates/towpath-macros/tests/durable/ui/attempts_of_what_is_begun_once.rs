use towpath::{Failure, step};

#[step(at_most_once, attempts = 5)]
async fn send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
