use serde::Serialize;
use towpath::Job;

#[derive(Serialize, Job)]
#[job(kind = "shape")]
enum Shape {
    Round,
    Square,
}

fn main() {}
