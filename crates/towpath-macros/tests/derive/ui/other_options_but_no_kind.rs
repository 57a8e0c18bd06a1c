use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "mail")]
struct Greet;

fn main() {}
