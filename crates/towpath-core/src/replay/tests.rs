//! Cuts of journals, and runs that are rebuilt from what a cut has kept.

use std::time::Duration;

use super::*;

const RUN: JobId = JobId::from_bytes([7; 16]);
const START: Timestamp = Timestamp::from_micros(1_000_000);

fn step(pos: u32) -> Ident {
    Ident { kind: OpKind::Step, name: format!("s{pos}").into(), version: 1, input: 0 }
}

fn done(pos: u32, outcome: &str, next: Option<u32>) -> Entry {
    let (outcome, next) = (Outcome::from_json(outcome.as_bytes()).unwrap(), next.map(Pos));
    Entry::Done {
        pos: Pos(pos),
        op: step(pos),
        at: START,
        outcome,
        arrival: None,
        alone: false,
        next,
        unopened: Vec::new(),
    }
}

fn ok(pos: u32) -> Entry {
    done(pos, r#"{"ok":1}"#, None)
}

fn failure(pos: u32, next: u32) -> Entry {
    done(pos, r#"{"err":"timed_out"}"#, Some(next))
}

fn tried(pos: u32) -> Entry {
    Entry::Failed { pos: Pos(pos), failures: 1, due: START, error: "no".into() }
}

fn opened(pos: u32, kind: OpKind) -> Entry {
    Entry::Opened { pos: Pos(pos), op: Ident { kind, ..step(pos) }, due: None }
}

fn began() -> Entry {
    Entry::Began { at: START, version: 1, input: None, carried: None }
}

const ENDED: Entry = Entry::Ended { at: START, error: None };
const LEFT: Entry = Entry::Left { at: START };

fn journal(lines: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    std::iter::once(began()).chain(lines).collect()
}

/// The numbers of the lines that a cut keeps, or why there is none.
fn kept(cut: Result<Cut, CutRefusal>) -> Result<Vec<u32>, CutRefusal> {
    let kept = cut?.kept;
    assert!(kept.is_sound(), "{kept:?}");
    let lines: Vec<u32> = (0..kept.below).filter(|seq| kept.holds(*seq)).collect();
    assert_eq!(lines.len(), kept.lines() as usize);
    Ok(lines)
}

fn retry(entries: &[Entry], from: Rewind) -> Result<Vec<u32>, CutRefusal> {
    kept(CutFrom { entries, job: RUN, chapter: 1 }.retry(from))
}

fn carried(cut: &Cut) -> Carried {
    match &cut.first {
        Entry::Began { carried: Some(carried), .. } => (**carried).clone(),
        other => panic!("{other:?}"),
    }
}

/// The function has built an operation before, and waited for it after it was told of a failure.
#[test]
fn a_failure_that_another_operation_was_waited_for_after_is_kept() {
    let unopened = |pos: u32, next: u32, places: &[u32]| match failure(pos, next) {
        Entry::Done { pos, op, at, outcome, arrival, alone, next, .. } => {
            let unopened = places.iter().copied().map(Pos).collect();
            Entry::Done { pos, op, at, outcome, arrival, alone, next, unopened }
        }
        other => other,
    };
    let late = journal([unopened(3, 5, &[2]), ok(2), ENDED]);
    assert_eq!(retry(&late, Rewind::Failed), Ok(vec![1, 2]));
    let late = journal([unopened(3, 5, &[2, 4]), tried(4), ENDED]);
    assert_eq!(retry(&late, Rewind::Failed), Ok(vec![1]), "an attempt of it shows as much");
    let never = journal([ok(4), unopened(3, 5, &[2]), ENDED]);
    assert_eq!(retry(&never, Rewind::Failed), Ok(vec![1]));
    let beside = journal([unopened(3, 6, &[2]), ok(4), ENDED]);
    assert_eq!(retry(&beside, Rewind::Failed), Ok(vec![2]), "it was waited for at the same time");
}

#[test]
fn what_failed_last_is_tried_again_and_what_succeeded_stays() {
    // Three at once, of which one fails before another succeeds.
    let fan = journal([ok(2), tried(4), failure(4, 6), ok(3), ok(5), ENDED]);
    assert_eq!(retry(&fan, Rewind::Failed), Ok(vec![1, 4, 5]));
    // A failure that the function went on from was part of its way.
    let caught = journal([failure(2, 3), ok(3), failure(4, 5), ENDED]);
    assert_eq!(retry(&caught, Rewind::Failed), Ok(vec![1, 2]));
    // The function decided by itself: all is kept, and other code may decide otherwise.
    assert_eq!(retry(&journal([ok(2), ENDED]), Rewind::Failed), Ok(vec![1]));
    // A cancel is no line that is kept, and neither is what came of it.
    let cancel = done(Pos::CANCEL.0, "null", None);
    assert_eq!(retry(&journal([ok(2), cancel, LEFT, ENDED]), Rewind::Failed), Ok(vec![1]));
}

#[test]
fn a_place_cuts_all_that_is_at_it_or_behind() {
    let lines = journal([ok(2), opened(3, OpKind::Timer), opened(4, OpKind::Signal), ok(3), ok(5), ENDED]);
    assert_eq!(retry(&lines, Rewind::At(Pos(4))), Ok(vec![1, 2]));
    assert_eq!(retry(&lines, Rewind::At(Pos(6))), Ok(vec![1, 2, 3, 4, 5]));
    assert_eq!(retry(&lines, Rewind::At(Pos::FIRST)), Ok(vec![]));
    let beyond = CutRefusal::Beyond { at: Pos(7), last: Pos(5) };
    assert_eq!(retry(&lines, Rewind::At(Pos(7))), Err(beyond));
    assert_eq!(retry(&[], Rewind::Failed), Err(CutRefusal::Unbegun));
    // A child of which nobody was told is started anew.
    let child = journal([opened(2, OpKind::Child), Entry::Started { pos: Pos(2) }, ok(3), ok(4)]);
    assert_eq!(retry(&child, Rewind::At(Pos(4))), Ok(vec![1, 3]));
}

#[test]
fn what_may_be_begun_once_is_not_begun_twice_unasked() {
    let open = journal([opened(2, OpKind::Step), ok(3), ok(4)]);
    let op = step(2);
    assert_eq!(retry(&open, Rewind::At(Pos(4))), Err(CutRefusal::Inside { pos: Pos(2), op: op.clone() }));
    let failed = journal([opened(2, OpKind::Step), failure(2, 3), ENDED]);
    assert_eq!(retry(&failed, Rewind::Failed), Err(CutRefusal::OnceOnly { pos: Pos(2), op }));
    assert_eq!(retry(&failed, Rewind::At(Pos(2))), Ok(vec![]));
}

#[test]
fn what_was_undone_begins_anew() {
    let undone = journal([ok(2), failure(3, 4), LEFT, ok(4), ENDED]);
    assert_eq!(retry(&undone, Rewind::Failed), Ok(vec![]));
    assert_eq!(retry(&undone, Rewind::At(Pos(3))), Err(CutRefusal::Undone));
    let wait = Ident { kind: OpKind::Signal, name: "towpath.child".into(), version: 0, input: 3 };
    let wait = Entry::Opened { pos: Pos(4), op: wait, due: None };
    let waited = journal([ok(2), failure(3, 4), LEFT, wait, ENDED]);
    assert_eq!(retry(&waited, Rewind::Failed), Ok(vec![1]), "a wait for children undoes nothing");
}

#[test]
fn numbers_that_were_drawn_for_what_is_kept_stay_and_others_are_a_forks_own() {
    let lines = journal([ok(2), ok(3), ENDED]);
    let (job, of) = (JobId::from_bytes([8; 16]), CutFrom { entries: &lines, job: RUN, chapter: 1 });
    let fork = of.fork(Pos(3)).unwrap();
    let own = seed_of(RUN, 1);
    let first = carried(&fork);
    assert_eq!((first.seed_at(Pos(2)), first.seed_at(Pos(3)), first.foreign), (Some(own), None, 1));
    // A fork of the fork, and then a retry of that.
    let lines = vec![fork.first, ok(2), ok(3), failure(4, 5), ENDED];
    let second = CutFrom { entries: &lines, job, chapter: 1 }.fork(Pos(4)).unwrap();
    let second = carried(&second);
    let theirs = seed_of(job, 1);
    assert_eq!([2, 3, 4].map(|pos| second.seed_at(Pos(pos))), [Some(own), Some(theirs), None]);
    assert_eq!((second.foreign, second.keyed), (2, None));
    let again = CutFrom { entries: &lines, job, chapter: 1 }.retry(Rewind::Failed).unwrap();
    let again = carried(&again);
    assert_eq!([2, 3, 9].map(|pos| again.seed_at(Pos(pos))), [Some(own), Some(theirs), Some(theirs)]);
    assert_eq!((again.foreign, again.keyed, again.lines), (1, Some(1), 2), "only one line is another run's");
}

/// Waits for two instants, one after the other.
async fn waits(ops: Ops) -> u64 {
    for micros in [10, 20] {
        let (pos, now) = (ops.claim(), ops.began_at());
        let ident = Ident { kind: OpKind::Timer, name: "".into(), version: 0, input: micros };
        let due = now + Duration::from_micros(micros);
        let mut request = Some(Request { ident, wants: Wants::Instant(due), place: None });
        std::future::poll_fn(|context| ops.poll(pos, &mut request, context.waker())).await;
    }
    ops.random()
}

fn rebuilt(entries: Vec<Entry>, now: Timestamp) -> Live<u64> {
    let made = Live::rebuild(entries, 1, seed_of(RUN, 1), now, |ops| Box::pin(waits(ops)));
    made.unwrap_or_else(|interrupt| panic!("{interrupt}"))
}

/// The lines of a run that goes on from others until it ends, and what it returned.
fn to_its_end(mut entries: Vec<Entry>) -> (Vec<Entry>, u64) {
    let mut live = rebuilt(entries.clone(), START);
    for at in 1..100 {
        let pass = live.pass(START + Duration::from_micros(at)).unwrap();
        entries.extend(pass.entries);
        if let Some(drawn) = pass.ended {
            return (entries, drawn);
        }
    }
    panic!("it does not end: {entries:?}")
}

#[test]
fn a_run_goes_on_from_every_cut_of_its_journal() {
    let (whole, drawn) = to_its_end(Vec::new());
    let mut ended = whole.clone();
    ended.push(ENDED);
    assert_eq!(whole.len(), 5, "{whole:?}");
    for pos in 2..=4 {
        let cut = CutFrom { entries: &ended, job: RUN, chapter: 1 }.retry(Rewind::At(Pos(pos))).unwrap();
        let kept = cut.kept;
        let lines = (0..).zip(&ended).filter(|(seq, _)| kept.holds(*seq)).map(|(_, entry)| entry.clone());
        let lines: Vec<Entry> = std::iter::once(cut.first).chain(lines).collect();
        let (again, same) = to_its_end(lines);
        assert_eq!(again.len(), whole.len(), "from {pos}: {again:?}");
        assert_eq!(same, drawn, "from {pos}");
        // What it wrote fits, too.
        rebuilt(again, START);
    }
}

#[test]
fn the_longest_time_counts_from_the_retry() {
    let cut = CutFrom { entries: &journal([ok(2), ENDED]), job: RUN, chapter: 1 }.retry(Rewind::Failed).unwrap();
    let (written, payload) = (START + Duration::from_secs(60), cut.first.encode().unwrap());
    let first = Entry::read(&crate::store::Entry { seq: 0, payload, at: written }).unwrap();
    let Entry::Began { at, carried: Some(carried), .. } = &first else { panic!("{first:?}") };
    assert_eq!((*at, carried.since), (START, Some(written)), "the function's clock goes on from where it was");
    let anew = CutFrom { entries: &journal([ok(2), ENDED]), job: RUN, chapter: 1 }.retry(Rewind::Beginning).unwrap();
    let payload = anew.first.encode().unwrap();
    let first = Entry::read(&crate::store::Entry { seq: 0, payload, at: written }).unwrap();
    assert!(matches!(first, Entry::Began { at, .. } if at == written), "{first:?}");
}
