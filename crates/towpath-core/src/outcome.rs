//! From what a handler reported, or a store asked, to what becomes of the job.

use std::time::Duration;

use crate::defaults;
use crate::graph::{PreparedAppend, Why, decide, decide_end};
use crate::lifecycle::{Cause, End, SkipKind};
use crate::limits;
use crate::name::Label;
use crate::payload::Payload;
use crate::replay::Entry;
use crate::rules::JobRules;
use crate::store::{
    Appending, AttemptOutcome, AttemptRecord, Closing, Counters, Durability, Ending, Head, Move, Renewal, Settle,
    Showing, Telling, Undecided,
};
use crate::time::Timestamp;

/// What a handler, or the worker around it, reports of one attempt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Report {
    /// It is done.
    Succeeded {
        /// What it leaves.
        output: Option<Payload>,
        /// The branches it chose, if it is a gate.
        branches: Vec<Label>,
    },
    /// It failed.
    Failed {
        /// The error and its causes.
        error: String,
        /// Whether a retry can help.
        retry: Retry,
        /// What it logged.
        log: Option<String>,
    },
    /// It panicked: a failure.
    Panicked {
        /// What the panic said.
        error: String,
    },
    /// It took longer than its timeout: a failure.
    TimedOut {
        /// What it logged.
        log: Option<String>,
    },
    /// Its deadline passed while it ran, or before it could.
    Overdue,
    /// It put itself back. Not a failure: the attempt is refunded.
    Snoozed {
        /// For how long.
        wait: Duration,
    },
    /// It is a run and waits, for its time or for a signal. Not a failure: the attempt is refunded.
    Parked {
        /// Not longer than this; `None` for as long as it takes.
        until: Option<Duration>,
    },
    /// It is a run that is paused. Not a failure: the attempt is refunded.
    Held,
    /// It is a run and begins its next chapter, at once and with counters reset.
    Renewed {
        /// The first line of the new journal.
        first: Payload,
        /// The numbers of the arrivals that were taken.
        taken: Vec<i64>,
    },
    /// It asked to be cancelled.
    Revoked {
        /// Why.
        reason: String,
    },
    /// It is a run that was asked to cancel, and has, with its undos.
    Obeyed {
        /// Who asked.
        cause: Cause,
    },
    /// It asked to be skipped, as if its branch were not taken.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It was asked to stop, and did.
    Stopped,
    /// It was never run, or was interrupted by a shutdown: it goes back at no cost.
    HandedBack,
    /// Any of the others, with what the attempt logged.
    Logged {
        /// How it went.
        report: Box<Report>,
        /// What it logged, head and tail, at most 64 KiB.
        log: String,
    },
    /// A success, with what the node adds to its graph.
    Appended {
        /// How it went.
        report: Box<Report>,
        /// The new nodes.
        nodes: Box<PreparedAppend>,
    },
    /// Its input means nothing to this build.
    Undecodable {
        /// What is wrong with it.
        problem: String,
        /// The build.
        build: u64,
    },
}

/// Whether a retry can mend a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// It can: by the job's policy.
    #[default]
    ByPolicy,
    /// It can, after this long, if attempts are left.
    After(Duration),
    /// It cannot.
    Never,
}

