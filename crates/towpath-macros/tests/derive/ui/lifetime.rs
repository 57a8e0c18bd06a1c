use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet")]
struct Greet<'a> {
    name: &'a str,
}

fn main() {}
