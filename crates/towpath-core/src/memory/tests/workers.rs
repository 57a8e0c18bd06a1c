//! Heartbeats, hand-back and rescue.

use super::*;
use crate::outcome::settle_rescued;
use crate::store::{Head, Rescue, RescueReply, Rescued};

fn rescue(bench: &Bench, by: Incarnation, number: u64, gone: Vec<Incarnation>, limit: u16) -> RescueReply {
    now_or_never(bench.store.rescue(Rescue { worker: by, number, gone, limit })).unwrap()
}

fn heads(reply: &RescueReply) -> Vec<&Head> {
    let heads = reply.rescued.iter().map(|rescued| match rescued {
        Rescued::Job(head) => &**head,
        Rescued::Decision(undecided) => panic!("a decision: {undecided:?}"),
    });
    heads.collect()
}

fn with_two_held() -> (Bench, Vec<Claimed>) {
    let mut bench = Bench::new();
    for at in 1..=2 {
        bench.enqueue(Item::job(job(at))).unwrap();
    }
    let held = bench.claim(2);
    (bench, held)
}

#[test]
fn what_a_beat_does_not_list_goes_back_at_no_cost() {
    let (mut bench, held) = with_two_held();
    let listed = [held[0].head.fence];
    assert_eq!(bench.beat(bench.worker, 0, &listed).handed_back, 0, "its turn is not acknowledged yet");
    assert_eq!(bench.beat(bench.worker, 1, &listed).handed_back, 1);
    let again = bench.claim(2);
    assert_eq!((ids(&again), again[0].head.counters.attempt), (vec![id(2)], 1));
    let lost = bench.beat(bench.worker, 2, &[held[0].head.fence, held[1].head.fence, again[0].head.fence]).lost;
    assert_eq!(lost, [held[1].head.fence]);
}

#[test]
fn a_worker_that_leaves_gives_everything_back_and_is_forgotten() {
    let (bench, held) = with_two_held();
    let leave = Beat { intent: Intent::Leave, ..beat(bench.worker, 0, &[held[0].head.fence]) };
    let reply = now_or_never(bench.store.extend(leave.clone())).unwrap();
    assert_eq!((reply.handed_back, reply.lost), (2, vec![]));
    assert_eq!((bench.census().ready, bench.census().workers), (2, 0));
    let again = now_or_never(bench.store.extend(leave)).unwrap();
    assert_eq!((again.handed_back, again.lost, bench.census().workers), (0, vec![held[0].head.fence], 0));
}

#[test]
fn a_cancel_is_not_forgotten_when_its_job_goes_back() {
    let (bench, held) = with_two_held();
    bench.order(cancel_job(id(1), "ann", ""));
    bench.beat(bench.worker, 1, &[held[1].head.fence]);
    assert_eq!(bench.state(id(1)), State::Ended(End::Cancelled));
}

#[test]
fn the_jobs_of_a_dead_worker_are_rescued_once() {
    let (bench, held) = with_two_held();
    bench.beat(worker(2), 0, &[]);
    assert!(rescue(&bench, worker(2), 1, vec![], 9).rescued.is_empty(), "its lease holds");
    bench.wait(10);
    bench.beat(worker(2), 1, &[]);
    let first = rescue(&bench, worker(2), 2, vec![], 1);
    assert_eq!(heads(&first).iter().map(|h| (h.id, h.counters.attempt)).collect::<Vec<_>>(), [(id(1), 1)]);
    let again = rescue(&bench, worker(2), 2, vec![], 1);
    assert_eq!(heads(&again), heads(&first), "a repeat answers the same");
    let rest = rescue(&bench, worker(2), 3, vec![], 9);
    assert_eq!(bench.census().workers, 1, "a victim that holds nothing is forgotten");
    let stale = bench.turn_as(bench.worker, 2, vec![succeeded(&held[0])], 0).unwrap_err();
    assert_eq!(stale.kind, StoreErrorKind::UnknownWorker);
    let crash = settle_rescued(heads(&first)[0], first.now);
    let crash2 = settle_rescued(heads(&rest)[0], first.now);
    let reply = bench.turn_as(worker(2), 4, vec![crash, crash2], 2).unwrap();
    let counters: Vec<_> = reply.assigned.into_iter().map(|a| job_of(a).head.counters).collect();
    assert_eq!(counters, [Counters { attempt: 2, failures: 0, crashes: 1 }; 2]);
}

#[test]
fn a_worker_known_to_be_gone_is_rescued_at_once_and_nobody_rescues_itself() {
    let (bench, _) = with_two_held();
    bench.beat(worker(2), 0, &[]);
    let reply = rescue(&bench, worker(2), 1, vec![bench.worker, worker(2)], 9);
    assert_eq!(heads(&reply).len(), 2);
    let peers = now_or_never(bench.store.peers()).unwrap();
    assert_eq!(peers.iter().map(|peer| peer.worker).collect::<Vec<_>>(), [worker(2)]);
    let unknown = now_or_never(bench.store.rescue(Rescue { worker: bench.worker, number: 9, gone: vec![], limit: 9 }));
    assert_eq!(unknown.unwrap_err().kind, StoreErrorKind::UnknownWorker);
}
