use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", timeout = "1.5h")]
struct Greet;

fn main() {}
