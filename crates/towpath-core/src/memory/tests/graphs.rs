//! Graphs: release, decisions, the end, cancel, append, recount and prune.

use super::*;
use crate::graph::{
    Condition, GraphEnd, GraphRules, Need, NewAppend, NewEdge, NewGraph, NewNode, ParentCause, PreparedGraph, Why,
};
use crate::lifecycle::{SkipKind, StopReason};
use crate::name::{GraphName, Label, NodeName};
use crate::plan::{cancel_graph, settle_stopped};
use crate::store::{Change, StopCounts};

fn name(text: &str) -> NodeName {
    NodeName::from_stored(text)
}

fn node_id(text: &str) -> JobId {
    let mut bytes = [0; 16];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    JobId::from_bytes(bytes)
}

fn node(text: &str) -> NewNode {
    let rules = JobRules { retry: RetryPolicy::never(), ..JobRules::default() };
    NewNode::new(name(text), NewJob::new(node_id(text), kind("echo")).rules(rules))
}

fn edge(parent: &str, child: &str) -> NewEdge {
    NewEdge::new(name(parent), name(child))
}

fn graph(nodes: &[&str], edges: &[(&str, &str)]) -> NewGraph {
    NewGraph {
        id: graph_id(7),
        name: GraphName::from_stored("g"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: nodes.iter().map(|text| node(text)).collect(),
        edges: edges.iter().map(|(parent, child)| edge(parent, child)).collect(),
    }
}

fn item(graph: NewGraph) -> Item {
    let prepared: PreparedGraph = graph.prepare().unwrap();
    Item::Graph(Box::new(prepared))
}

fn append(nodes: &[&str], edges: &[(&str, &str)]) -> Item {
    let graph = graph(nodes, edges);
    Item::Append(Box::new(NewAppend { graph: graph.id, nodes: graph.nodes, edges: graph.edges }.prepare().unwrap()))
}

fn change(change: Change) -> Order {
    Order { actor: "ann".into(), reason: "test".into(), changes: vec![change] }
}

impl Bench {
    fn with(graph: NewGraph) -> Self {
        let bench = Self::new();
        assert_eq!(bench.enqueue(item(graph)), Ok(Placed::Inserted));
        bench
    }

    /// Claims and settles by `report` until nothing comes any more; answers the names of what ran.
    fn run(&mut self, mut report: impl FnMut(&str) -> Report) -> Vec<String> {
        let mut ran = Vec::new();
        let mut settle = Vec::new();
        loop {
            let reply = self.turn(std::mem::take(&mut settle), 100);
            if reply.assigned.is_empty() {
                return ran;
            }
            settle.extend(reply.assigned.into_iter().map(|assigned| match assigned {
                Assigned::Decision(undecided) => settle_decision(&undecided),
                Assigned::Job(claimed) => {
                    let node = claimed.head.node.as_ref().unwrap().name.to_string();
                    ran.push(node.clone());
                    settle_report(&claimed.head, report(&node))
                }
            }));
        }
    }

    fn graph_end(&self) -> Option<GraphEnd> {
        now_or_never(self.store.inspect().graph(graph_id(7))).unwrap().unwrap().line.end
    }

    fn how(&self, node: &str) -> (State, Option<Cause>) {
        let ended = now_or_never(self.store.ended(vec![node_id(node)])).unwrap().remove(0);
        ended.map_or((self.state(node_id(node)), None), |ended| (ended.state, ended.cause))
    }
}

fn fine() -> Report {
    Report::Succeeded { output: None, branches: vec![] }
}

fn broken() -> Report {
    Report::Failed { error: "no".into(), retry: Retry::Never, log: None }
}

#[test]
fn a_chain_runs_in_order_and_ends() {
    let mut bench = Bench::with(graph(&["a", "b", "c"], &[("a", "b"), ("b", "c")]));
    let mut hints = bench.store.hints();
    assert_eq!(bench.state(node_id("b")), State::Waiting);
    assert_eq!(bench.run(|_| fine()), ["a", "b", "c"]);
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded));
    let heard: Vec<Hint> = std::iter::from_fn(|| hints.try_next()).collect();
    assert_eq!(heard.last(), Some(&Hint::GraphEnded(graph_id(7))));
    let upstream = now_or_never(bench.store.upstream(node_id("c"))).unwrap();
    assert_eq!(upstream.iter().map(|u| u.node.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_fan_in_starts_with_its_last_parent() {
    let mut bench = Bench::with(graph(&["a", "b", "join"], &[("a", "join"), ("b", "join")]));
    let held = bench.claim(9);
    let reply = bench.turn(vec![succeeded(&held[0])], 9);
    assert!(reply.assigned.is_empty());
    let reply = bench.turn(vec![succeeded(&held[1])], 9);
    assert_eq!(job_of(reply.assigned.into_iter().next().unwrap()).head.id, node_id("join"));
}

#[test]
fn below_a_failed_node_everything_is_skipped_and_says_why() {
    let mut bench = Bench::with(graph(&["a", "b", "c", "d"], &[("a", "b"), ("b", "c"), ("d", "c")]));
    let ran = bench.run(|node| if node == "a" { broken() } else { fine() });
    assert_eq!(ran, ["a", "d"]);
    let skipped = State::Ended(End::Skipped(SkipKind::Upstream));
    assert_eq!(bench.how("b"), (skipped, Some(Cause::Parent { node: name("a"), end: End::Dead })));
    let upstream = End::Skipped(SkipKind::Upstream);
    assert_eq!(bench.how("c"), (skipped, Some(Cause::Parent { node: name("b"), end: upstream })));
    assert_eq!(bench.graph_end(), Some(GraphEnd::Failed));
}

#[test]
fn an_undecided_child_is_leased_in_the_turn_that_made_it_so() {
    let mut bench = Bench::with(graph(&["a", "b"], &[("a", "b")]));
    let held = bench.claim(1);
    let mut reply = bench.turn(vec![failed(&held[0], Retry::Never)], 0);
    let undecided = decision_of(reply.assigned.remove(0));
    let cause = Some(ParentCause { node: name("a"), end: End::Dead });
    assert_eq!(undecided.why, Why::Parents { ok: 0, untaken: 0, spoiled: 1, need: 1, cause });
    assert_eq!(bench.state(node_id("b")), State::Waiting);
    // A worker that lists nothing gives the decision back; the next claim has it.
    assert_eq!(bench.beat(bench.worker, 2, &[]).handed_back, 1);
    assert_eq!(bench.census().undecided, 1);
    let reply = bench.turn(vec![], 1);
    assert_eq!(decision_of(reply.assigned.into_iter().next().unwrap()).id, node_id("b"));
}

#[test]
fn a_worker_whose_lease_is_over_is_given_no_decision() {
    let mut bench = Bench::with(graph(&["a", "b"], &[("a", "b")]));
    let held = bench.claim(1);
    bench.wait(10);
    let reply = bench.turn(vec![failed(&held[0], Retry::Never)], 0);
    assert_eq!((reply.settled, reply.assigned.len(), bench.census().undecided), (vec![Settled::Done], 0, 1));
}

#[test]
fn what_exceeds_a_turn_waits_for_the_next_claims() {
    let children: Vec<String> = (0..600).map(|at| format!("c{at}")).collect();
    let mut nodes = vec!["a"];
    nodes.extend(children.iter().map(String::as_str));
    let edges: Vec<(&str, &str)> = children.iter().map(|child| ("a", child.as_str())).collect();
    let mut bench = Bench::with(graph(&nodes, &edges));
    let held = bench.claim(1);
    let mut hints = bench.store.hints();
    let reply = bench.turn(vec![failed(&held[0], Retry::Never)], 0);
    assert_eq!((reply.assigned.len(), bench.census().undecided), (512, 88));
    let heard: Vec<Hint> = std::iter::from_fn(|| hints.try_next()).collect();
    assert_eq!(heard, [Hint::Ended(node_id("a")), Hint::Anything]);
    assert_eq!(bench.turn(vec![], 1).assigned.len(), 88);
}

#[test]
fn a_gate_takes_one_branch_and_the_graph_reads_succeeded() {
    let mut g = graph(&["gate", "yes", "no", "join"], &[]);
    let branch = |to: &str| NewEdge { condition: Condition::Branch(Label::from_stored(to)), ..edge("gate", to) };
    let joined = |from: &str| NewEdge { condition: Condition::Joined, ..edge(from, "join") };
    g.nodes[0].job.rules.labels = ["yes", "no"].map(Label::from_stored).to_vec();
    g.edges = vec![branch("yes"), branch("no"), joined("yes"), joined("no"), edge("gate", "join")];
    let mut bench = Bench::with(g);
    let ran = bench.run(|node| match node {
        "gate" => Report::Succeeded { output: None, branches: vec![Label::from_stored("yes")] },
        _ => fine(),
    });
    assert_eq!(ran, ["gate", "yes", "join"]);
    assert_eq!(bench.how("no").0, State::Ended(End::Skipped(SkipKind::Untaken)));
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded));
    assert_eq!(bench.order(change(Change::Recount { graph: graph_id(7) })), [Changed::Recounted { repaired: 0 }]);
}

