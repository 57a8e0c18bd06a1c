use serde::{Deserialize, Serialize};
use towpath::{Branch, Graph, Job};

#[derive(Serialize, Deserialize, Branch)]
enum Shipping {
    Express,
    Standard,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "route", gate = Shipping)]
struct Route;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "ship", output = Shipping)]
struct Ship;

fn main() {
    let graph = Graph::builder("checkout");
    let route = graph.node("route", &Route);
    route.branch(true).then("ship", &Ship);
}
