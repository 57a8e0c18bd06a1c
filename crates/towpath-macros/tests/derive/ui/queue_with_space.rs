use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", queue = "e mail")]
struct Greet;

fn main() {}