/// What becomes of a job after an attempt. Pure: the same report of the same claim is the same move.
pub fn settle_report(head: &Head, report: Report) -> Settle {
    let spent = Counters { crashes: 0, ..head.counters };
    let failed = Counters { failures: head.counters.failures + 1, ..spent };
    let refunded = Counters { attempt: head.counters.attempt.saturating_sub(1), ..head.counters };
    let end = |end: End, cause: Option<Cause>, counters: Counters, record: Option<AttemptRecord>| Ending {
        record,
        stop: head.rules.stops(end),
        tells: head.rules.tells(),
        ..Ending::plain(end, cause, head.rules.keep(end), counters)
    };
    let record = |outcome, error: Option<&str>, log: Option<String>| {
        Some(AttemptRecord {
            attempt: head.counters.attempt,
            outcome,
            error: error.map(|e| limits::cut(e, limits::ERROR_BYTES_MAX)),
            log,
        })
    };
    let cancelled = |counters, record| Some(end(End::Cancelled, None, counters, record));
    let failure = |outcome, error: String, retry: Retry, log: Option<String>| {
        let kept = record(outcome, Some(&error), log);
        let dead = |cause| Move::End(end(End::Dead, Some(cause), failed, kept.clone()));
        let by_policy = head.rules.retry.delay(head.id, failed.failures);
        let then = match (retry, by_policy) {
            (Retry::Never, _) => dead(Cause::Permanent),
            (_, None) => dead(Cause::Exhausted),
            (Retry::After(wait), Some(_)) => Move::Again { after: wait, counters: failed, record: kept.clone() },
            (Retry::ByPolicy, Some(wait)) => Move::Again { after: wait, counters: failed, record: kept.clone() },
        };
        (then, cancelled(failed, kept))
    };
    let (then, if_cancelled) = match report {
        Report::Logged { report, log } => return with_log(settle_report(head, *report), head, log),
        Report::Appended { report, nodes } => return with_append(settle_report(head, *report), head, *nodes),
        Report::Succeeded { branches, .. } if unknown_branch(&head.rules.labels, &branches).is_some() => {
            let error = unknown_branch(&head.rules.labels, &branches).unwrap_or_default();
            failure(AttemptOutcome::Failed, error, Retry::ByPolicy, None)
        }
        Report::Succeeded { output, branches } => {
            let again = head.counters.attempt > 1;
            let record = if again { record(AttemptOutcome::Succeeded, None, None) } else { None };
            let mut ending = end(End::Succeeded, None, spent, record);
            ending.output = output;
            ending.branches = branches;
            (Move::End(ending), None)
        }
        Report::Failed { error, retry, log } => failure(AttemptOutcome::Failed, error, retry, log),
        Report::Panicked { error } => failure(AttemptOutcome::Panicked, error, Retry::ByPolicy, None),
        Report::TimedOut { log } => {
            let limit = head.rules.timeout().unwrap_or_default();
            failure(
                AttemptOutcome::TimedOut,
                format!("it took longer than its timeout of {limit:?}"),
                Retry::ByPolicy,
                log,
            )
        }
        Report::Overdue => {
            let kept = record(AttemptOutcome::TimedOut, Some("its deadline passed"), None);
            (Move::End(end(End::Dead, Some(Cause::Deadline), spent, kept)), None)
        }
        Report::Snoozed { wait } => {
            let counters = Counters { attempt: refunded.attempt, ..spent };
            (Move::Again { after: wait, counters, record: None }, cancelled(spent, None))
        }
        Report::Parked { until } => {
            let counters = Counters { attempt: refunded.attempt, ..spent };
            (Move::Park { until, counters }, cancelled(counters, None))
        }
        Report::Held => {
            let counters = Counters { attempt: refunded.attempt, ..spent };
            (Move::Hold { counters }, cancelled(counters, None))
        }
        Report::Renewed { first, taken } => {
            (Move::Renew(Renewal { first, taken, counters: Counters::default() }), cancelled(spent, None))
        }
        Report::Revoked { reason } => {
            (Move::End(end(End::Cancelled, Some(Cause::Itself { reason }), spent, None)), None)
        }
        Report::Obeyed { cause } => (Move::End(end(End::Cancelled, Some(cause), spent, None)), None),
        Report::Skipped { reason } => {
            let kind = End::Skipped(SkipKind::Untaken);
            (Move::End(end(kind, Some(Cause::Itself { reason }), spent, None)), cancelled(spent, None))
        }
        Report::Stopped => {
            let kept = record(AttemptOutcome::Cancelled, None, None);
            let back = Move::Again { after: Duration::ZERO, counters: refunded, record: None };
            (back, cancelled(spent, kept))
        }
        Report::HandedBack => {
            let back = Move::Again { after: Duration::ZERO, counters: refunded, record: None };
            (back, cancelled(refunded, None))
        }
        Report::Undecodable { problem, build } => {
            (Move::Block { reason: problem, build, counters: refunded }, cancelled(refunded, None))
        }
    };
    Settle { if_cancelled, ..Settle::new(head.fence, then, Durability::Required) }
}

/// What is wrong with a gate's choice, if it is none of the branches that were declared.
fn unknown_branch(declared: &[Label], chosen: &[Label]) -> Option<String> {
    let unknown = chosen.iter().find(|label| !declared.is_empty() && !declared.contains(label))?;
    let known: Vec<&str> = declared.iter().map(Label::as_str).collect();
    Some(format!("the gate chose the branch {unknown}, and has only {}", known.join(", ")))
}

