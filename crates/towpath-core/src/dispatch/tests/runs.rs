//! Runs: they write under their claim while they go on, park and end.

use super::*;

fn written(key: i64, then: Option<Report>) -> Event {
    let commit = RunCommit { journal: vec![Payload::json(&key).unwrap()], read: Some(0), then, ..RunCommit::default() };
    Event::Commit { fence: job(key, 1).head.fence, commit }
}

fn committed(bench: &mut Bench) -> Vec<(i64, Settled)> {
    let mut answers = Vec::new();
    bench.effects.retain(|effect| match effect {
        Effect::Committed { fence, settled } => {
            answers.push((fence.key, *settled));
            false
        }
        _ => true,
    });
    answers
}

fn room(turn: &Turn) -> u16 {
    turn.claim.as_ref().map_or(0, |claim| claim.queues.iter().map(|queue| queue.limit).sum())
}

fn settled(bench: &mut Bench, settled: &[Settled]) {
    let now = Timestamp::ZERO + bench.now;
    let reply = TurnReply {
        now,
        settled: settled.to_vec(),
        problems: vec![],
        assigned: vec![],
        next_due: None,
        lease: Lease::Holds,
    };
    bench.event(Event::Turn(Ok(Box::new(reply))));
}

#[test]
fn a_run_writes_while_it_runs_and_gives_up_its_slot_with_its_park() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    assert_eq!(bench.started(), [1]);

    bench.event(written(1, None));
    let turn = bench.turn().unwrap();
    assert!(matches!(turn.settle[0].then, Move::Stay { .. }));
    assert_eq!(room(&turn), 0, "it keeps its slot: there is nothing that the last look did not bring");
    settled(&mut bench, &[Settled::Done]);
    assert_eq!(committed(&mut bench), [(1, Settled::Done)]);

    bench.dispatcher.take(Event::Hint, bench.now);
    bench.event(written(1, None));
    let turn = bench.turn().unwrap();
    assert_eq!(room(&turn), 1, "there is more: there is room for what is fetched ahead");
    settled(&mut bench, &[Settled::Done]);
    assert_eq!(committed(&mut bench), [(1, Settled::Done)]);

    bench.event(written(1, Some(Report::Parked { until: None })));
    let turn = bench.turn().unwrap();
    assert!(matches!(turn.settle[0].then, Move::Park { .. }));
    assert_eq!(room(&turn), 2, "its slot is refilled");
    bench.answer(&turn, vec![job(2, 2)]);
    assert_eq!((committed(&mut bench), bench.started()), (vec![(1, Settled::Done)], vec![2]));
    bench.event(finished(1, 1, Report::Stopped));
    assert!(bench.turn().is_none(), "what its task reports after that is nothing");
    assert_eq!(bench.dispatcher.running(), 1);
}

#[test]
fn a_run_that_goes_on_after_a_crash_writes_once_that_it_does() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    let mut crashed = job(1, 1);
    crashed.head.counters.crashes = 1;
    bench.answer(&turn, vec![crashed]);
    let mut stays = || {
        bench.event(written(1, None));
        let turn = bench.turn().unwrap();
        let Move::Stay { counters } = turn.settle[0].then else { panic!("{turn:?}") };
        settled(&mut bench, &[Settled::Done]);
        counters.map(|counters| counters.crashes)
    };
    assert_eq!([stays(), stays()], [Some(0), None]);
}

#[test]
fn a_run_that_may_not_end_yet_takes_its_slot_again() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.event(written(1, Some(Report::Succeeded { output: None, branches: vec![] })));
    bench.turn().unwrap();
    assert_eq!(bench.dispatcher.running(), 0);
    settled(&mut bench, &[Settled::Unread]);
    assert_eq!((committed(&mut bench), bench.dispatcher.running()), (vec![(1, Settled::Unread)], 1));

    // A claim that was lost meanwhile: what it writes is not sent, and it is told.
    let lost = vec![job(1, 1).head.fence];
    bench.beaten(BeatReply { now: Timestamp::ZERO, lost, cancel: vec![], handed_back: 0, wish: None });
    bench.event(written(1, None));
    assert_eq!(committed(&mut bench), [(1, Settled::Stale)]);
    bench.event(finished(1, 1, Report::Stopped));
    assert_eq!(bench.dispatcher.running(), 0);
    assert!(bench.turn().is_none_or(|turn| turn.settle.is_empty()));
}

