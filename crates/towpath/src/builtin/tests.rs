//! A crash at every commit of a map, and of a graph in a graph, changes neither result nor journal.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use towpath_core::builtin::{Come, Each, EachJob, Map, Nested, OnFailure, Progress, Scope};
use towpath_core::replay::Entry;
use towpath_core::{GraphEnd, Kind, Queue};

use super::map::{Block, ELEMENTS};
use super::nested::{END, End, INPUT};
use super::{MAP, NESTED};
use crate::durable::RunError;
use crate::failure::Failure;
use crate::job::Job;
use crate::testing::RunHarness;

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Double(u32);

impl Job for Double {
    const KIND: &'static str = "double";
    type Output = u32;
}

fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap()
}

/// A map over the numbers below `of`, of which `bad` fails.
fn harness(of: u32, map: Map, bad: Option<u32>) -> RunHarness<Map, Box<RawValue>, Failure> {
    let harness = RunHarness::new(MAP, map).stub(ELEMENTS, move |asked| {
        // A few at a time, so that there are several reads.
        let numbers = (asked.from..of).take(7);
        let elements = numbers.map(|number| raw(number.to_string())).collect();
        Ok(Block { of, elements, queue: Queue::default(), left: VecDeque::new(), tries: Vec::new() })
    });
    harness.child_job(
        move |job: Double| {
            if Some(job.0) == bad { Err(Failure::permanent("it is bad")) } else { Ok(2 * job.0) }
        },
    )
}

fn map(concurrency: u32) -> Map {
    let each = Each::Job(Box::new(EachJob::new(Kind::from_stored("double"))));
    Map { concurrency, ..Map::new("outputs.list", each) }
}

