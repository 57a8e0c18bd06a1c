use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", output = Greeting)]
struct Greet;

struct Greeting;

fn main() {}
