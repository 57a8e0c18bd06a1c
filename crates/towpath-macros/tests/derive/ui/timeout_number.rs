use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", timeout = 30)]
struct Greet;

fn main() {}
