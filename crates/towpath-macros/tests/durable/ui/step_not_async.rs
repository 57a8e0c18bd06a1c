use towpath::{Failure, step};

#[step]
fn send_mail() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
