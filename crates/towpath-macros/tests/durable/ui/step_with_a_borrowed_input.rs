use towpath::{Failure, step};

#[step]
async fn send_mail(_to: &str) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
