//! The dispatcher under a clock that the test turns.

use std::sync::Arc;
use std::time::Duration;

mod runs;
mod shares;

use super::*;
use crate::id::{Incarnation, JobId, Token};
use crate::lifecycle::{Cause, End};
use crate::name::{Kind, Queue};
use crate::outcome::{Retry, RunCommit};
use crate::payload::Payload;
use crate::rules::JobRules;
use crate::store::{
    BeatReply, Claimed, Counters, Ending, Head, HostId, Intent, Move, Served, Settle, Settled, Turn, TurnReply,
    WorkerIdentity,
};
use crate::time::Timestamp;

const MS: Duration = Duration::from_millis(1);
const WORKER: Incarnation = Incarnation::from_bytes([9; 16]);

/// A dispatcher with an exchange that the test answers by hand.
struct Bench {
    dispatcher: Dispatcher,
    now: Duration,
    effects: Vec<Effect>,
}

impl Bench {
    fn new(slots: u16) -> Self {
        let serves: Arc<[Served]> = vec![Served::up_to(Kind::from_stored("echo"), 1)].into();
        let queues = vec![QueueSlots { queue: Queue::default(), slots, serves }];
        let identity = WorkerIdentity {
            name: "w".into(),
            host: HostId::default(),
            build: 1,
            queues: vec![],
            kinds: Default::default(),
        };
        let dispatcher = Dispatcher::new(DispatchConfig::new(WORKER, identity, queues));
        Self { dispatcher, now: Duration::ZERO, effects: Vec::new() }
    }

    /// A worker that is registered and has an empty claim behind it.
    fn serving(slots: u16) -> Self {
        let mut bench = Self::new(slots);
        bench.event(Event::Timer);
        bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
        bench
    }

    fn event(&mut self, event: Event) {
        self.effects.extend(self.dispatcher.advance(event, self.now));
    }

    fn after(&mut self, wait: Duration) {
        self.now += wait;
        self.event(Event::Timer);
    }

    fn beaten(&mut self, reply: BeatReply) {
        self.event(Event::Beat(Ok(reply)));
    }

    fn turn(&mut self) -> Option<Turn> {
        let at = self.effects.iter().position(|e| matches!(e, Effect::Turn(_)))?;
        match self.effects.remove(at) {
            Effect::Turn(turn) => Some(*turn),
            _ => None,
        }
    }

    fn beat(&mut self) -> Option<crate::store::Beat> {
        let at = self.effects.iter().rposition(|e| matches!(e, Effect::Beat(_)))?;
        match self.effects.remove(at) {
            Effect::Beat(beat) => Some(*beat),
            _ => None,
        }
    }

    /// Answers a turn: everything settled, these jobs claimed.
    fn answer(&mut self, turn: &Turn, claimed: Vec<Claimed>) {
        let reply = TurnReply {
            now: Timestamp::ZERO + self.now,
            settled: vec![Settled::Done; turn.settle.len()],
            problems: vec![],
            assigned: claimed.into_iter().map(|c| Assigned::Job(Box::new(c))).collect(),
            next_due: None,
            lease: Lease::Holds,
        };
        self.event(Event::Turn(Ok(Box::new(reply))));
    }

    fn started(&mut self) -> Vec<i64> {
        let mut keys = Vec::new();
        self.effects.retain(|e| match e {
            Effect::Start(job) => {
                keys.push(job.head.fence.key);
                false
            }
            _ => true,
        });
        keys
    }

    fn cancelled(&self) -> Vec<(i64, CancelWhy)> {
        self.effects
            .iter()
            .filter_map(|e| match e {
                Effect::Cancel { fence, why } => Some((fence.key, why.clone())),
                _ => None,
            })
            .collect()
    }
}

fn job(key: i64, turn: u64) -> Claimed {
    job_with(key, turn, JobRules::default())
}

