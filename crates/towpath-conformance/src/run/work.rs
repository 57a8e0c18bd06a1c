//! `beat`, `leave`, `turn`, `repeat`, `mark` and `rescue`: what workers do.

use std::collections::BTreeMap;
use std::sync::Arc;

use towpath_core::store::{
    Assigned, Beat, Claim, HostId, Intent, Lease, Move, QueueClaim, Rescue, Rescued, Served, Settle, Settled, Turn,
    Versions, WorkerIdentity,
};
use towpath_core::{Fence, Incarnation, JobId, Kind, Queue, limits};

use crate::args::Args;
use crate::error::ScriptError;
use crate::run::enqueue::parsed;
use crate::run::settle::{Held, read_settles};
use crate::run::{Answer, Runner, WorkerBook};
use crate::span;
use crate::subject::{LEASE, START, Subject};

/// The build of a worker that a script gives none.
pub(super) const BUILD: u64 = 1;

impl<S: Subject> Runner<S> {
    pub(super) async fn beat(&mut self, verb: &str, mut args: Args) -> Answer {
        let worker = args.word("a worker")?;
        let incarnation = self.names.worker(&worker);
        let book = self.workers.entry(worker.clone()).or_default();
        let lease = args.read("lease", span::parse)?.unwrap_or(LEASE);
        let acknowledged = args.number("ack")?.unwrap_or(book.seen);
        let listed = args.list("holds").unwrap_or_else(|| book.holds.clone());
        let identity = read_identity(&worker, &mut args)?;
        args.finish()?;
        let holds = listed.iter().map(|job| book.fence(job)).collect::<Result<Vec<_>, _>>()?;
        let intent = if verb == "leave" { Intent::Leave } else { Intent::Stay };
        let beat = Beat { worker: incarnation, identity, lease, acknowledged, holds, intent };
        let reply = match self.subject.store().extend(beat).await {
            Ok(reply) => reply,
            Err(error) => return Ok(self.refused(&error)),
        };
        let mut lines = Vec::new();
        self.check_now(reply.now, &mut lines);
        let book = self.workers.entry(worker).or_default();
        let mut told = Vec::new();
        for fence in &reply.lost {
            let name = listed_name(book, &listed, *fence);
            told.push(format!("lost {name}"));
            book.drop_job(&name);
        }
        for (fence, cause) in &reply.cancel {
            told.push(format!("cancel {}: {cause}", book.name_of(*fence)));
        }
        // The contract gives lost and cancelled jobs no order.
        told.sort();
        if reply.handed_back > 0 {
            told.push(format!("handed back {}", reply.handed_back));
        }
        let acknowledged_only = |name: &String| {
            listed.contains(name) || book.held.get(name).is_some_and(|h| h.fence().token.turn > acknowledged)
        };
        let keeps: Vec<String> = book.holds.iter().filter(|name| acknowledged_only(name)).cloned().collect();
        book.holds = if intent == Intent::Leave { Vec::new() } else { keeps };
        lines.extend(told);
        if let Some(line) = &reply.wish {
            lines.push(format!(
                "asked to {} by {} at {}",
                line.wish.word(),
                line.actor,
                span::show_instant(line.at, START)
            ));
        }
        Ok(lines)
    }

    pub(super) async fn turn(&mut self, mut args: Args, body: &[String]) -> Answer {
        let worker = args.word("a worker")?;
        let incarnation = self.names.worker(&worker);
        let unseen = args.flag("unseen");
        let claim = read_claim(&mut args)?;
        let book = self.workers.entry(worker.clone()).or_default();
        let number = args.number("number")?.unwrap_or(book.number + 1);
        args.finish()?;
        let mut settles = read_settles(&mut self.names, book, body, self.now)?;
        book.number = book.number.max(number);
        self.find_taken(&mut settles).await?;
        let (names, settle): (Vec<_>, Vec<_>) = settles.into_iter().unzip();
        let turn = Turn { worker: incarnation, number, settle, claim };
        self.send_turn(&worker, turn, &names, unseen).await
    }

    /// Puts the numbers of the first arrivals of runs that begin anew in place of their counts.
    async fn find_taken(&mut self, settles: &mut [(String, Settle)]) -> Result<(), ScriptError> {
        for (name, settle) in settles {
            let Move::Renew(renewal) = &mut settle.then else { continue };
            let (job, store) = (self.names.job(name), self.subject.store());
            let detail = store.inspect().job(job).await.map_err(|e| ScriptError::new(e.to_string()))?;
            let Some(run) = detail.and_then(|detail| detail.run) else { continue };
            let most = renewal.taken.len() as u32;
            let lines = store.inbox(run.id, 0, most).await.map_err(|e| ScriptError::new(e.to_string()))?;
            renewal.taken = if most == 0 { Vec::new() } else { lines.iter().map(|line| line.seq).collect() };
        }
        Ok(())
    }

