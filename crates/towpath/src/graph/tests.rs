//! The builder without a store: what it makes, and what it refuses.

use serde::{Deserialize, Serialize};

use super::*;
use crate::{Branch, Gate};

macro_rules! job {
    ($name:ident, $kind:literal, $output:ty) => {
        #[derive(Serialize, Deserialize)]
        struct $name;
        impl Job for $name {
            const KIND: &'static str = $kind;
            type Output = $output;
        }
    };
}
job!(Price, "price", u64);
job!(Notify, "notify", ());

#[derive(Serialize, Deserialize)]
struct IsLarge;
impl Job for IsLarge {
    const KIND: &'static str = "is-large";
    type Output = bool;
    fn labels() -> &'static [&'static str] {
        bool::LABELS
    }
    fn chosen(output: &bool) -> Option<&'static str> {
        Some(output.label())
    }
}
impl Gate for IsLarge {}

/// Each edge as `parent -condition> child`.
fn edges(graph: &Graph) -> Vec<String> {
    graph.edges().iter().map(|e| format!("{} -{}> {}", e.parent, e.condition, e.child)).collect()
}

#[test]
fn arms_of_several_nodes_come_together() {
    let graph = Graph::builder("g");
    let price = graph.node("price", &Price);
    price
        .parallel()
        .arm(|from| from.then("a1", &Notify).then("a2", &Notify))
        .arm(|from| from.then("b", &Notify).finished())
        .then("last", &Notify);
    let graph = graph.build().unwrap();
    assert_eq!(
        edges(&graph),
        [
            "price -succeeded> a1",
            "a1 -succeeded> a2",
            "price -succeeded> b",
            "a2 -succeeded> last",
            "b -finished> last",
        ]
    );
    assert_eq!(graph.job::<Price>("price").unwrap().id(), graph.nodes()[0].job.id);
    assert!(graph.job::<Notify>("price").is_none(), "its kind is another");
}

#[test]
fn a_join_waits_for_its_gate_and_for_what_was_taken() {
    let graph = Graph::builder("g");
    let gate = graph.node("gate", &IsLarge);
    let big = gate.branch(true).then("big", &Notify);
    let bigger = big.then("bigger", &Notify);
    graph.node("join", &Notify).joins(gate, bigger);
    graph.node("other", &Notify).after(gate).joins(gate, [bigger]);
    let graph = graph.build().unwrap();
    assert_eq!(
        edges(&graph),
        [
            "gate -branch yes> big",
            "big -succeeded> bigger",
            "gate -succeeded> join",
            "bigger -joined> join",
            "gate -succeeded> other",
            "bigger -joined> other",
        ]
    );
    assert_eq!(graph.nodes()[0].job.rules.labels.len(), 2);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let other = Graph::builder("refunds");
    let foreign = other.node("refund", &Notify);
    let graph = Graph::builder("checkout");
    let price = graph.node("price", &Price).queue("Not A Queue").at_least(3);
    graph.node("price", &Notify).after((price, foreign));
    graph.node("a\nb", &Notify);
    let gate = graph.node("gate", &IsLarge);
    gate.branch_named("maybe").then("late", &Notify);
    let refused = graph.build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "graph checkout is invalid:\n  \
         node price: queue \"Not A Queue\" contains 'N': use only a-z 0-9 . _ -\n  \
         price has an edge with refund, a node of another graph (refunds): use nodes of one graph\n  \
         node \"a\\nb\" contains the control character '\\n'\n  \
         two nodes are named price: rename one\n  \
         price waits for itself: remove that edge\n  \
         price needs at least 3 of its parents, and has none: give it some, or ask for none\n  \
         late waits for the branch maybe of gate, which has only yes, no: ask for one of these"
    );
}

#[test]
fn a_builder_can_be_held_across_an_await() {
    fn is_send_and_sync<T: Send + Sync>(_: &T) {}
    let graph = Graph::builder("g");
    is_send_and_sync(&graph);
    is_send_and_sync(&graph.node("a", &Notify));
}

#[test]
fn branches_of_a_node_that_is_no_gate_are_refused() {
    let graph = Graph::builder("checkout");
    let price = graph.node("price", &Price);
    let late = price.branch_named("yes").then("late", &Notify);
    graph.node("on", &Notify).joins(price, late);
    assert_eq!(
        graph.build().unwrap_err().to_string(),
        "graph checkout is invalid:\n  \
         on waits for a branch of price, which is no gate: let its job declare its branches\n  \
         late waits for a branch of price, which is no gate: let its job declare its branches"
    );
}

#[test]
fn a_new_node_never_takes_the_place_of_a_stored_one_of_its_name() {
    let append = Graph::append(towpath_core::GraphId::from_bytes([7; 16]));
    append.existing("price").then("price", &Price);
    append.existing("notify").then("late", &Notify).tag("").tag("a\nb");
    append.node("notify", &Notify);
    let problems = append.build().unwrap_err().problems;
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let of_name = |name: &str| {
        format!("the new node {name} has the name of a stored node that is waited for: rename the new one")
    };
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(said[..2], [of_name("price"), of_name("notify")]);
}

#[cfg(feature = "cel")]
#[test]
fn a_wrong_field_hides_no_wrong_expression_elsewhere() {
    let problems = |nodes: &str| -> Vec<String> {
        let refused = Graph::from_json(&format!(r#"{{"name": "g", "nodes": [{nodes}]}}"#)).unwrap_err();
        refused.problems.iter().map(ToString::to_string).collect()
    };
    let field = r#"{"name": "a", "kind": "k", "quue": "x"}"#;
    for (nodes, said) in [
        (r#"{"name": "b", "kind": "k", "after": "a", "if": "1 +"}"#, "node b?: branch yes: "),
        (r#"{"name": "b", "kind": "k", "if": "outputs.z == 1"}"#, "reads the node z, which is not above it"),
        (
            r#"{"name": "m", "map": {"over": "outputs.z", "each": {"kind": "k"}}}"#,
            "reads the node z, which is not above it",
        ),
        (
            r#"{"name": "n", "graph": {"name": "in", "x": 1, "nodes": [{"name": "m", "kind": "k", "if": "params.p"}]}}"#,
            "node n: in its graph: node m?: branch yes: `params.p` reads the parameter p",
        ),
    ] {
        let found = problems(&format!("{field}, {nodes}"));
        assert!(found.iter().any(|problem| problem.contains("unknown field `quue`")), "{found:?}");
        assert!(found.iter().any(|problem| problem.contains(said)), "{said}: {found:?}");
    }
    // What may follow from the field is not said.
    let below = r#"{"name": "b", "kind": "k", "aftr": "c", "if": "outputs.c == 1"}, {"name": "c", "kind": "k"}"#;
    assert_eq!(
        problems(&format!("{below}, {}", r#"{"name": "d", "kind": "k", "after": "b", "if": "outputs.c == 1"}"#)).len(),
        1
    );
}