#[test]
fn at_least_starts_early_and_the_end_still_waits_for_all() {
    let mut g = graph(&["a", "b", "any"], &[("a", "any"), ("b", "any")]);
    g.nodes[2].need = Need::AtLeast(1);
    let mut bench = Bench::with(g);
    let held = bench.claim(9);
    let any = job_of(bench.turn(vec![succeeded(&held[0])], 9).assigned.remove(0));
    assert_eq!(any.head.id, node_id("any"));
    assert!(bench.turn(vec![succeeded(&any)], 9).assigned.is_empty());
    let end = decision_of(bench.turn(vec![failed(&held[1], Retry::Never)], 9).assigned.remove(0));
    bench.settle(settle_decision(&end));
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded), "the spare parent was not missed");
}

#[test]
fn a_cancelled_graph_runs_nothing_more() {
    let mut bench = Bench::with(graph(&["a", "b", "c", "x"], &[("a", "b"), ("b", "c")]));
    let held = bench.claim(1);
    let stop = bench.order(cancel_graph(graph_id(7), "ann", "typo"));
    assert_eq!(stop, [Changed::Stopped(StopCounts { ended: 0, running: 1, unstarted: 3 })]);
    let open = now_or_never(bench.store.settleable(graph_id(7), 10)).unwrap();
    assert_eq!(open, [node_id("x")]);
    let step = settle_stopped(graph_id(7), StopReason::Cancel, &open, Duration::ZERO, ("ann", "typo"));
    assert_eq!(bench.order(step), [Changed::Settled { nodes: 1 }]);
    let stopped = Cause::GraphStopped { stop: StopReason::Cancel };
    let news = bench.beat(bench.worker, 1, &[held[0].head.fence]);
    assert_eq!(news.cancel, [(held[0].head.fence, stopped.clone())]);
    // Its success stands, but what it would release comes for a decision.
    let reply = bench.turn(vec![succeeded(&held[0])], 9);
    let undecided = decision_of(reply.assigned.into_iter().next().unwrap());
    assert_eq!(undecided.why, Why::Stopped { reason: StopReason::Cancel });
    bench.settle(settle_decision(&undecided));
    let more = append(&["late"], &[("a", "late")]);
    assert!(matches!(bench.enqueue(more), Err(Refusal::Stopped { reason: StopReason::Cancel, .. })));
    bench.beat(bench.worker, bench.number, &[]);
    bench.run(|_| panic!("nothing runs"));
    assert_eq!(bench.how("b"), (State::Ended(End::Cancelled), Some(stopped)));
    assert_eq!(bench.graph_end(), Some(GraphEnd::Cancelled));
}

