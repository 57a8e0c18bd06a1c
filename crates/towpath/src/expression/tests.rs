//! Expressions that are read, refused, evaluated and bounded.

use serde_json::json;

use super::*;

fn facts() -> Facts {
    let fact = |state: &str, output, error: Option<&str>| Fact {
        state: state.into(),
        output,
        error: error.map(str::to_owned),
    };
    Facts::default()
        .node(
            "build",
            fact(
                "succeeded",
                Some(json!({ "n": 3, "big": 18_446_744_073_709_551_615_u64, "ratio": 0.5, "tags": ["a", "b"] })),
                None,
            ),
        )
        .node("my-node", fact("dead", None, Some("exit status 1")))
        .input(&json!({ "cents": 1200 }))
        .param("region", &"eu")
}

fn value(text: &str) -> Result<serde_json::Value, String> {
    Expression::parse(text).and_then(|e| e.evaluate(&facts())).map_err(|e| e.problem)
}

#[test]
fn expressions_see_outputs_states_errors_input_and_parameters() {
    for (text, expected) in [
        ("outputs.build.n > 2 && outputs.build.n + 1 == 4", json!(true)),
        ("outputs.build.n > 2.5 && outputs.build.ratio < 1", json!(true)),
        ("outputs.build.big > 1", json!(true)),
        ("states[\"my-node\"] == \"dead\" && errors[\"my-node\"].contains(\"status 1\")", json!(true)),
        ("outputs[\"my-node\"] == null", json!(true)),
        ("input.cents * 2", json!(2400)),
        ("params.region + \"-west\"", json!("eu-west")),
        ("has(outputs.build.gone)", json!(false)),
        ("outputs.build.tags.map(t, t + \"!\").filter(t, t != \"b!\")", json!(["a!"])),
        ("outputs.build.tags.exists(t, t == \"b\") && outputs.build.tags.all(t, size(t) == 1)", json!(true)),
        ("{\"a\": [1, 2], \"b\": string(7)}", json!({ "a": [1, 2], "b": "7" })),
        ("outputs.build.n > 2 ? \"big\" : \"small\"", json!("big")),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_an_expression_names_is_known() {
    let uses =
        Expression::parse("outputs.a.b == states[\"c d\"] && params.x.y > 1 && [1].all(params, params.z > 1)").unwrap();
    assert_eq!(Vec::from_iter(&uses.uses().nodes), ["a", "c d"]);
    assert_eq!(Vec::from_iter(&uses.uses().params), ["x"]);
}

#[test]
fn what_cannot_be_read_says_why() {
    let deep = |open: &str, close: &str, times: usize| format!("{}true{}", open.repeat(times), close.repeat(times));
    let told: Vec<String> = [
        "",
        "1 +",
        "otuputs.a > 1",
        "now() > 1 && outputs.a.matches(\"x\")",
        "Thing{a: 1}",
        "outputs.?a",
        "@charge(1)",
        &deep("(", ")", 200),
        &vec!["1"; 300].join("+"),
        &"x".repeat(1_025),
    ]
    .iter()
    .map(|text| {
        Expression::parse(text).unwrap_err().problem.chars().filter(|c| !"(!)".contains(*c)).take(220).collect()
    })
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_has_no_value_says_why() {
    for (text, why) in [
        ("outputs.build.gone > 1", "`outputs.build.gone > 1`: there is no field `gone`: ask with has(…) first"),
        ("outputs.build.n", "`outputs.build.n` is neither true nor false, but 3"),
        (
            "outputs.build.n.m > 1",
            "`outputs.build.n.m > 1`: a field is asked of an integer, and only an object has fields",
        ),
        ("outputs.build.tags > 1", "`outputs.build.tags > 1`: `>` does not take a list and an integer"),
        ("!outputs.build.n", "`!outputs.build.n`: `!` does not take an integer"),
        (
            "outputs.build.n + params.region == 1",
            "`outputs.build.n + params.region == 1`: `+` does not take an integer and a string",
        ),
        ("input[1] == 1", "`input[1] == 1`: there is no field `1`: ask with has(…) first"),
        ("1 / 0 == 1", "`1 / 0 == 1`: Division by zero of Int(1)"),
    ] {
        let said = Expression::parse(text).unwrap().holds(&facts()).unwrap_err().problem;
        assert_eq!(said, why);
    }
    assert!(value("outputs.build.n + \"a\"").is_err());
}

#[test]
fn loops_are_counted_over_all_levels() {
    let list = |count: usize| Facts::default().input(&vec![1; count]);
    let simple = Expression::parse("input.all(x, x == 1)").unwrap();
    assert_eq!(simple.holds(&list(10_000)), Ok(true));
    let over = simple.holds(&list(10_001)).unwrap_err();
    assert!(over.problem.contains("more than 10000 turns"), "{over}");
    let nested = Expression::parse("input.all(x, input.all(y, x == y))").unwrap();
    assert_eq!(nested.holds(&list(99)), Ok(true));
    assert!(nested.holds(&list(100)).is_err());
    let literal = "[1,1,1,1,1,1,1,1,1,1]";
    let loops = ["a", "b", "c", "d", "e"]
        .iter()
        .rfold("true".to_owned(), |inner, name| format!("{literal}.all({name}, {inner})"));
    assert!(Expression::parse(&loops).unwrap().holds(&facts()).is_err());
}

#[test]
fn what_is_put_together_is_counted() {
    let long = Facts::default().input(&"x".repeat(1 << 20));
    let twice = Expression::parse("size(input + input) == 2097152").unwrap();
    assert_eq!(twice.holds(&long), Ok(true));
    let often = Expression::parse("[1, 2, 3].map(x, input + input).size() == 3").unwrap();
    assert!(often.holds(&long).unwrap_err().problem.contains("more than 4194304"), "it is refused");
}

#[test]
fn the_deepest_expression_that_is_allowed_fits_its_stack() {
    let chain = vec!["1"; 60].join("+") + " == 60";
    let nested = format!("{}true{}", "[".repeat(50), "]".repeat(50)) + " != []";
    let run = move || {
        for text in [chain, nested] {
            let expression = Expression::parse(&text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(expression.holds(&facts()), Ok(true), "{text}");
        }
    };
    // Whatever the stack of who asks.
    std::thread::Builder::new().stack_size(64 << 10).spawn(run).unwrap().join().unwrap();
}
