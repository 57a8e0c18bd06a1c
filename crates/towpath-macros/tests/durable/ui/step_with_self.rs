use towpath::{Failure, step};

struct Mailer;

impl Mailer {
    #[step]
    async fn send_mail(&self) -> Result<(), Failure> {
        Ok(())
    }
}

fn main() {}