fn job_with(key: i64, turn: u64, rules: JobRules) -> Claimed {
    let fence = Fence { key, token: Token { worker: WORKER, turn, index: key as u16 } };
    Claimed {
        head: Head {
            fence,
            id: JobId::from_bytes([key as u8; 16]),
            kind: Kind::from_stored("echo"),
            version: 1,
            queue: Queue::default(),
            counters: Counters { attempt: 1, failures: 0, crashes: 0 },
            rules,
            deadline: None,
            node: None,
            role: crate::graph::Role::PLAIN,
        },
        input: Payload::default(),
        headers: Default::default(),
        enqueued_at: Timestamp::ZERO,
        run: None,
    }
}

fn done(key: i64, turn: u64) -> Event {
    finished(key, turn, Report::Succeeded { output: None, branches: vec![] })
}

fn finished(key: i64, turn: u64, report: Report) -> Event {
    Event::Finished { fence: job(key, turn).head.fence, report }
}

#[test]
fn it_registers_before_it_claims() {
    let mut bench = Bench::new(2);
    bench.event(Event::Timer);
    assert!(bench.turn().is_none());
    assert_eq!(bench.beat().unwrap().intent, Intent::Stay);
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
    let turn = bench.turn().unwrap();
    assert_eq!((turn.number, turn.claim.unwrap().queues[0].limit), (1, 4), "two slots, and as many ahead");
}

#[test]
fn a_finished_job_is_settled_at_once_and_its_slot_refilled_in_the_same_turn() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    assert_eq!(bench.started(), [1]);
    bench.event(done(1, 1));
    assert_eq!(bench.started(), [2], "what was fetched ahead fills the slot");
    let turn = bench.turn().unwrap();
    assert_eq!(turn.settle.len(), 1);
    assert!(turn.claim.is_some());
}

#[test]
fn a_lost_answer_is_asked_for_again_with_the_same_number() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.event(Event::Turn(Err(Failure::Other)));
    assert!(bench.turn().is_none(), "not at once");
    bench.after(60 * MS);
    let again = bench.turn().unwrap();
    assert_eq!(again.number, turn.number);
    bench.answer(&again, vec![job(1, 1)]);
    assert_eq!(bench.started(), [1]);
}

#[test]
fn an_idle_worker_polls_with_jitter_and_a_hint_comes_first() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![]);
    bench.after(700 * MS);
    assert!(bench.turn().is_none());
    bench.event(Event::Hint);
    let hinted = bench.turn().unwrap();
    bench.answer(&hinted, vec![]);
    bench.after(1_201 * MS);
    assert!(bench.turn().is_some());
}

#[test]
fn a_heartbeat_lists_what_is_held_and_acknowledges_only_what_was_answered() {
    let mut bench = Bench::serving(1);
    bench.effects.retain(|e| !matches!(e, Effect::Beat(_)));
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    bench.event(done(1, 1));
    bench.after(4_000 * MS);
    let beat = bench.beat().unwrap();
    let mut holds: Vec<i64> = beat.holds.iter().map(|f| f.key).collect();
    holds.sort();
    assert_eq!(holds, [1, 2], "an outcome on its way is still held");
    assert_eq!(beat.acknowledged, 1);
}

#[test]
fn a_lost_job_is_stopped_and_its_outcome_never_sent() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.beaten(BeatReply {
        now: Timestamp::ZERO,
        lost: vec![job(1, 1).head.fence],
        cancel: vec![],
        handed_back: 0,
        wish: None,
    });
    assert_eq!(bench.cancelled(), [(1, CancelWhy::Lost)]);
    bench.turn();
    bench.event(done(1, 1));
    let settles = bench.turn().map_or(0, |t| t.settle.len());
    assert_eq!(settles, 0);
}