/// The same outcome, with what the node adds to its graph, if it has succeeded.
fn with_append(mut settle: Settle, head: &Head, nodes: PreparedAppend) -> Settle {
    let has_succeeded = matches!(&settle.then, Move::End(ending) if ending.end == End::Succeeded);
    if has_succeeded {
        let counters = Counters { failures: head.counters.failures + 1, crashes: 0, ..head.counters };
        let refused = Ending::plain(End::Dead, Some(Cause::Permanent), head.rules.keep(End::Dead), counters);
        let refused = Ending { stop: head.rules.stops(End::Dead), ..refused };
        settle.append = Some(Box::new(Appending { nodes, refused }));
    }
    settle
}

/// The same outcome, with what the attempt logged. A success then has a line of its own in the history.
fn with_log(mut settle: Settle, head: &Head, log: String) -> Settle {
    let keep = |ending: &mut Ending, log: &str| {
        let outcome = match ending.end {
            End::Succeeded => AttemptOutcome::Succeeded,
            End::Cancelled => AttemptOutcome::Cancelled,
            _ => AttemptOutcome::Failed,
        };
        let attempt = head.counters.attempt;
        let record = ending.record.get_or_insert(AttemptRecord { attempt, outcome, error: None, log: None });
        record.log.get_or_insert_with(|| log.to_owned());
    };
    match &mut settle.then {
        Move::End(ending) => keep(ending, &log),
        Move::Again { record: Some(record), .. } => {
            record.log.get_or_insert_with(|| log.clone());
        }
        _ => {}
    }
    if let Some(ending) = &mut settle.if_cancelled {
        keep(ending, &log);
    }
    if let Some(append) = &mut settle.append {
        keep(&mut append.refused, &log);
    }
    settle
}

/// What the worker of a run has to write: what its journal gains, and where that leaves it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunCommit {
    /// Entries for its journal, in order.
    pub journal: Vec<Payload>,
    /// What it shows to its clients from then on.
    pub shows: Vec<Showing>,
    /// How many of its arrivals have been read; an end or a park that leaves more is refused or is none.
    pub read: Option<u32>,
    /// `None` to go on under the same claim; otherwise it parks, ends, or goes back.
    pub then: Option<Report>,
}

/// What becomes of a run with a commit. It is asked to cancel by a signal, so that its undos are part of its history: a
/// cancel on its row does not take its place.
pub fn settle_run(head: &Head, commit: RunCommit) -> Settle {
    let RunCommit { journal, shows, read, then } = commit;
    let settle = match then {
        None => Settle { then: Move::Stay { counters: without_crashes(head) }, ..Settle::stay(head.fence, Vec::new()) },
        Some(report) => settle_report(head, report),
    };
    let mut settle = Settle { journal, shows, read, if_cancelled: None, ..settle };
    // A parent is told the error itself, which is the last line of the journal.
    if let Move::End(Ending { tells: Some(telling), .. }) = &mut settle.then
        && let Some(Ok(Entry::Ended { error, .. })) = settle.journal.last().map(Entry::decode)
    {
        telling.error = error;
    }
    settle
}

/// A run that writes has outlived its last crash: what its counters are then, if that changes them.
fn without_crashes(head: &Head) -> Option<Counters> {
    (head.counters.crashes > 0).then_some(Counters { crashes: 0, ..head.counters })
}

/// What becomes of a job that was claimed and may not run now: it goes back for a while, at no cost.
pub(crate) fn postpone(head: &Head, wait: Duration) -> Settle {
    let mut settle = settle_report(head, Report::HandedBack);
    if let Move::Again { after, .. } = &mut settle.then {
        *after = wait;
    }
    settle
}

