use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet")]
#[job(kind = "hail")]
struct Greet;

fn main() {}
