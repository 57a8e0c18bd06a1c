//! Several queues and fewer slots than they could fill.

use super::*;

fn bench(weights: &[u16]) -> Bench {
    let mut bench = Bench::new(4);
    let mut config = bench.dispatcher.config.clone();
    let second = QueueSlots { queue: Queue::new("mail").unwrap(), ..config.queues[0].clone() };
    config.queues.push(second);
    (config.slots_max, config.prefetch_max, config.weights) = (Some(4), 0, weights.to_vec());
    bench.dispatcher = Dispatcher::new(config);
    bench.event(Event::Timer);
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost: vec![], cancel: vec![], handed_back: 0, wish: None });
    bench
}

fn of(queue: &str, key: i64, turn: u64) -> Claimed {
    let mut job = job(key, turn);
    job.head.queue = Queue::new(queue).unwrap();
    job
}

fn asked(turn: &Turn) -> (Vec<(String, u16)>, u16) {
    let claim = turn.claim.as_ref().unwrap();
    (claim.queues.iter().map(|queue| (queue.queue.to_string(), queue.limit)).collect(), claim.most)
}

fn named(queues: &[(&str, u16)]) -> Vec<(String, u16)> {
    queues.iter().map(|(name, limit)| ((*name).to_owned(), *limit)).collect()
}

#[test]
fn without_weights_the_first_queue_comes_first_and_no_more_run_than_there_are_slots() {
    let mut bench = bench(&[]);
    let turn = bench.turn().unwrap();
    assert_eq!(asked(&turn), (named(&[("default", 4), ("mail", 4)]), 4));
    bench.answer(&turn, vec![of("default", 1, 1), of("mail", 2, 1), of("mail", 3, 1)]);
    assert_eq!(bench.started(), [1, 2, 3]);
    bench.event(Event::Hint);
    let turn = bench.turn().unwrap();
    assert_eq!(asked(&turn), (named(&[("default", 1), ("mail", 1)]), 1), "one slot is left");
    // A store that gives more than it was asked for: what is too much waits.
    bench.answer(&turn, vec![of("default", 4, 2), of("default", 5, 2)]);
    assert_eq!(bench.started(), [4]);
    bench.event(done(2, 1));
    assert_eq!(bench.started(), [5]);
}

#[test]
fn by_weight_queues_share_and_what_an_empty_one_leaves_is_asked_of_the_other_at_once() {
    let mut bench = bench(&[3, 1]);
    let turn = bench.turn().unwrap();
    assert_eq!(asked(&turn), (named(&[("default", 3), ("mail", 1)]), 4));
    bench.answer(&turn, vec![of("mail", 1, 1)]);
    let turn = bench.turn().unwrap();
    assert_eq!(asked(&turn), (named(&[("default", 3), ("mail", 3)]), 3), "default has nothing, mail may have more");
    bench.answer(&turn, vec![of("mail", 2, 2), of("mail", 3, 2), of("mail", 4, 2)]);
    assert_eq!(bench.started(), [1, 2, 3, 4]);
    bench.event(done(1, 1));
    bench.event(done(2, 2));
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![of("default", 5, turn.number)]);
    let turn = bench.turn().unwrap();
    assert_eq!(asked(&turn).1, 1, "{turn:?}");
}