/// What becomes of a job whose worker is gone: a crash, no attempt spent, until there are too many.
pub fn settle_rescued(head: &Head, now: Timestamp) -> Settle {
    let crashes = head.counters.crashes + 1;
    let counters = Counters { crashes, ..head.counters };
    let record = Some(AttemptRecord {
        attempt: head.counters.attempt,
        outcome: AttemptOutcome::Crashed,
        error: Some("its worker was lost".into()),
        log: None,
    });
    let end = |end: End, cause: Option<Cause>| Ending {
        record: record.clone(),
        stop: head.rules.stops(end),
        tells: head.rules.tells(),
        ..Ending::plain(end, cause, head.rules.keep(end), counters)
    };
    let overdue = head.deadline.is_some_and(|at| at <= now);
    let then = if crashes >= head.rules.crash_limit.max(1) {
        Move::End(end(End::Quarantined, Some(Cause::Crashes { count: crashes })))
    } else if overdue {
        Move::End(end(End::Dead, Some(Cause::Deadline)))
    } else {
        Move::Again { after: Duration::ZERO, counters, record: record.clone() }
    };
    Settle { if_cancelled: Some(end(End::Cancelled, None)), ..Settle::new(head.fence, then, Durability::Lazy) }
}

/// What becomes of a job whose outcome the database refused: it is quarantined, with what the database said and nothing
/// else, so that little is left to refuse. `None` if there is nothing less to write: this was it, or it is a graph's end.
///
/// `later` is an outcome of the same claim that was to follow, as after an entry of a journal.
pub fn settle_refused(refused: &Settle, later: Option<&Settle>, head: Option<&Head>, problem: &str) -> Option<Settle> {
    let counters = |settle: &Settle| match &settle.then {
        Move::End(Ending { end: End::Quarantined, cause: Some(Cause::Corrupt { .. }), .. }) => None,
        Move::End(Ending { counters, .. })
        | Move::Again { counters, .. }
        | Move::Block { counters, .. }
        | Move::Renew(Renewal { counters, .. })
        | Move::Hold { counters }
        | Move::Park { counters, .. } => Some(*counters),
        Move::Close(_) | Move::Undo(_) | Move::Retry(_) | Move::Stay { .. } => None,
    };
    let counters = counters(refused).or_else(|| later.and_then(counters)).or(head.map(|head| head.counters))?;
    let unknown = JobRules::default();
    let rules = head.map_or(&unknown, |head| &head.rules);
    let detail = format!("what became of it could not be stored: {problem}");
    let cause = Cause::Corrupt { detail: limits::cut(&detail, limits::ERROR_BYTES_MAX) };
    let ending = Ending {
        stop: rules.stops(End::Quarantined),
        tells: rules.tells().or_else(|| told_of(refused)).or_else(|| told_of(later?)),
        ..Ending::plain(End::Quarantined, Some(cause), rules.keep(End::Quarantined), counters)
    };
    Some(Settle::new(refused.fence, Move::End(ending), refused.durability))
}

/// The run that an outcome tells of its end.
fn told_of(settle: &Settle) -> Option<Box<Telling>> {
    match &settle.then {
        Move::End(ending) => ending.tells.clone(),
        _ => settle.if_cancelled.as_ref()?.tells.clone(),
    }
}