#[tokio::test]
async fn a_map_bears_a_crash_at_every_commit() {
    let mut runs = 0;
    for seed in 0..6 {
        let (of, concurrency) = ([0, 1, 9, 20, 33, 12][seed as usize], 1 + seed as u32);
        let all = harness(of, map(concurrency), None).seed(seed);
        runs += all.prove().await;
        let ended = all.run().await;
        let left = (0..of).map(|number| (2 * number).to_string()).collect::<Vec<_>>().join(",");
        assert_eq!(ended.result.as_ref().unwrap().get(), format!("[{left}]"));
        assert_eq!(ended.published::<Progress>(), Some(Progress { of, done: of, failed: 0, tries: vec![1] }));
        assert_eq!(ended.began.get("double").copied().unwrap_or_default(), of, "each is begun once");
        let fails = harness(20, map(concurrency), Some(11)).seed(seed);
        runs += fails.prove().await;
        let Err(RunError::Failed(failure)) = fails.run().await.result else { panic!("it does not fail") };
        assert!(failure.to_string().contains("element 11 failed"), "{failure}");
        let collects = Map { on_failure: OnFailure::Collect, ..map(concurrency) };
        let collected = harness(13, collects, Some(11)).seed(seed);
        runs += collected.prove().await;
        assert!(collected.run().await.result.unwrap().get().contains(r#"{"error":"it is bad"},{"ok":24}"#));
        runs += harness(30, map(3), None).seed(seed).cancel_after(Duration::from_millis(seed)).prove().await;
    }
    println!("{runs} runs");
    assert!(runs > 300, "{runs} runs prove too little");
}

#[tokio::test]
async fn a_chapter_of_a_map_goes_on_with_the_elements_of_the_one_before() {
    // It is long enough for several chapters.
    let run = harness(700, map(20), None).seed(3).run().await;
    assert!(run.earlier.len() >= 2, "{} chapters have ended", run.earlier.len());
    let left: Vec<u32> = serde_json::from_str(run.result.unwrap().get()).unwrap();
    assert_eq!(left, (0..700).map(|number| 2 * number).collect::<Vec<_>>());
    assert_eq!(run.began["double"], 700, "none is begun twice, and none is cancelled");
    // The same with a crash at each commit around the change of the chapter.
    let commits = run.commits;
    for point in (0..2 * commits).step_by(37) {
        let crashed = harness(700, map(20), None).seed(3).crash_at(point).run().await;
        let again: Vec<u32> = serde_json::from_str(crashed.result.unwrap().get()).unwrap();
        assert_eq!((again, crashed.began["double"]), (left.clone(), 700), "a crash at point {point}");
    }
}

#[tokio::test]
async fn an_element_whose_graph_has_ended_is_finished_in_its_chapter() {
    let graph = raw(r#"{"name": "inner", "nodes": [{"name": "x", "kind": "double"}]}"#.into());
    let map = || Map { concurrency: 30, ..Map::new("outputs.list", Each::Graph(graph.clone())) };
    let harness = |seed| {
        let harness = harness(400, map(), None).child_graph("inner", GraphEnd::Succeeded).seed(seed);
        harness.stub(END, |_| Ok(End::Left(raw("7".into()))))
    };
    for seed in 0..4 {
        let run = harness(seed).run().await;
        assert_eq!(run.earlier.len(), 1, "chapters that have ended");
        assert_eq!(run.result.unwrap().get(), format!("[{}]", ["7"; 400].join(",")));
        assert_eq!((run.began["inner"], run.began["end"]), (400, 400));
    }
}

#[tokio::test]
async fn a_cancel_at_the_change_of_a_chapter_finds_the_elements_at_work() {
    // An element ends each millisecond, and 250 of them make a chapter; what comes within a second may come any time.
    let mut at_the_change = 0;
    for after in 1_200..1_400 {
        let run = harness(400, map(20), None).seed(after).cancel_after(Duration::from_millis(after)).run().await;
        assert!(matches!(run.result, Err(RunError::Cancelled { .. })), "{:?}", run.result);
        // The harness has looked that no child goes on.
        let told = run.history.entries.iter().filter(|line| matches!(line, Entry::Done { .. })).count();
        at_the_change += u32::from(!run.earlier.is_empty() && told < 30);
    }
    assert!(at_the_change > 10, "{at_the_change} cancels came so early in the second chapter");
}

#[tokio::test]
async fn what_a_chapter_begins_with_may_be_anywhere_in_the_list() {
    let come = Come {
        began: 1,
        of: 12,
        next: 9,
        open: [2, 5].map(|number: u32| (number, raw(number.to_string()))).to_vec(),
        queue: Queue::default(),
        tries: Vec::new(),
        done: 7,
        failed: 0,
        left: (0..9)
            .map(|number| raw(if [2, 5].contains(&number) { "null".into() } else { number.to_string() }))
            .collect(),
    };
    let later = Map { come: Some(Box::new(come)), ..map(2) };
    let run = harness(12, later, None);
    run.prove().await;
    let run = run.run().await;
    assert_eq!(run.result.unwrap().get(), "[0,1,4,3,4,10,6,7,8,18,20,22]");
    assert_eq!(run.began["double"], 5, "what has ended is not begun again");
}

fn nested(end: GraphEnd) -> RunHarness<Nested, Box<RawValue>, Failure> {
    let graph = raw(r#"{"name": "inner", "nodes": [{"name": "x", "kind": "double"}]}"#.into());
    let nested =
        Nested { graph, input_from: Some("outputs.list".into()), given: Default::default(), scope: Scope::default() };
    let harness = RunHarness::new(NESTED, nested).child_graph("inner", end);
    harness.stub(INPUT, |_| Ok(raw("[1]".into()))).stub(END, move |_| {
        Ok(match end {
            GraphEnd::Succeeded => End::Left(raw(r#"{"x":2}"#.into())),
            GraphEnd::Failed => End::Failed("node x is dead".into()),
            GraphEnd::Cancelled => End::Cancelled("ann: not today".into()),
        })
    })
}

#[tokio::test]
async fn a_graph_in_a_graph_bears_a_crash_at_every_commit() {
    for end in [GraphEnd::Succeeded, GraphEnd::Failed, GraphEnd::Cancelled] {
        let harness = nested(end);
        harness.prove().await;
        let run = harness.run().await;
        assert_eq!(run.began["inner"], 1);
        match (end, run.result) {
            (GraphEnd::Succeeded, Ok(left)) => assert_eq!(left.get(), r#"{"x":2}"#),
            (GraphEnd::Failed, Err(RunError::Failed(failure))) => assert_eq!(failure.to_string(), "node x is dead"),
            (GraphEnd::Cancelled, Err(RunError::Cancelled { cause })) => {
                assert!(cause.unwrap().to_string().contains("ann: not today"));
            }
            (end, other) => panic!("{end:?}: {other:?}"),
        }
        harness.cancel_after(Duration::from_millis(1)).prove().await;
    }
}
