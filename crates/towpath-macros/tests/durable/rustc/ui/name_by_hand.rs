use towpath::{Failure, Step, StepCx};

const SEND_MAIL: Step<u64, (), Failure> = Step::new("Send_Mail", &send_mail);

async fn send_mail(_cx: StepCx, _user: u64) -> Result<(), Failure> {
    Ok(())
}

fn main() {
    println!("{}", SEND_MAIL.name());
}
