use towpath::{Failure, step};

#[step]
async fn _send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