#[test]
fn a_lifted_stop_takes_its_decisions_back() {
    let mut bench = Bench::with(graph(&["a", "b"], &[("a", "b")]));
    let held = bench.claim(1);
    bench.order(change(Change::Stop { graph: graph_id(7), reason: StopReason::Cancel }));
    let reply = bench.turn(vec![succeeded(&held[0])], 9);
    let undecided = decision_of(reply.assigned.into_iter().next().unwrap());
    assert_eq!(undecided.why, Why::Stopped { reason: StopReason::Cancel });
    bench.order(change(Change::Unstop { graph: graph_id(7), reason: StopReason::Cancel }));
    assert_eq!(bench.settle(settle_decision(&undecided)), Settled::Stale, "the stop is gone, and so is its decision");
    assert_eq!(bench.run(|_| fine()), ["b"]);
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded));
}

#[test]
fn an_append_waits_for_live_parents_and_counts_ended_ones() {
    let mut bench = Bench::with(graph(&["a", "b"], &[]));
    let held = bench.claim(9);
    bench.turn(vec![succeeded(&held[0])], 0);
    let more = append(&["after-a", "after-b"], &[("a", "after-a"), ("b", "after-b")]);
    assert_eq!(bench.enqueue(more.clone()), Ok(Placed::Inserted));
    assert_eq!(bench.enqueue(more), Ok(Placed::Existing), "a repeat changes nothing");
    assert_eq!((bench.state(node_id("after-a")), bench.state(node_id("after-b"))), (State::Ready, State::Waiting));
    bench.turn(vec![succeeded(&held[1])], 0);
    assert_eq!(bench.run(|_| fine()), ["after-a", "after-b"]);
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded));
}