#[test]
fn a_cancel_reaches_the_handler_and_its_failure_takes_the_second_move() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    let cause = Cause::Asked { actor: "ann".into(), reason: String::new() };
    let fence = job(1, 1).head.fence;
    bench.beaten(BeatReply {
        now: Timestamp::ZERO,
        lost: vec![],
        cancel: vec![(fence, cause.clone())],
        handed_back: 0,
        wish: None,
    });
    assert_eq!(bench.cancelled(), [(1, CancelWhy::Asked(cause))]);
    bench.event(finished(1, 1, Report::Failed { error: "stopped".into(), retry: Retry::ByPolicy, log: None }));
    let turn = bench.turn().unwrap();
    assert_eq!(turn.settle[0].if_cancelled.as_ref().unwrap().end, End::Cancelled);
}

#[test]
fn a_timeout_cancels_then_aborts_then_reports_it_stuck() {
    let rules = JobRules { timeout_us: Some(500_000), ..JobRules::default() };
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job_with(1, 1, rules)]);
    assert!(bench.dispatcher.next_wake() <= 500 * MS);
    bench.after(500 * MS);
    assert_eq!(bench.cancelled(), [(1, CancelWhy::Timeout)]);
    bench.after(Duration::from_secs(10));
    assert!(bench.effects.iter().any(|e| matches!(e, Effect::Abort { .. })));
    bench.after(Duration::from_secs(10));
    assert!(bench.effects.iter().any(|e| matches!(e, Effect::Stuck { .. })));
    assert_eq!(bench.dispatcher.running(), 1, "a stuck handler keeps its slot");
    while bench.turn().is_some() {}
    bench.event(Event::Turn(Err(Failure::Other)));
    bench.event(finished(1, 1, Report::Stopped));
    bench.after(Duration::from_secs(3));
    bench.turn();
    bench.event(Event::Turn(Ok(Box::new(TurnReply {
        now: Timestamp::ZERO,
        settled: vec![],
        problems: vec![],
        assigned: vec![],
        next_due: None,
        lease: Lease::Holds,
    }))));
    let turn = bench.turn().unwrap();
    let Move::Again { record, .. } = &turn.settle[0].then else { panic!("{:?}", turn.settle[0]) };
    assert_eq!(record.as_ref().unwrap().error.as_deref(), Some("it took longer than its timeout of 500ms"));
}

#[test]
fn a_shutdown_hands_back_drains_and_leaves() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    assert_eq!(bench.started(), [1]);
    bench.event(Event::Command(Command::Shutdown));
    let turn = bench.turn().unwrap();
    assert!(turn.claim.is_none(), "it claims nothing more");
    assert!(matches!(turn.settle[0].then, Move::Again { counters, .. } if counters.attempt == 0), "unrun, at no cost");
    bench.answer(&turn, vec![]);
    assert!(!bench.effects.iter().any(|e| matches!(e, Effect::Beat(b) if b.intent == Intent::Leave)));
    bench.event(done(1, 1));
    let turn = bench.turn().unwrap();
    assert!(matches!(turn.settle[0].then, Move::End(Ending { end: End::Succeeded, .. })));
    bench.answer(&turn, vec![]);
    let beat = bench.beat().unwrap();
    assert_eq!(beat.intent, Intent::Leave);
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
    assert!(bench.dispatcher.is_gone());
}

#[test]
fn a_worker_that_claims_nothing_sleeps_until_its_next_beat() {
    let mut bench = Bench::new(1);
    bench.event(Event::Timer);
    assert!(bench.dispatcher.next_wake() > bench.now, "its first beat is not answered yet");
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    for command in [Command::Quiet, Command::Shutdown] {
        bench.event(Event::Command(command));
        for _ in 0..20 {
            bench.after(500 * MS);
            bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
            assert!(bench.dispatcher.next_wake() > bench.now, "{command:?}");
        }
    }
}

#[test]
fn a_worker_without_a_free_slot_does_not_wake_to_look_for_work() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    bench.after(1_000 * MS);
    let turn = bench.turn().unwrap();
    assert_eq!(turn.settle.len(), 1, "what was fetched ahead goes back");
    bench.answer(&turn, vec![]);
    for _ in 0..20 {
        bench.after(400 * MS);
        bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
        assert!(bench.dispatcher.next_wake() > bench.now);
    }
}

