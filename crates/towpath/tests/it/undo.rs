//! Undos of graphs by the public API: order, what they see, cancels, nodes that ignore them, and undos that die.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use towpath::core::store::Changed;
use towpath::core::{Compensation, Picture, State, StopReason, Timestamp, cancel_graph};
use towpath::{
    Cause, Client, Context, End, Failure, Graph, GraphEnd, GraphId, Job, RetryPolicy, Signal, Worker, WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_failed_graph_is_undone_in_reverse_and_each_undo_sees_what_it_undoes,
    a_cancelled_graph_is_undone_and_one_that_succeeded_is_not,
    undos_wait_for_a_node_that_ignores_its_cancel_until_it_is_abandoned,
    an_undo_that_dies_stops_no_other_and_the_graph_says_so,
    a_graph_that_fails_fast_waits_for_nothing_that_is_put_off,
    a_cancelled_graph_comes_to_its_end_though_nobody_has_settled_it,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "work", output = String, attempts = 1)]
struct Work(String);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "reverse", attempts = 1)]
struct Reverse(String);

/// What the handlers did, and what the test lets them do.
struct Scene {
    seen: Mutex<Vec<String>>,
    /// A permit for each node that begins to wait.
    waits: Semaphore,
    /// Lets one of them go on.
    go: Semaphore,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), waits: Semaphore::new(0), go: Semaphore::new(0) })
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn see(&self, line: String) {
        self.seen.lock().unwrap().push(line);
    }

    async fn take(semaphore: &Semaphore) {
        semaphore.acquire().await.unwrap().forget();
    }

    fn worker(self: &Arc<Self>, client: &Client) -> WorkerHandle {
        let (work, reverse) = (self.clone(), self.clone());
        Worker::builder(client)
            .handle(move |job: Work, cx: Context| {
                let scene = work.clone();
                async move {
                    assert!(cx.guarded().await?.is_none(), "only an undo guards a node");
                    let name = cx.node().unwrap().name.to_string();
                    match job.0.as_str() {
                        "fail" => return Err(Failure::new("no stock")),
                        "deaf" => {
                            scene.waits.add_permits(1);
                            Self::take(&scene.go).await;
                        }
                        "break" => {
                            scene.waits.add_permits(1);
                            Self::take(&scene.go).await;
                            return Err(Failure::new("it broke"));
                        }
                        "finish" => {
                            scene.waits.add_permits(1);
                            cx.cancelled().await;
                        }
                        "obey" => {
                            scene.waits.add_permits(1);
                            cx.cancelled().await;
                            return Err(Failure::stopped());
                        }
                        _ => {}
                    }
                    Ok(format!("did {name}"))
                }
            })
            .handle(move |job: Reverse, cx: Context| {
                let scene = reverse.clone();
                async move {
                    let guarded = cx.guarded().await?.expect("this is an undo");
                    let left = guarded.output::<String>()?.or(guarded.error.clone()).unwrap_or_default();
                    scene.see(format!("{} {} {left}", guarded.node, guarded.state));
                    if job.0 == "fail" { Err(Failure::new("gone")) } else { Ok(()) }
                }
            })
            .start()
            .unwrap()
    }
}

fn work(text: &str) -> Work {
    Work(text.into())
}

fn reverse(text: &str) -> Reverse {
    Reverse(text.into())
}

async fn compensation(client: &Client, graph: GraphId) -> Option<Compensation> {
    client.inspect().graph(graph).await.unwrap().unwrap().line.compensation
}

async fn a_failed_graph_is_undone_in_reverse_and_each_undo_sees_what_it_undoes(subject: Subject) {
    let client = &subject.client;
    let scene = Scene::new();
    let worker = scene.worker(client);
    let graph = Graph::builder("order");
    let reserve = graph.node("reserve", &work(""));
    reserve.undo("release", &reverse(""));
    let charge = reserve.then("charge", &work(""));
    charge.undo("refund", &reverse("")).queue("default").attempts(3);
    let ship = charge.then("ship", &work("fail"));
    ship.undo("unship", &reverse(""));
    ship.then("thank", &work("")).undo("apologise", &reverse(""));
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    assert_eq!(scene.seen(), ["ship dead no stock", "charge succeeded did charge", "reserve succeeded did reserve"]);

    let detail = client.inspect().graph(graph.id()).await.unwrap().unwrap();
    assert_eq!(detail.line.compensation, Some(Compensation::Complete));
    let undone: Vec<&str> = detail.undone().into_iter().map(|node| node.as_str()).collect();
    assert_eq!(undone, ["charge", "reserve", "ship"]);
    let apologise = detail.nodes.iter().find(|node| node.name.as_str() == "apologise").unwrap();
    let never = Cause::NeverStarted { node: towpath::NodeName::new("thank").unwrap() };
    assert_eq!(apologise.cause, Some(never), "what was never started is not undone");
    let picture = Picture::of_stored(&detail, Timestamp::ZERO);
    assert!(picture.text().contains("charge [work]  succeeded  undone"), "{}", picture.text());
    assert!(picture.text().contains("undoes charge"), "{}", picture.text());
    assert!(picture.mermaid().contains("-.->|\"undone by\"|"), "{}", picture.mermaid());
    worker.shutdown().await;
}

