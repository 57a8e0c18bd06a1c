use towpath::{Failure, step};

#[step]
async fn send_mail<T: Send>(_to: T) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