#[test]
fn an_append_opens_a_drained_graph_again() {
    let mut bench = Bench::with(graph(&["a"], &[]));
    bench.run(|_| broken());
    assert_eq!(bench.graph_end(), Some(GraphEnd::Failed));
    bench.enqueue(append(&["b", "c"], &[("a", "b")])).unwrap();
    assert_eq!(bench.graph_end(), None);
    assert_eq!(bench.run(|_| fine()), ["c"], "b waits for a parent that had failed already");
    assert_eq!(bench.how("b").1, Some(Cause::Parent { node: name("a"), end: End::Dead }));
    assert_eq!(bench.graph_end(), Some(GraphEnd::Failed));
}

#[test]
fn an_append_takes_the_end_back_from_whoever_decides_it() {
    let mut bench = Bench::with(graph(&["a"], &[]));
    let held = bench.claim(1);
    let end = decision_of(bench.turn(vec![succeeded(&held[0])], 0).assigned.remove(0));
    bench.enqueue(append(&["b"], &[])).unwrap();
    assert_eq!(bench.settle(settle_decision(&end)), Settled::Stale);
    assert_eq!(bench.graph_end(), None);
    assert_eq!(bench.run(|_| fine()), ["b"]);
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded));
}

#[test]
fn an_append_that_cannot_be_is_refused_whole() {
    let bench = Bench::with(graph(&["a"], &[]));
    let refused = bench.enqueue(append(&["b"], &[("lost", "b"), ("end", "b")]));
    assert_eq!(refused, Err(Refusal::UnknownParents { graph: graph_id(7), names: vec![name("lost"), name("end")] }));
    let mut taken = graph(&["a", "b"], &[]);
    taken.nodes[0].job.id = node_id("other");
    let taken = NewAppend { graph: taken.id, nodes: taken.nodes, edges: vec![] }.prepare().unwrap();
    let refused = bench.enqueue(Item::Append(Box::new(taken)));
    assert_eq!(refused, Err(Refusal::NamesTaken { graph: graph_id(7), names: vec![name("a")] }));
    let unknown = NewAppend { graph: graph_id(8), nodes: vec![node("b")], edges: vec![] }.prepare().unwrap();
    let refused = bench.enqueue(Item::Append(Box::new(unknown)));
    assert_eq!(refused, Err(Refusal::UnknownGraph { id: graph_id(8) }));
    assert_eq!(bench.census().nodes, 2);
}

