//! Children of runs: jobs, graphs and other runs, awaited or left alone, on every store, and under a crash at every commit.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use towpath::core::store::Child;
use towpath::core::{GraphEnd, State};
use towpath::durable::{ChildError, Race2};
use towpath::inspect::GraphFilter;
use towpath::testing::RunHarness;
use towpath::{
    Client, Context, Cx, Durable, End, Failure, Graph, Job, JobHandle, RunError, Signal, Step, StepCx, Worker,
    WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_waits_for_its_children,
    a_child_that_fails_tells_its_parent_what_it_returned,
    a_child_under_an_id_that_is_taken_is_an_error_of_its_parent,
    a_cancel_reaches_the_children_before_anything_is_undone,
    a_child_that_lost_a_race_is_cancelled,
    a_wait_in_a_graph_of_a_run_is_named_by_that_graph,
    a_detached_child_outlives_its_parent,
    a_terminated_run_leaves_no_child_behind,
);

const MINUTE: Duration = Duration::from_secs(60);
const GO: Signal<()> = Signal::new("go");

#[derive(Serialize, Deserialize)]
struct Double(u32);

impl Job for Double {
    const KIND: &'static str = "double";
    type Output = u32;
}

async fn double(job: Double, _: Context) -> Result<u32, Failure> {
    if job.0 > 100 { Err(Failure::permanent("too much")) } else { Ok(2 * job.0) }
}

const ADD: Step<u32, (), Failure> = Step::new("add", &add);
async fn add(_: StepCx, _: u32) -> Result<(), Failure> {
    Ok(())
}

/// Waits for a signal unless it is told not to.
const LEAF: Durable<u32, u32, String> = Durable::new("leaf", 1, MINUTE, &leaf);
async fn leaf(cx: Cx<'_>, n: u32) -> Result<u32, String> {
    match n {
        0 => {
            cx.undo(ADD, 7);
            cx.signal(GO).await;
            Ok(0)
        }
        13 => Err("thirteen".into()),
        n => Ok(n + 1),
    }
}

const ALL: Durable<u32, u32, Failure> = Durable::new("all", 1, MINUTE, &all);
async fn all(cx: Cx<'_>, n: u32) -> Result<u32, Failure> {
    let graph = Graph::builder("pair");
    let first = graph.node("first", &Double(1));
    graph.node("second", &Double(2)).after(first);
    let graph = graph.build()?;
    let (leaves, job, graph) =
        cx.join((cx.join_all((1..=n).map(|n| cx.run_child(LEAF, &n))), cx.job(&Double(20)), cx.graph(&graph))).await;
    graph?;
    let leaves: u32 = leaves.into_iter().sum::<Result<u32, _>>()?;
    Ok(leaves + job?)
}

const ERRORS: Durable<String, Vec<String>, Failure> = Durable::new("errors", 1, MINUTE, &errors);
async fn errors(cx: Cx<'_>, taken: String) -> Result<Vec<String>, Failure> {
    let mut said = Vec::new();
    match cx.run_child(LEAF, &13).await {
        Err(ChildError::Failed(error)) => said.push(error),
        other => said.push(format!("{other:?}")),
    }
    said.extend(cx.job(&Double(101)).await.err().map(|error| error.to_string()));
    let graph = Graph::builder("bad");
    graph.node("bad", &Double(102));
    said.extend(cx.graph(&graph.build()?).await.err().map(|error| error.to_string()));
    if !taken.is_empty() {
        said.push(match cx.run_child(LEAF, &1).id(&taken).await {
            Err(ChildError::Refused(problem)) => problem,
            other => format!("{other:?}"),
        });
    }
    Ok(said)
}

const WAITS: Durable<(), u32, Failure> = Durable::new("waits", 1, MINUTE, &waits);
async fn waits(cx: Cx<'_>, (): ()) -> Result<u32, Failure> {
    cx.undo(ADD, 1);
    let child = cx.run_child(LEAF, &0);
    Ok(child.await?)
}

