use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
struct Greet {
    name: String,
}

fn main() {}
