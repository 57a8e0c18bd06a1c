use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "SendMail")]
struct SendMail;

fn main() {}