#[test]
fn the_same_graph_again_is_existing_and_another_is_a_conflict() {
    let bench = Bench::with(graph(&["a", "b"], &[("a", "b")]));
    assert_eq!(bench.enqueue(item(graph(&["a", "b"], &[("a", "b")]))), Ok(Placed::Existing));
    let other = graph(&["a", "c"], &[]);
    assert!(matches!(bench.enqueue(item(other)), Err(Refusal::GraphConflict { .. })));
    let taken = NewGraph { id: graph_id(8), ..graph(&["a"], &[]) };
    assert!(matches!(bench.enqueue(item(taken)), Err(Refusal::JobConflict { .. })));
    assert_eq!(bench.census().graphs, 1);
}

#[test]
fn a_recount_repairs_a_wrong_counter_and_what_hung_on_it() {
    let mut bench = Bench::with(graph(&["a", "b"], &[("a", "b")]));
    let recount = || change(Change::Recount { graph: graph_id(7) });
    let corrupt = |bench: &Bench| {
        let mut tables = bench.store.tables.lock().unwrap();
        let key = tables.job_by_id[&node_id("b")];
        tables.node.get_mut(&key).unwrap().counters.left += 1;
    };
    corrupt(&bench);
    assert_eq!(bench.order(recount()), [Changed::Recounted { repaired: 1 }]);
    assert_eq!(bench.order(recount()), [Changed::Recounted { repaired: 0 }]);
    corrupt(&bench);
    assert_eq!(bench.run(|_| fine()), ["a"], "b hangs");
    assert_eq!(bench.order(recount()), [Changed::Recounted { repaired: 1 }]);
    assert_eq!(bench.run(|_| fine()), ["b"]);
    assert_eq!(bench.graph_end(), Some(GraphEnd::Succeeded));
}

#[test]
fn a_nodes_delay_counts_from_its_release() {
    let mut g = graph(&["a", "b"], &[("a", "b")]);
    g.nodes[1].job.due = Due::After(Duration::from_secs(5));
    let mut bench = Bench::with(g);
    bench.wait(6);
    assert_eq!(bench.run(|_| fine()), ["a"]);
    bench.wait(4);
    bench.beat(bench.worker, bench.number, &[]);
    assert!(bench.run(|_| fine()).is_empty());
    bench.wait(1);
    assert_eq!(bench.run(|_| fine()), ["b"]);
}

#[test]
fn a_graph_is_pruned_whole_and_is_not_seen_meanwhile() {
    let mut bench = Bench::with(graph(&["a", "b", "c"], &[("a", "b"), ("b", "c")]));
    bench.run(|_| fine());
    bench.clock.advance(crate::defaults::KEEP_GRAPH);
    assert_eq!(now_or_never(bench.store.prune(2)).unwrap().nodes, 2);
    assert_eq!(now_or_never(bench.store.inspect().graph(graph_id(7))).unwrap(), None);
    assert_eq!(now_or_never(bench.store.inspect().job(node_id("c"))).unwrap(), None);
    let more = append(&["d"], &[]);
    assert_eq!(bench.enqueue(more), Err(Refusal::UnknownGraph { id: graph_id(7) }));
    let rest = now_or_never(bench.store.prune(2)).unwrap();
    assert_eq!((rest.nodes, rest.graphs), (2, 1));
    assert!(now_or_never(bench.store.prune(2)).unwrap().is_empty());
    let empty = crate::store::Census { workers: 1, leases: 1, ..Default::default() };
    assert_eq!(bench.census(), empty);
}