const RACES: Durable<(), String, Failure> = Durable::new("races", 1, MINUTE, &races);
async fn races(cx: Cx<'_>, (): ()) -> Result<String, Failure> {
    let first = cx.race((cx.run_child(LEAF, &0), cx.step(ADD, &1))).await;
    Ok(match first {
        Race2::A(_) => "the child".into(),
        Race2::B(_) => "the step".into(),
    })
}

const STARTS: Durable<(), Child, Failure> = Durable::new("starts", 1, MINUTE, &starts);
async fn starts(cx: Cx<'_>, (): ()) -> Result<Child, Failure> {
    let graph = Graph::builder("alone");
    graph.node("only", &Double(3));
    cx.graph(&graph.build()?).detach::<Failure>().await?;
    Ok(cx.run_child(LEAF, &0).id("loner").detach::<Failure>().await?)
}

fn worker(client: &Client) -> WorkerHandle {
    let worker = Worker::builder(client).handle(double).durable(LEAF).durable(ALL).durable(ERRORS).durable(WAITS);
    worker.durable(RACES).durable(STARTS).durable(ASKS).start().unwrap()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn state_of(client: &Client, run: &str) -> Option<State> {
    let job = client.run::<u32, String>(run).await.unwrap()?.job();
    Some(client.inspect().job(job).await.unwrap()?.line.state)
}

async fn a_run_waits_for_its_children(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(ALL, "all", &12).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), (1..=12).map(|n| n + 1).sum::<u32>() + 40);
    let child = client.run::<u32, String>("all.1.3").await.unwrap().expect("its id follows from its parent's");
    let detail = client.inspect().job(child.job()).await.unwrap().unwrap();
    assert_eq!(detail.rules.parent.unwrap().run.as_str(), "all");
    worker.shutdown().await;
}

async fn a_child_that_fails_tells_its_parent_what_it_returned(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(ERRORS, "errors", &String::new()).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), ["thirteen", "too much", "the graph failed"]);
    worker.shutdown().await;
}

async fn a_child_under_an_id_that_is_taken_is_an_error_of_its_parent(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.start(LEAF, "taken", &0).await.unwrap();
    let run = client.start(ERRORS, "errors", &"taken".to_owned()).await.unwrap();
    let said = client.result(&run).await.unwrap();
    assert!(said[3].contains("the run taken is there already"), "{said:?}");
    worker.shutdown().await;
}

async fn a_cancel_reaches_the_children_before_anything_is_undone(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(WAITS, "parent", &()).await.unwrap();
    until("the child waits", async || {
        let child = client.run::<u32, String>("parent.1.1").await.unwrap();
        let Some(child) = child else { return false };
        client.inspect().job(child.job()).await.unwrap().unwrap().run.is_some_and(|run| run.entries > 1)
    })
    .await;
    client.cancel_run("parent", "ann", "no need").await.unwrap();
    assert!(matches!(client.result(&run).await, Err(RunError::Cancelled { .. })));
    assert_eq!(state_of(client, "parent.1.1").await, Some(State::Ended(End::Cancelled)));
    let lines = client.history("parent").await.unwrap().unwrap().to_json_lines();
    let (told, undone) = (lines.find("towpath.child").unwrap(), lines.find("\"add\"").unwrap());
    assert!(told < undone, "the child has ended before the undo: {lines}");
    worker.shutdown().await;
}

async fn a_child_that_lost_a_race_is_cancelled(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(RACES, "races", &()).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "the step");
    assert_eq!(state_of(client, "races.1.1").await, Some(State::Ended(End::Cancelled)), "its run waits for that");
    worker.shutdown().await;
}

const ASKS: Durable<(), (), Failure> = Durable::new("asks", 1, MINUTE, &asks);
async fn asks(cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    let graph = Graph::builder("asks");
    graph.wait_for("go", GO);
    cx.graph(&graph.build()?).await?;
    Err(Failure::revoke("it was not meant so"))
}

