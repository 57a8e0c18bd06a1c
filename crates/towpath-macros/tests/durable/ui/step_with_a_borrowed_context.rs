use towpath::{Failure, StepCx, step};

#[step]
async fn send_mail(_cx: &StepCx) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