#[test]
fn a_job_that_was_lost_and_comes_back_does_not_cost_a_slot() {
    let mut bench = Bench::serving(2);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.beaten(BeatReply {
        now: Timestamp::ZERO,
        lost: vec![job(1, 1).head.fence],
        cancel: vec![],
        handed_back: 0,
        wish: None,
    });
    bench.after(2_000 * MS);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 2)]);
    assert_eq!((bench.started(), bench.dispatcher.running()), (vec![1, 1], 2), "the lost handler is still at work");
    bench.event(done(1, 2));
    bench.event(done(1, 1));
    assert_eq!(bench.dispatcher.running(), 0);
    bench.after(2_000 * MS);
    let settled: Vec<_> = bench.turn().unwrap().settle.iter().map(|settle| settle.fence).collect();
    assert_eq!(settled, [job(1, 2).head.fence], "and only what counts is sent");
}

#[test]
fn a_shutdown_ends_even_if_the_store_is_out_of_reach() {
    let mut bench = Bench::serving(1);
    bench.event(Event::Command(Command::Shutdown));
    bench.event(Event::Turn(Err(Failure::Other)));
    for _ in 0..60 {
        bench.after(Duration::from_secs(1));
        bench.event(Event::Turn(Err(Failure::Other)));
        bench.event(Event::Beat(Err(Failure::Other)));
    }
    assert!(bench.dispatcher.is_gone());
}

#[test]
fn leases_are_renewed_while_it_drains() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.event(Event::Command(Command::Shutdown));
    bench.effects.clear();
    bench.after(Duration::from_secs(4));
    assert_eq!(bench.beat().unwrap().holds.len(), 1);
}

#[test]
fn others_are_rescued_only_after_a_lease_of_contact_and_the_dead_at_once() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![]);
    let rescue = |bench: &mut Bench| {
        let at = bench.effects.iter().position(|e| matches!(e, Effect::Rescue(_)));
        at.map(|at| bench.effects.remove(at))
    };
    bench.event(Event::Peers(PeerNews { expired: true, gone: vec![] }));
    assert!(rescue(&mut bench).is_none(), "it has just come: the store may have been away");
    let gone = Incarnation::from_bytes([1; 16]);
    bench.event(Event::Peers(PeerNews { expired: true, gone: vec![gone] }));
    let Some(Effect::Rescue(ask)) = rescue(&mut bench) else { panic!() };
    assert_eq!(ask.gone, [gone]);
    bench.event(Event::Rescued(Ok(RescueReply { now: Timestamp::ZERO, rescued: vec![] })));
    bench.after(Duration::from_secs(11));
    if let Some(turn) = bench.turn() {
        bench.answer(&turn, vec![]);
    }
    bench.event(Event::Peers(PeerNews { expired: true, gone: vec![] }));
    assert!(rescue(&mut bench).is_some());
}

#[test]
fn a_rescue_that_was_not_answered_is_not_repeated_before_a_lease_of_contact() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![]);
    bench.after(Duration::from_secs(11));
    if let Some(turn) = bench.turn() {
        bench.answer(&turn, vec![]);
    }
    let rescues = |bench: &Bench| bench.effects.iter().filter(|e| matches!(e, Effect::Rescue(_))).count();
    bench.event(Event::Peers(PeerNews { expired: true, gone: vec![] }));
    assert_eq!(rescues(&bench), 1);
    bench.event(Event::Rescued(Err(Failure::Other)));
    for _ in 0..9 {
        bench.after(Duration::from_secs(1));
        bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
        bench.event(Event::Peers(PeerNews { expired: true, gone: vec![] }));
        if let Some(turn) = bench.turn() {
            bench.answer(&turn, vec![]);
        }
    }
    assert_eq!(rescues(&bench), 1, "the store may have been away for everybody");
}

