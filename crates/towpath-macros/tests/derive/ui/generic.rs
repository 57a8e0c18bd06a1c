use serde::{Deserialize, Serialize};
use towpath::Job;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "send")]
struct Send<T> {
    what: T,
}

fn main() {}
