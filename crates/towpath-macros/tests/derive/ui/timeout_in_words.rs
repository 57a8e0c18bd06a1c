use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", timeout = "10 minutes")]
struct Greet;

fn main() {}
