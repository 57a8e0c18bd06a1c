//! Random operations of several workers and people: the tables never contradict each other, and in
//! the end nothing hangs.

use proptest::prelude::*;
use std::collections::BTreeSet;

use super::*;
use crate::graph::{Condition, FailureMode, GraphRules, Need, NewAppend, NewEdge, NewGraph, NewNode};
use crate::lifecycle::StopReason;
use crate::memory::tables::{Key, Phase, Tables, With};
use crate::name::{GraphName, Label, NodeName};
use crate::outcome::settle_rescued;
use crate::store::{Change, Rescue, Rescued};

const WORKERS: u8 = 3;
const STEPS: usize = 250;

/// A stream of numbers from a seed (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    fn id(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes.iter_mut().for_each(|byte| *byte = self.below(256) as u8);
        bytes
    }
}

/// One of the workers: a life, the number of its last turn, and the outcomes that it has not sent.
struct Player {
    life: Incarnation,
    number: u64,
    outcomes: Vec<Settle>,
}

struct Game {
    bench: Bench,
    dice: Dice,
    players: Vec<Player>,
    jobs: Vec<JobId>,
    graphs: Vec<(GraphId, usize)>,
}

impl Game {
    fn new(seed: u64) -> Self {
        let bench = Bench::new();
        let mut dice = Dice(seed | 1);
        let players = (0..WORKERS).map(|_| Player::new(&mut dice)).collect();
        Self { bench, dice, players, jobs: Vec::new(), graphs: Vec::new() }
    }

    fn step(&mut self) {
        match self.dice.below(20) {
            0..=2 => self.enqueue_job(),
            3 => self.enqueue_graph(),
            4 => self.append(),
            5 => self.cancel_job(),
            6 => self.change_graph(),
            7 => self.bench.clock.advance(Duration::from_millis(self.dice.below(4_000))),
            8 => drop(now_or_never(self.bench.store.prune(3)).unwrap()),
            9 => self.die(),
            10 => self.rescue(),
            11..=13 => self.beat(),
            _ => self.turn(),
        }
    }

    fn new_job(&mut self) -> NewJob {
        let id = JobId::from_bytes(self.dice.id());
        self.jobs.push(id);
        let retry = RetryPolicy { base_us: 1_000, ..RetryPolicy::attempts(1 + self.dice.below(3) as u32) };
        let rules =
            JobRules { retry, keep_us: Some(5_000_000), keep_failed_us: Some(5_000_000), ..JobRules::default() };
        let mut job = NewJob::new(id, kind("echo")).priority(self.dice.below(3) as i16).rules(rules);
        if self.dice.below(5) == 0 {
            job.due = Due::After(Duration::from_millis(self.dice.below(3_000)));
        }
        if self.dice.below(8) == 0 {
            job.deadline = Some(Timestamp::from_micros(1_000_000 * self.dice.below(60) as i64));
        }
        job
    }

    fn enqueue_job(&mut self) {
        let job = self.new_job();
        assert_eq!(self.bench.enqueue(Item::job(job)), Ok(Placed::Inserted));
    }

    fn new_nodes(&mut self, first: usize) -> (Vec<NewNode>, Vec<NewEdge>) {
        let name = |at: usize| NodeName::from_stored(&format!("n{at}"));
        let mut nodes = Vec::new();
        let mut edges = Vec::new();
        for at in first..first + 1 + self.dice.below(5) as usize {
            let mut node = NewNode::new(name(at), self.new_job());
            node.job.rules.labels = vec![Label::from_stored("yes")];
            let before = edges.len();
            for parent in (0..at).filter(|_| self.dice.below(3) == 0).collect::<Vec<_>>() {
                let condition = match self.dice.below(6) {
                    0 => Condition::Finished,
                    1 => Condition::Failed,
                    2 => Condition::Joined,
                    3 => Condition::Branch(Label::from_stored("yes")),
                    _ => Condition::Succeeded,
                };
                edges.push(NewEdge { parent: name(parent), child: name(at), condition });
            }
            if edges.len() > before && self.dice.below(3) == 0 {
                node.need = Need::AtLeast(1 + self.dice.below((edges.len() - before) as u64) as u32);
            }
            if self.dice.below(4) == 0 {
                node.failure = FailureMode::MayFail;
            }
            nodes.push(node);
        }
        (nodes, edges)
    }