async fn a_cancelled_graph_is_undone_and_one_that_succeeded_is_not(subject: Subject) {
    let client = &subject.client;
    let scene = Scene::new();
    let worker = scene.worker(client);
    let graph = Graph::builder("happy");
    graph.node("a", &work("")).undo("undo-a", &reverse(""));
    let happy = graph.enqueue(client).await.unwrap();
    assert_eq!(happy.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(compensation(client, happy.id()).await, None);

    let graph = Graph::builder("cancelled");
    let a = graph.node("a", &work(""));
    a.undo("undo-a", &reverse(""));
    let b = a.then("b", &work("obey"));
    b.undo("undo-b", &reverse(""));
    b.finished().then("cleanup", &work("")).undo("undo-cleanup", &reverse(""));
    let graph = graph.enqueue(client).await.unwrap();
    Scene::take(&scene.waits).await;
    client.cancel_graph(graph.id(), "ann", "wrong order").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Cancelled);
    assert_eq!(scene.seen(), ["b cancelled ", "a succeeded did a"]);
    assert_eq!(compensation(client, graph.id()).await, Some(Compensation::Complete));
    worker.shutdown().await;
}

async fn undos_wait_for_a_node_that_ignores_its_cancel_until_it_is_abandoned(subject: Subject) {
    let client = &subject.client;
    let scene = Scene::new();
    let worker = scene.worker(client);
    let graph = Graph::builder("deaf");
    let a = graph.node("a", &work(""));
    a.undo("undo-a", &reverse(""));
    let deaf = a.then("deaf", &work("deaf")).job();
    let graph = graph.enqueue(client).await.unwrap();
    Scene::take(&scene.waits).await;
    client.cancel_graph(graph.id(), "ann", "").await.unwrap();
    let ended = client.store().ended(vec![deaf.id()]).await.unwrap();
    assert_eq!(ended, [None], "it runs, and nothing ends it");
    assert_eq!(compensation(client, graph.id()).await, None, "its undos wait");
    assert_eq!(client.abandon(deaf.id(), "bob", "it hangs").await.unwrap(), Changed::Ended);
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Cancelled);
    assert_eq!(scene.seen(), ["a succeeded did a"]);
    let ended = client.wait(deaf.id()).await.unwrap();
    assert_eq!(ended.state, State::Ended(End::Cancelled));
    assert_eq!(ended.cause.unwrap().to_string(), "bob abandoned it: it hangs");
    let audit = client.inspect().audit(Client::first_page(10)).await.unwrap();
    assert!(audit.iter().any(|line| (line.actor.as_str(), line.action.as_str()) == ("bob", "abandon")), "{audit:?}");
    scene.go.add_permits(1);
    worker.shutdown().await;
}

async fn an_undo_that_dies_stops_no_other_and_the_graph_says_so(subject: Subject) {
    let client = &subject.client;
    let scene = Scene::new();
    let worker = scene.worker(client);
    let graph = Graph::builder("stuck").fail_fast();
    let a = graph.node("a", &work(""));
    a.undo("undo-a", &reverse(""));
    let b = a.then("b", &work(""));
    b.undo("undo-b", &reverse("fail"));
    b.then("c", &work("fail"));
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    assert_eq!(scene.seen(), ["b succeeded did b", "a succeeded did a"]);
    assert_eq!(compensation(client, graph.id()).await, Some(Compensation::Incomplete));
    worker.shutdown().await;
}

/// A day, which nobody waits for.
const LONG: Duration = Duration::from_secs(86_400);

async fn a_graph_that_fails_fast_waits_for_nothing_that_is_put_off(subject: Subject) {
    let client = &subject.client;
    let scene = Scene::new();
    let worker = scene.worker(client);
    let graph = Graph::builder("fast").fail_fast();
    let paid = graph.node("paid", &work(""));
    paid.undo("refund", &reverse(""));
    paid.then("later", &work("")).delay(LONG);
    let long = RetryPolicy { attempts_max: 5, base_us: 86_400_000_000, cap_us: u64::MAX, jitter_percent: 0 };
    paid.then("tries", &work("fail")).retry(long);
    graph.timer("timer").delay(LONG);
    graph.wait_for("approval", Signal::<String>::new("approve"));
    graph.node("unserved", &work("")).queue("nobody");
    paid.then("finishes", &work("finish")).then("behind", &work("")).delay(LONG);
    paid.then("breaks", &work("break"));
    let graph = graph.enqueue(client).await.unwrap();
    Scene::take(&scene.waits).await;
    Scene::take(&scene.waits).await;
    // All is put off as it should be before the failure comes.
    let nodes = || async { client.inspect().graph(graph.id()).await.unwrap().unwrap().nodes };
    for name in ["later", "tries", "timer", "approval"] {
        while !nodes().await.iter().any(|n| n.name.as_str() == name && (n.due > Some(Timestamp::ZERO) || n.parked)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    scene.go.add_permits(1);
    match tokio::time::timeout(Duration::from_secs(60), graph.wait(client)).await {
        Ok(end) => assert_eq!(end.unwrap(), GraphEnd::Failed),
        Err(_) => panic!("it waits for what is put off: {:#?}", nodes().await),
    }
    assert_eq!(scene.seen(), ["paid succeeded did paid"]);
    let stopped = Some(Cause::GraphStopped { stop: StopReason::Fail });
    for name in ["later", "tries", "timer", "unserved", "behind"] {
        let nodes = nodes().await;
        let node = nodes.iter().find(|node| node.name.as_str() == name).unwrap();
        assert_eq!((node.state, &node.cause), (State::Ended(End::Cancelled), &stopped), "{name}");
    }
    worker.shutdown().await;
}

async fn a_cancelled_graph_comes_to_its_end_though_nobody_has_settled_it(subject: Subject) {
    let client = &subject.client;
    let graph = Graph::builder("left");
    graph.node("later", &work("")).delay(LONG);
    let graph = graph.enqueue(client).await.unwrap();
    // Who cancels it dies behind the stop.
    client.store().apply(cancel_graph(graph.id(), "ann", "")).await.unwrap();
    let worker = Scene::new().worker(client);
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Cancelled);
    worker.shutdown().await;
}
