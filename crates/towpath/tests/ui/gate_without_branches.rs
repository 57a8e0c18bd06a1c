use serde::{Deserialize, Serialize};
use towpath::{Branch, Job};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "route", gate = String)]
struct Route;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "route", gate = bool, output = bool)]
struct Both;

#[derive(Branch)]
enum WithFields {
    Express(u64),
}

#[derive(Branch)]
enum Twice {
    Express,
    #[branch("express")]
    Fast,
}

#[derive(Branch)]
enum Nothing {}

#[derive(Branch)]
struct NoEnum;

fn main() {}
