use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", crash_limit = 5000000000)]
struct Greet;

fn main() {}