/// What becomes of a job that came for a decision.
pub fn settle_decision(undecided: &Undecided) -> Settle {
    let then = match (&undecided.why, decide(&undecided.why)) {
        (Why::End { counts, rules, undoing, tries }, _) => {
            let end = undoing.verdict.unwrap_or_else(|| decide_end(counts));
            let tells = undecided.rules.tells();
            // Undos begin only once no retry is to come.
            let tries = tries.as_ref().filter(|_| undoing.verdict.is_none());
            let later = rules.retry.zip(tries).and_then(|(retry, tries)| retry.later(tries, end));
            match (later, undoing.step(end)) {
                (Some(later), _) => Move::Retry(later),
                (None, Some(step)) => Move::Undo(step),
                (None, None) => Move::Close(Closing { end, counts: counts.clone(), keep: rules.keep(end), tells }),
            }
        }
        (_, Some((end, cause))) => {
            let ending = Ending::plain(end, Some(cause), undecided.rules.keep(end), undecided.counters);
            Move::End(Ending { stop: undecided.rules.stops(end), tells: undecided.rules.tells(), ..ending })
        }
        // `decide` answers everything but an end, and what waits for a retry to be over.
        (_, None) => Move::Again { after: defaults::RETRY_PAUSE, counters: undecided.counters, record: None },
    };
    Settle::new(undecided.fence, then, Durability::Lazy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Role;
    use crate::id::{Fence, Incarnation, JobId, Token};
    use crate::name::{Kind, Queue};
    use crate::retry::RetryPolicy;

    fn head(counters: Counters) -> Head {
        Head {
            fence: Fence { key: 1, token: Token { worker: Incarnation::from_bytes([1; 16]), turn: 1, index: 0 } },
            id: JobId::from_bytes([2; 16]),
            kind: Kind::from_stored("echo"),
            version: 1,
            queue: Queue::default(),
            counters,
            rules: JobRules { retry: RetryPolicy::attempts(3), ..JobRules::default() },
            deadline: None,
            node: None,
            role: Role::PLAIN,
        }
    }

    fn at(attempt: u32, failures: u32, crashes: u32) -> Counters {
        Counters { attempt, failures, crashes }
    }

    fn failed(retry: Retry) -> Report {
        Report::Failed { error: "no route".into(), retry, log: None }
    }

    #[test]
    fn a_failure_spends_an_attempt_and_the_last_one_is_the_end() {
        let again = settle_report(&head(at(1, 0, 2)), failed(Retry::ByPolicy));
        assert!(matches!(again.then, Move::Again { counters, .. } if counters == at(1, 1, 0)), "crashes are reset");
        let dead = settle_report(&head(at(3, 2, 0)), failed(Retry::After(Duration::ZERO)));
        assert!(matches!(dead.then, Move::End(Ending { end: End::Dead, cause: Some(Cause::Exhausted), .. })));
        let dead = settle_report(&head(at(1, 0, 0)), failed(Retry::Never));
        assert!(matches!(dead.then, Move::End(Ending { end: End::Dead, cause: Some(Cause::Permanent), .. })));
    }

    #[test]
    fn snooze_and_hand_back_spend_nothing() {
        let snoozed = settle_report(&head(at(2, 1, 1)), Report::Snoozed { wait: Duration::from_secs(9) });
        assert!(matches!(snoozed.then, Move::Again { counters, .. } if counters == at(1, 1, 0)));
        let back = settle_report(&head(at(2, 1, 1)), Report::HandedBack);
        assert!(
            matches!(back.then, Move::Again { counters, .. } if counters == at(1, 1, 1)),
            "not even a crash is forgotten"
        );
    }

    #[test]
    fn a_parked_run_spends_nothing() {
        let parked = settle_report(&head(at(2, 1, 1)), Report::Parked { until: None });
        assert!(matches!(parked.then, Move::Park { until: None, counters } if counters == at(1, 1, 0)));
        assert!(parked.if_cancelled.is_some_and(|ending| ending.counters == at(1, 1, 0)));
    }

    #[test]
    fn a_run_that_goes_on_after_a_crash_forgets_it() {
        let goes_on = RunCommit::default;
        let first = settle_run(&head(at(1, 0, 0)), goes_on());
        assert!(matches!(first.then, Move::Stay { counters: None }), "there is nothing to write");
        let again = settle_run(&head(at(3, 1, 2)), goes_on());
        assert!(matches!(again.then, Move::Stay { counters: Some(counters) } if counters == at(3, 1, 0)));
    }

    #[test]
    fn a_success_stands_against_a_cancel_and_a_failure_does_not() {
        let done = settle_report(&head(at(1, 0, 0)), Report::Succeeded { output: None, branches: vec![] });
        assert!(done.if_cancelled.is_none());
        let failed = settle_report(&head(at(1, 0, 0)), failed(Retry::ByPolicy));
        assert_eq!(failed.if_cancelled.unwrap().end, End::Cancelled);
    }

    #[test]
    fn a_branch_that_was_not_declared_fails_the_attempt_and_says_which_there_are() {
        let mut gate = head(at(1, 0, 0));
        gate.rules.labels = vec![Label::from_stored("express"), Label::from_stored("standard")];
        let choose = |label: &str| Report::Succeeded { output: None, branches: vec![Label::from_stored(label)] };
        assert!(matches!(settle_report(&gate, choose("standard")).then, Move::End(Ending { end: End::Succeeded, .. })));
        let Move::Again { record: Some(record), counters, .. } = settle_report(&gate, choose("drone")).then else {
            panic!("it is tried again")
        };
        assert_eq!(record.error.unwrap(), "the gate chose the branch drone, and has only express, standard");
        assert_eq!(counters.failures, 1);
        assert!(matches!(settle_report(&head(at(1, 0, 0)), choose("any")).then, Move::End(_)), "none was declared");
    }

    #[test]
    fn a_success_that_logged_has_a_line_of_its_own() {
        let quiet = Report::Succeeded { output: None, branches: vec![] };
        let logged = Report::Logged { report: Box::new(quiet.clone()), log: "12 rows".into() };
        let record = |report| match settle_report(&head(at(1, 0, 0)), report).then {
            Move::End(ending) => ending.record,
            other => panic!("{other:?}"),
        };
        assert_eq!(record(quiet), None);
        let kept = record(logged).unwrap();
        assert_eq!((kept.outcome, kept.log.as_deref()), (AttemptOutcome::Succeeded, Some("12 rows")));
    }

    #[test]
    fn only_a_success_adds_to_its_graph_and_a_refusal_of_the_graph_does_not_undo_it() {
        use crate::graph::{NewAppend, NewNode};
        use crate::id::GraphId;
        use crate::name::NodeName;
        use crate::store::Refusal;
        let graph = GraphId::from_bytes([7; 16]);
        let new = crate::job::NewJob::new(JobId::from_bytes([3; 16]), Kind::from_stored("echo"));
        let nodes = vec![NewNode::new(NodeName::from_stored("more"), new)];
        let nodes = Box::new(NewAppend { graph, nodes, edges: Vec::new() }.prepare().unwrap());
        let appended = |report| Report::Appended { report: Box::new(report), nodes: nodes.clone() };
        assert!(settle_report(&head(at(1, 0, 0)), appended(failed(Retry::ByPolicy))).append.is_none());
        let done = Report::Succeeded { output: Some(Payload::json_bytes("1")), branches: vec![] };
        let logged = Report::Logged { report: Box::new(appended(done)), log: "one more".into() };
        let settle = settle_report(&head(at(2, 1, 0)), logged);
        let (Move::End(success), Some(append)) = (&settle.then, &settle.append) else { panic!("{settle:?}") };
        let stands = append.ending(success, &Refusal::Undone { graph });
        assert_eq!((stands.end, stands.output.is_some()), (End::Succeeded, true));
        let record = stands.record.unwrap();
        assert_eq!((record.attempt, record.log.as_deref()), (2, Some("one more")));
        assert!(record.error.unwrap().starts_with("what it would have added to its graph was refused: graph"));
        let names = vec![NodeName::from_stored("more")];
        let fails = append.ending(success, &Refusal::NamesTaken { graph, names });
        assert_eq!((fails.end, fails.output, fails.counters.failures), (End::Dead, None, 2));
        let record = fails.record.unwrap();
        assert_eq!((record.outcome, record.log.as_deref()), (AttemptOutcome::Failed, Some("one more")));
    }

    #[test]
    fn the_last_allowed_crash_quarantines() {
        let now = Timestamp::ZERO;
        assert!(
            matches!(settle_rescued(&head(at(1, 0, 1)), now).then, Move::Again { counters, .. } if counters == at(1, 0, 2))
        );
        let set_aside = settle_rescued(&head(at(1, 0, 2)), now);
        assert!(matches!(set_aside.then, Move::End(Ending { end: End::Quarantined, .. })));
    }

    #[test]
    fn undecodable_input_blocks_and_costs_nothing() {
        let blocked =
            settle_report(&head(at(1, 0, 0)), Report::Undecodable { problem: "no field `to`".into(), build: 7 });
        assert!(matches!(blocked.then, Move::Block { build: 7, counters, .. } if counters == at(0, 0, 0)));
    }

    #[test]
    fn an_outcome_that_was_refused_is_a_quarantine_and_that_is_the_last_of_it() {
        let done = settle_report(&head(at(2, 1, 0)), failed(Retry::ByPolicy));
        let aside = settle_refused(&done, None, None, "no such city").unwrap();
        let Move::End(ending) = &aside.then else { panic!("{aside:?}") };
        assert_eq!((ending.end, ending.counters, &ending.record), (End::Quarantined, at(2, 2, 0), &None));
        assert!(matches!(&ending.cause, Some(Cause::Corrupt { detail }) if detail.contains("no such city")));
        assert!(settle_refused(&aside, None, None, "no such city").is_none());
        let stays = Settle::stay(done.fence, Vec::new());
        assert!(settle_refused(&stays, None, None, "").is_none());
        assert!(settle_refused(&stays, Some(&done), None, "").is_some(), "what was to follow says how it stands");
    }
}