#[test]
fn a_run_that_is_stopped_while_it_writes_is_settled_once() {
    let mut bench = Bench::serving(2);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1), job(2, 1)]);
    let looks = bench.turn();
    bench.event(done(2, 1));
    let turn = looks.or_else(|| bench.turn()).unwrap();
    // Its commit waits behind an exchange under way, then its task is dropped.
    bench.event(written(1, None));
    bench.event(finished(1, 1, Report::Stopped));
    settled(&mut bench, &vec![Settled::Done; turn.settle.len()]);
    let turn = bench.turn().unwrap();
    assert!(turn.check().is_ok(), "{turn:?}");
}

#[test]
fn a_run_that_goes_on_is_still_held_and_one_whose_claim_is_stale_is_not() {
    let after = |settled: Settled| {
        let mut bench = Bench::serving(1);
        let turn = bench.turn().unwrap();
        bench.answer(&turn, vec![job(1, 1)]);
        bench.dispatcher.traffic.settle(Settle::stay(job(1, 1).head.fence, Vec::new()), bench.now);
        bench.event(Event::Timer);
        let turn = bench.turn().unwrap();
        assert!(matches!(turn.settle[0].then, Move::Stay { .. }));
        let reply = TurnReply {
            now: Timestamp::ZERO,
            settled: vec![settled],
            problems: vec![],
            assigned: vec![],
            next_due: None,
            lease: Lease::Holds,
        };
        bench.event(Event::Turn(Ok(Box::new(reply))));
        bench
    };
    let mut goes_on = after(Settled::Done);
    assert_eq!((goes_on.dispatcher.running(), goes_on.cancelled().len()), (1, 0));
    goes_on.event(done(1, 1));
    assert_eq!(goes_on.turn().unwrap().settle.len(), 1, "its end is settled under the same claim");
    assert_eq!(after(Settled::Stale).cancelled(), [(1, CancelWhy::Lost)]);
}

#[test]
fn a_run_that_may_not_end_yet_is_still_held() {
    let mut bench = Bench::serving(1);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.event(done(1, 1));
    let turn = bench.turn().unwrap();
    let reply = TurnReply {
        now: Timestamp::ZERO,
        settled: vec![Settled::Unread; turn.settle.len()],
        problems: vec![],
        assigned: vec![],
        next_due: None,
        lease: Lease::Holds,
    };
    bench.event(Event::Turn(Ok(Box::new(reply))));
    bench.effects.retain(|e| !matches!(e, Effect::Beat(_)));
    bench.after(4_000 * MS);
    assert_eq!(bench.beat().unwrap().holds, [job(1, 1).head.fence]);
}

#[test]
fn a_run_that_is_stopped_while_its_park_is_on_its_way_and_comes_back_is_settled_once() {
    let mut bench = Bench::serving(2);
    let turn = bench.turn().unwrap();
    bench.answer(&turn, vec![job(1, 1)]);
    bench.event(written(1, Some(Report::Parked { until: None })));
    let parks = bench.turn().unwrap();
    bench.event(finished(1, 1, Report::Stopped));
    // It parked, woke, and was claimed again in that same turn.
    bench.answer(&parks, vec![job(1, 2)]);
    bench.event(done(1, 2));
    let turn = bench.turn().unwrap();
    assert!(turn.check().is_ok(), "{turn:?}");
    assert_eq!(turn.settle.iter().map(|settle| settle.fence.token.turn).collect::<Vec<_>>(), [2]);
}