#[test]
fn what_a_quiet_worker_took_over_without_an_answer_goes_back_with_its_beat() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![]);
    bench.after(Duration::from_secs(11));
    while let Some(turn) = bench.turn() {
        bench.answer(&turn, vec![]);
    }
    bench.event(Event::Peers(PeerNews { expired: true, gone: vec![] }));
    let number = bench.effects.iter().find_map(|e| if let Effect::Rescue(ask) = e { Some(ask.number) } else { None });
    bench.event(Event::Command(Command::Quiet));
    bench.event(Event::Rescued(Err(Failure::Other)));
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
    bench.after(Duration::from_secs(4));
    assert!(bench.turn().is_none(), "it has nothing to say");
    assert_eq!(bench.beat().map(|beat| beat.acknowledged), number, "what it does not list goes back");
}

#[test]
fn a_quiet_worker_that_the_store_forgot_comes_back_quiet() {
    let mut bench = Bench::serving(1);
    bench.turn().unwrap();
    bench.event(Event::Command(Command::Quiet));
    bench.event(Event::Turn(Err(Failure::UnknownWorker)));
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
    bench.after(Duration::from_secs(2));
    assert!(bench.turn().is_none(), "it was told to claim nothing");
    bench.event(Event::Command(Command::Resume));
    assert!(bench.turn().is_some_and(|turn| turn.claim.is_some()), "it serves again");
}

#[test]
fn what_was_fetched_ahead_and_not_used_goes_back() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    bench.after(Duration::from_secs(1));
    let turn = bench.turn().unwrap();
    assert_eq!(turn.settle.len(), 1);
    assert!(turn.claim.is_none(), "no slot is free, and nothing is fetched ahead any more");
}

#[test]
fn what_waits_under_a_lease_that_is_over_is_not_started() {
    let mut bench = Bench::serving(2);
    let turn = bench.turn().unwrap();
    // Neither the turn nor the beats of the next minute get an answer.
    bench.after(Duration::from_secs(10));
    bench.after(Duration::from_secs(50));
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    assert!(bench.started().is_empty(), "another worker may have them");
    let lost = vec![job(1, 1).head.fence];
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost, cancel: vec![], handed_back: 0, wish: None });
    assert!(bench.started().is_empty(), "that beat left fifty seconds ago");
    bench.after(MS);
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
    assert_eq!(bench.started(), [2]);
}

#[test]
fn an_unknown_worker_stops_everything_and_registers_again() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    bench.effects.clear();
    bench.event(done(2, 1));
    bench.event(Event::Hint);
    bench.event(Event::Turn(Err(Failure::UnknownWorker)));
    assert_eq!(bench.cancelled(), [(1, CancelWhy::Lost)]);
    assert_eq!(bench.dispatcher.running(), 1, "until its handler is gone");
}

#[test]
fn jobs_on_their_last_chance_run_one_at_a_time() {
    let suspect = |key| {
        let mut job = job(key, 1);
        job.head.counters.crashes = 2;
        job
    };
    let mut bench = Bench::serving(4);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![suspect(1), job(2, 1), suspect(3)]);
    assert_eq!(bench.started(), [2], "the first suspect waits until the other has gone back");
    let turn = bench.turn().unwrap();
    assert_eq!(turn.settle.len(), 1);
    assert_eq!(turn.settle[0].fence.key, 3);
    let Move::Again { after, counters, .. } = &turn.settle[0].then else { panic!("{:?}", turn.settle[0].then) };
    assert_eq!((*after, counters.crashes, counters.attempt), (500 * MS, 2, 0), "at no cost");
    bench.answer(&turn, vec![]);
    assert_eq!(bench.started(), [1]);
    // As long as it runs, no other one does; then the next may.
    bench.event(Event::Hint);
    let turn = bench.turn().unwrap();
    let mut late = suspect(4);
    late.head.fence.token.turn = turn.number;
    bench.answer(&turn, vec![late.clone()]);
    assert_eq!(bench.started(), [0_i64; 0]);
    let back = bench.turn().unwrap();
    bench.answer(&back, vec![]);
    bench.event(done(1, 1));
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![late]);
    assert_eq!(bench.started(), [4]);
}