async fn a_wait_in_a_graph_of_a_run_is_named_by_that_graph(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(ASKS, "asks", &()).await.unwrap();
    let graphs = async || client.inspect().graphs(GraphFilter::default(), Client::first_page(10)).await.unwrap();
    until("the graph is there", async || !graphs().await.is_empty()).await;
    client.signal_node(graphs().await[0].id, "go", GO, &()).await.unwrap();
    let Err(RunError::Cancelled { cause }) = client.result(&run).await else { panic!("it is not cancelled") };
    assert!(cause.unwrap().to_string().contains("it was not meant so"));
    worker.shutdown().await;
}

async fn a_detached_child_outlives_its_parent(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(STARTS, "starts", &()).await.unwrap();
    let Child::Job(job) = client.result(&run).await.unwrap() else { panic!("it is a job") };
    let child = client.run::<u32, String>("loner").await.unwrap().unwrap();
    assert_eq!(child.job(), job);
    client.signal("loner", GO, &()).await.unwrap();
    assert_eq!(client.result(&child).await.unwrap(), 0);
    worker.shutdown().await;
}

async fn a_terminated_run_leaves_no_child_behind(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.start(WAITS, "parent", &()).await.unwrap();
    until("the child is there", async || state_of(client, "parent.1.1").await.is_some()).await;
    until("its parent knows", async || {
        let history = client.history("parent").await.unwrap().unwrap();
        history.to_json_lines().contains("\"child\"")
    })
    .await;
    client.terminate_run("parent", "ann", "no need").await.unwrap();
    assert_eq!(state_of(client, "parent").await, Some(State::Ended(End::Cancelled)));
    let child: JobHandle<Double> =
        JobHandle::from_id(client.run::<u32, String>("parent.1.1").await.unwrap().unwrap().job());
    client.wait(child.id()).await.unwrap();
    assert_eq!(state_of(client, "parent.1.1").await, Some(State::Ended(End::Cancelled)));
    worker.shutdown().await;
}

// ---- proof ----------------------------------------------------------------------------------------

const FAMILY: Durable<u32, Vec<String>, Failure> = Durable::new("family", 1, MINUTE, &family);
async fn family(cx: Cx<'_>, n: u32) -> Result<Vec<String>, Failure> {
    let graph = Graph::builder("pair");
    graph.node("only", &Double(1));
    let graph = graph.build()?;
    cx.undo(ADD, n);
    let one = |n: u32| {
        let cx = &cx;
        async move {
            cx.step(ADD, &(cx.now().as_micros() as u32 % 10)).await?;
            let raced = cx
                .race((cx.run_child(LEAF, &n), cx.job(&Double(n)), cx.sleep(Duration::from_millis(u64::from(n)))))
                .await;
            cx.step(ADD, &(cx.random() as u32 % 10)).await?;
            Ok::<_, Failure>(format!("{raced:?}"))
        }
    };
    let (all, graph, refused) = cx.join((cx.map(0..n, 2, one), cx.graph(&graph), cx.run_child(LEAF, &13))).await;
    cx.job(&Double(1)).detach::<Failure>().await?;
    let mut said = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    said.extend([format!("{graph:?}"), format!("{refused:?}")]);
    if n % 2 == 1 {
        return Err(Failure::permanent(said.join("; ")));
    }
    Ok(said)
}

fn proof(n: u32, seed: u64) -> RunHarness<u32, Vec<String>, Failure> {
    let harness = RunHarness::new(FAMILY, n).seed(seed).child_graph("pair", GraphEnd::Succeeded);
    let leaf = |n: u32| if n == 13 { Err("thirteen".to_owned()) } else { Ok(n) };
    harness.child(LEAF, leaf).child_job(|job: Double| Ok(job.0))
}

#[tokio::test]
async fn children_bear_a_crash_of_their_parent_at_every_commit() {
    let mut runs = 0;
    for seed in 0..12 {
        runs += proof(seed as u32 % 5, seed).prove().await;
        runs += proof(3, seed).cancel_after(Duration::from_millis(seed)).prove().await;
    }
    println!("{runs} runs");
    assert!(runs > 300, "{runs} runs prove too little");
}
