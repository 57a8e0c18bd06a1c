use towpath::Graph;

fn main() {
    let graph = Graph::builder("checkout");
    graph.node("ship", &"a text");
}
