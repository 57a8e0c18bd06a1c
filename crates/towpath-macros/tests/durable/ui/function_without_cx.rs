use towpath::{Failure, durable};

#[durable(max_duration = "96h")]
async fn onboard(_user: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
