use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", priority = "high")]
struct Greet;

fn main() {}