    pub(super) async fn repeat(&mut self, mut args: Args) -> Answer {
        let worker = args.word("a worker")?;
        args.finish()?;
        let book = self.workers.entry(worker.clone()).or_default();
        let Some(turn) = book.last.clone() else {
            return Err(ScriptError::new(format!("{worker} has made no turn")));
        };
        let names: Vec<String> = turn.settle.iter().map(|settle| book.name_of(settle.fence)).collect();
        self.send_turn(&worker, turn, &names, false).await
    }

    /// Keeps a claim under a label, `a@old`, before another one takes its place; `from=w2` takes
    /// another worker's.
    pub(super) fn mark(&mut self, mut args: Args) -> Answer {
        let worker = args.word("a worker")?;
        let label = args.word("a label such as a@old")?;
        let owner = args.text("from")?.unwrap_or_else(|| worker.clone());
        args.finish()?;
        let job = label.split('@').next().unwrap_or(&label).to_owned();
        let Some(held) = self.workers.get(&owner).and_then(|book| book.held.get(&job)).cloned() else {
            return Err(ScriptError::new(format!("{owner} never held {job}")));
        };
        self.workers.entry(worker).or_default().held.insert(label, held);
        Ok(Vec::new())
    }

    async fn send_turn(&mut self, worker: &str, turn: Turn, names: &[String], unseen: bool) -> Answer {
        let number = turn.number;
        let kept = turn.clone();
        let reply = match self.subject.store().turn(turn).await {
            Ok(reply) => reply,
            Err(error) => return Ok(self.refused(&error)),
        };
        let mut lines = Vec::new();
        self.check_now(reply.now, &mut lines);
        if reply.settled.len() != names.len() {
            lines.push(format!("{} answers for {} outcomes", reply.settled.len(), names.len()));
        }
        for (name, settled) in names.iter().zip(&reply.settled) {
            let word = match settled {
                Settled::Done => "done",
                Settled::Cancelled => "cancelled",
                Settled::Stale => "stale",
                Settled::Unread => "unread",
                Settled::Refused => "refused",
                Settled::Paused => "paused",
            };
            lines.push(format!("{name} {word}"));
        }
        let held: Vec<(JobId, Held)> = reply.assigned.iter().map(assigned).collect();
        lines.extend(reply.assigned.iter().map(|assigned| match assigned {
            Assigned::Job(claimed) => self.say().claimed(claimed),
            Assigned::Decision(undecided) => self.say().undecided(undecided),
        }));
        lines.extend(check_fences(&held, kept.worker, number));
        if let Some(due) = reply.next_due {
            lines.push(format!("next due {}", self.say().at(due)));
        }
        if reply.lease == Lease::Over {
            lines.push("lease over".into());
        }
        let book = self.workers.entry(worker.to_owned()).or_default();
        book.last = Some(kept.clone());
        if unseen {
            return Ok(lines);
        }
        book.seen = book.seen.max(number);
        for ((name, settle), told) in names.iter().zip(&kept.settle).zip(&reply.settled) {
            if !stays(settle, *told) {
                book.drop_job(name);
            } else if let (Move::Stay { counters: Some(counters) }, Settled::Done | Settled::Paused) =
                (&settle.then, told)
            {
                book.count(name, *counters);
            }
        }
        for (id, held) in held {
            book.take(self.names.of(id), held);
        }
        Ok(lines)
    }

    pub(super) async fn rescue(&mut self, mut args: Args) -> Answer {
        let worker = args.word("a worker")?;
        let incarnation = self.names.worker(&worker);
        let gone = args.list("gone").unwrap_or_default();
        let gone = gone.iter().map(|name| self.names.worker(name)).collect();
        let limit = args.number("limit")?.unwrap_or(100);
        let book = self.workers.entry(worker.clone()).or_default();
        let number = args.number("number")?.unwrap_or(book.number + 1);
        args.finish()?;
        book.number = book.number.max(number);
        let ask = Rescue { worker: incarnation, number, gone, limit };
        let reply = match self.subject.store().rescue(ask).await {
            Ok(reply) => reply,
            Err(error) => return Ok(self.refused(&error)),
        };
        let mut lines = Vec::new();
        self.check_now(reply.now, &mut lines);
        let mut held = Vec::new();
        for rescued in reply.rescued {
            match rescued {
                Rescued::Job(head) => {
                    lines.push(self.say().rescued(&head));
                    held.push((head.id, Held::Rescued(head)));
                }
                Rescued::Decision(undecided) => {
                    lines.push(self.say().undecided(&undecided));
                    held.push((undecided.id, Held::Decision(undecided)));
                }
            }
        }
        lines.extend(check_fences(&held, incarnation, number));
        let book = self.workers.entry(worker).or_default();
        book.seen = book.seen.max(number);
        for (id, held) in held {
            book.take(self.names.of(id), held);
        }
        Ok(lines)
    }
}