#[test]
fn an_outcome_that_the_store_refuses_is_settled_as_a_quarantine_and_never_a_third_time() {
    let refuse = |bench: &mut Bench, turn: &Turn| {
        let reply = TurnReply {
            now: Timestamp::ZERO,
            settled: vec![Settled::Refused],
            problems: vec!["value too long".into()],
            assigned: vec![],
            next_due: None,
            lease: Lease::Holds,
        };
        assert_eq!(turn.settle.len(), 1);
        bench.event(Event::Turn(Ok(Box::new(reply))));
        let told = bench.effects.extract_if(.., |e| matches!(e, Effect::Refused { .. })).count();
        assert_eq!(told, 1);
    };
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.event(done(1, 1));
    let turn = bench.turn().unwrap();
    refuse(&mut bench, &turn);
    let turn = bench.turn().unwrap();
    let Move::End(ending) = &turn.settle[0].then else { panic!("{:?}", turn.settle[0]) };
    assert_eq!((ending.end, ending.counters.attempt), (End::Quarantined, 1));
    refuse(&mut bench, &turn);
    bench.after(10 * MS);
    assert!(bench.turn().is_none_or(|turn| turn.settle.is_empty()), "nothing less can be written");
    bench.effects.retain(|e| !matches!(e, Effect::Beat(_)));
    bench.after(4_000 * MS);
    assert_eq!(bench.beat().unwrap().holds, [job(1, 1).head.fence], "handed back it would run again, for nothing");
}

#[test]
fn a_run_whose_journal_is_refused_is_stopped_and_quarantined() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.dispatcher.traffic.settle(Settle::stay(job(1, 1).head.fence, Vec::new()), bench.now);
    bench.event(Event::Timer);
    bench.turn().unwrap();
    let reply = TurnReply {
        now: Timestamp::ZERO,
        settled: vec![Settled::Refused],
        problems: vec![],
        assigned: vec![],
        next_due: None,
        lease: Lease::Holds,
    };
    bench.event(Event::Turn(Ok(Box::new(reply))));
    assert_eq!(bench.cancelled(), [(1, CancelWhy::Lost)]);
    bench.event(Event::Finished { fence: job(1, 1).head.fence, report: Report::Stopped });
    let turn = bench.turn().unwrap();
    assert!(matches!(&turn.settle[..], [Settle { then: Move::End(Ending { end: End::Quarantined, .. }), .. }]));
}

#[test]
fn what_an_operator_asks_is_done_once_and_a_drain_is_for_good() {
    let mut bench = Bench::serving(1);
    let ask = |bench: &mut Bench, wish, at| {
        let line = WishLine { wish, at: Timestamp::from_micros(at), actor: "ann".into(), why: String::new() };
        bench.beaten(BeatReply {
            now: Timestamp::ZERO,
            lost: vec![],
            cancel: vec![],
            handed_back: 0,
            wish: Some(line),
        });
    };
    ask(&mut bench, Wish::Quiet, 1);
    assert_eq!(bench.dispatcher.stage, Stage::Quiet);
    bench.event(Event::Command(Command::Resume));
    ask(&mut bench, Wish::Quiet, 1);
    assert_eq!(bench.dispatcher.stage, Stage::Serving, "the same wish again asks nothing new");
    ask(&mut bench, Wish::Quiet, 2);
    assert_eq!(bench.dispatcher.stage, Stage::Quiet);
    ask(&mut bench, Wish::Resume, 3);
    assert_eq!(bench.dispatcher.stage, Stage::Serving);
    ask(&mut bench, Wish::Drain, 4);
    assert!(bench.dispatcher.is_leaving());
    ask(&mut bench, Wish::Resume, 5);
    assert!(bench.dispatcher.is_leaving(), "a worker that drains goes on draining");
}