    fn enqueue_graph(&mut self) {
        let id = GraphId::from_bytes(self.dice.id());
        let (nodes, edges) = self.new_nodes(0);
        self.graphs.push((id, nodes.len()));
        let keep = GraphRules { keep_us: Some(5_000_000), keep_failed_us: Some(5_000_000), ..GraphRules::default() };
        let graph =
            NewGraph { id, name: GraphName::from_stored("g"), rules: keep, input: None, unique: None, nodes, edges };
        assert_eq!(self.bench.enqueue(Item::Graph(Box::new(graph.prepare().unwrap()))), Ok(Placed::Inserted));
    }

    fn some_graph(&mut self) -> Option<usize> {
        let graphs = self.graphs.len() as u64;
        (graphs > 0).then(|| self.dice.below(graphs) as usize)
    }

    fn append(&mut self) {
        let Some(at) = self.some_graph() else { return };
        let (graph, size) = self.graphs[at];
        let (nodes, edges) = self.new_nodes(size);
        let count = nodes.len();
        let append = NewAppend { graph, nodes, edges }.prepare().unwrap();
        match self.bench.enqueue(Item::Append(Box::new(append))) {
            Ok(placed) => {
                assert_eq!(placed, Placed::Inserted);
                self.graphs[at].1 += count;
            }
            Err(Refusal::Stopped { .. } | Refusal::UnknownGraph { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }

    fn cancel_job(&mut self) {
        if !self.jobs.is_empty() {
            let job = self.jobs[self.dice.below(self.jobs.len() as u64) as usize];
            self.bench.order(cancel_job(job, "ann", ""));
        }
    }

    fn change_graph(&mut self) {
        let Some(at) = self.some_graph() else { return };
        let (graph, reason) = (self.graphs[at].0, StopReason::Cancel);
        let change = match self.dice.below(3) {
            0 => Change::Stop { graph, reason },
            1 => Change::Unstop { graph, reason },
            _ => Change::Recount { graph },
        };
        let changed = self.bench.order(Order { actor: "ann".into(), reason: String::new(), changes: vec![change] });
        assert!(!matches!(changed[0], Changed::Recounted { repaired } if repaired > 0), "{changed:?}");
    }

    fn some_player(&mut self) -> usize {
        self.dice.below(self.players.len() as u64) as usize
    }

    fn die(&mut self) {
        if self.dice.below(3) == 0 {
            let at = self.some_player();
            self.players[at] = Player::new(&mut self.dice);
        }
    }

    fn beat(&mut self) {
        let at = self.some_player();
        let player = &mut self.players[at];
        // Now and then it has forgotten something.
        if self.dice.below(6) == 0 {
            player.outcomes.pop();
        }
        let holds: Vec<_> = player.outcomes.iter().map(|settle| settle.fence).collect();
        let reply = self.bench.beat(player.life, player.number, &holds);
        player.outcomes.retain(|settle| !reply.lost.contains(&settle.fence));
    }

    fn rescue(&mut self) {
        let at = self.some_player();
        let player = &mut self.players[at];
        player.number += 1;
        let gone = Vec::new();
        let ask = Rescue { worker: player.life, number: player.number, gone, limit: 1 + self.dice.below(4) as u16 };
        let Ok(reply) = now_or_never(self.bench.store.rescue(ask)) else { return };
        player.outcomes.extend(reply.rescued.into_iter().map(|rescued| match rescued {
            Rescued::Job(head) => settle_rescued(&head, reply.now),
            Rescued::Decision(undecided) => settle_decision(&undecided),
        }));
    }

    fn turn(&mut self) {
        let at = self.some_player();
        let player = &mut self.players[at];
        player.number += 1;
        let some = self.dice.below(player.outcomes.len() as u64 + 1) as usize;
        let settle = player.outcomes.split_off(some);
        let limit = self.dice.below(4) as u16;
        let Ok(reply) = self.bench.turn_as(player.life, player.number, settle.clone(), limit) else { return };
        if self.dice.below(4) == 0 {
            let again = self.bench.turn_as(player.life, player.number, settle, limit).unwrap();
            assert_eq!((&reply.settled, fences(&reply)), (&again.settled, fences(&again)));
        }
        for assigned in reply.assigned {
            let settle = match assigned {
                Assigned::Decision(undecided) => settle_decision(&undecided),
                Assigned::Job(claimed) => settle_report(&claimed.head, report(&mut self.dice)),
            };
            player.outcomes.push(settle);
        }
    }

    /// Lets one last worker finish everything.
    fn drain(&mut self) {
        self.players.truncate(1);
        for _ in 0..10_000 {
            self.bench.clock.advance(Duration::from_secs(3));
            self.beat();
            self.rescue();
            self.turn();
            let census = self.bench.census();
            if census.ready + census.later + census.running + census.blocked + census.undecided == 0 {
                return;
            }
        }
        panic!("work is left: {:?}", self.bench.census());
    }
}

impl Player {
    fn new(dice: &mut Dice) -> Self {
        Self { life: Incarnation::from_bytes(dice.id()), number: 0, outcomes: Vec::new() }
    }
}

fn fences(reply: &TurnReply) -> Vec<crate::Fence> {
    reply.assigned.iter().map(Assigned::fence).collect()
}

fn report(dice: &mut Dice) -> Report {
    match dice.below(9) {
        0 | 1 => Report::Failed { error: "no".into(), retry: Retry::ByPolicy, log: None },
        2 => Report::Failed { error: "no".into(), retry: Retry::Never, log: None },
        3 => Report::Snoozed { wait: Duration::from_millis(50) },
        4 => Report::HandedBack,
        5 => Report::Skipped { reason: "not today".into() },
        _ => Report::Succeeded { output: Some(Payload::default()), branches: vec![Label::from_stored("yes")] },
    }
}

/// Everything that must hold between two verbs.
fn check(tables: &Tables) {
    for (job, row) in &tables.job {
        let node = tables.node.get(job);
        let places = [
            tables.ready_by_job.contains_key(job),
            tables.later_by_job.contains_key(job),
            tables.running.contains_key(job),
            tables.blocked.contains_key(job),
            tables.undecided.contains(job),
            tables.ended.contains_key(job),
            node.is_some_and(|node| node.phase == Phase::Waiting),
        ];
        assert_eq!(places.iter().filter(|place| **place).count(), 1, "{} stands at {places:?}", row.new.id);
        if let Some(with) = tables.running.get(job).map(|row| row.with) {
            let undecided = tables.is_undecided(*job);
            assert!(!undecided || with != With::Handler, "{} runs undecided", row.new.id);
        }
        let deadline = row.new.deadline.is_some_and(|at| tables.deadline.contains(&(at, *job)));
        assert!(!deadline || !tables.ended.contains_key(job), "{} has ended and a deadline", row.new.id);
    }
    assert_eq!(tables.ready.values().map(|row| row.job).collect::<BTreeSet<_>>(), keys(&tables.ready_by_job));
    assert_eq!(tables.later.keys().map(|(_, job)| *job).collect::<BTreeSet<_>>(), keys(&tables.later_by_job));
    assert_eq!(tables.running_by_turn.values().copied().collect::<BTreeSet<_>>(), keys(&tables.running));
    assert!(tables.running.values().all(|row| tables.worker.contains_key(&row.worker)), "a row without its worker");
    assert_eq!(keys(&tables.worker), keys(&tables.lease));
    assert!(tables.output.keys().all(|job| tables.ended.contains_key(job)), "an output of what has not ended");
    let of_jobs = tables.attempt.keys().map(|(job, _)| *job).chain(tables.node.keys().copied());
    assert!(of_jobs.into_iter().all(|job| tables.job.contains_key(&job)), "a row without its job");
    let past = tables.prune_at.iter().chain(&tables.graph_prune_at).count();
    let due = tables.ended.values().filter(|row| row.prune_at.is_some()).count();
    let over = tables.graph.iter().filter(|(key, row)| row.over.is_some() && !is_marked(tables, **key)).count();
    assert_eq!(past, due + over, "retention");
}

fn is_marked(tables: &Tables, graph: Key) -> bool {
    tables.stop.get(&graph) == Some(&StopReason::Prune)
}

fn keys<K: Copy + Ord, V>(map: &std::collections::BTreeMap<K, V>) -> BTreeSet<K> {
    map.keys().copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tables_agree_and_nothing_hangs(seed in any::<u64>()) {
        let mut game = Game::new(seed);
        for _ in 0..STEPS {
            game.step();
            check(&game.bench.store.tables.lock().unwrap());
        }
        game.drain();
        let tables = game.bench.store.tables.lock().unwrap();
        check(&tables);
        for (graph, row) in &tables.graph {
            prop_assert!(row.over.is_some(), "graph {} hangs", row.id);
            prop_assert!(tables.nodes_of(*graph).all(|job| tables.ended.contains_key(&job)));
        }
    }
}