/// Whether what was settled is still the worker's.
fn stays(settle: &Settle, told: Settled) -> bool {
    matches!(told, Settled::Unread | Settled::Refused | Settled::Paused)
        || (told == Settled::Done && matches!(settle.then, Move::Stay { .. }))
}

fn assigned(assigned: &Assigned) -> (JobId, Held) {
    match assigned {
        Assigned::Job(claimed) => (claimed.head.id, Held::Job(Box::new(claimed.head.clone()))),
        Assigned::Decision(undecided) => (undecided.id, Held::Decision(undecided.clone())),
    }
}

/// Every claim bears the worker and the turn that made it, and an index that rises.
fn check_fences(held: &[(JobId, Held)], worker: Incarnation, turn: u64) -> Option<String> {
    let tokens: Vec<_> = held.iter().map(|(_, held)| held.fence().token).collect();
    let foreign = tokens.iter().any(|token| token.worker != worker || token.turn != turn);
    let rises = tokens.windows(2).all(|pair| pair[0].index < pair[1].index);
    (foreign || !rises).then(|| format!("claims of turn {turn} are not its own or out of order: {tokens:?}"))
}

/// The name under which the worker listed a claim.
fn listed_name(book: &WorkerBook, listed: &[String], fence: Fence) -> String {
    let found = listed.iter().find(|name| book.held.get(*name).is_some_and(|held| held.fence() == fence));
    found.cloned().unwrap_or_else(|| book.name_of(fence))
}

fn read_identity(worker: &str, args: &mut Args) -> Result<WorkerIdentity, ScriptError> {
    let host = HostId {
        machine: "machine".into(),
        boot: args.text("boot")?.unwrap_or_default(),
        pid_namespace: String::new(),
        pid: args.number("pid")?.unwrap_or(0),
        started: 0,
    };
    Ok(WorkerIdentity {
        name: args.text("name")?.unwrap_or_else(|| worker.to_owned()),
        host,
        build: args.number("build")?.unwrap_or(BUILD),
        queues: args.list("queues").unwrap_or_default(),
        kinds: read_kinds(args)?,
    })
}

/// `claim` alone is `claim=default:10`; `kinds=echo,mail@2,fn@=1+3`, the last in these versions only; `most=5` of all queues;
/// `decisions=512`.
fn read_claim(args: &mut Args) -> Result<Option<Claim>, ScriptError> {
    let queues = match (args.flag("claim"), args.list("claim")) {
        (_, Some(queues)) => queues,
        (true, None) => vec!["default:10".to_owned()],
        (false, None) => return Ok(None),
    };
    let kinds = args.list("kinds").unwrap_or_else(|| vec!["echo".to_owned()]);
    let serves: Arc<[Served]> = kinds.iter().map(|kind| read_served(kind)).collect::<Result<_, _>>()?;
    let most = args.number("most")?.unwrap_or(limits::CLAIM_MAX);
    let decisions_max = args.number("decisions")?.unwrap_or(limits::DECISIONS_MAX);
    let queues = queues.iter().map(|text| {
        let (queue, limit) = text.split_once(':').unwrap_or((text, "10"));
        let limit = limit.parse().map_err(|_| ScriptError::new(format!("{text:?} is not queue:limit")))?;
        Ok(QueueClaim { queue: parsed(Queue::new(queue))?, serves: serves.clone(), limit })
    });
    Ok(Some(Claim { queues: queues.collect::<Result<_, ScriptError>>()?, most, decisions_max }))
}

/// `serves=echo,mail@2`.
fn read_kinds(args: &mut Args) -> Result<BTreeMap<Kind, Versions>, ScriptError> {
    let served = args.list("serves").unwrap_or_default();
    let served = served.iter().map(|kind| read_served(kind)).collect::<Result<Vec<_>, _>>()?;
    Ok(served.into_iter().map(|served| (served.kind, served.versions)).collect())
}

fn read_served(text: &str) -> Result<Served, ScriptError> {
    let (kind, versions) = text.split_once('@').unwrap_or((text, "1"));
    let number = |text: &str| text.parse().map_err(|_| ScriptError::new(format!("{text:?} is no version")));
    let versions = match versions.strip_prefix('=') {
        Some(list) => Versions::Only(list.split('+').map(number).collect::<Result<_, _>>()?),
        None => Versions::UpTo(number(versions)?),
    };
    Ok(Served { kind: parsed(Kind::new(kind))?, versions })
}
