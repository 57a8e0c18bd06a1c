use towpath::{Failure, step};

#[step(name = "Send-Mail")]
async fn send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
