//! Answers in one readable form: ids as names, instants as offsets, keys left out, defaults silent.

use std::collections::BTreeMap;

use towpath_core::store::{
    Ancestor, AttemptLine, AuditLine, Census, Claimed, Counters, EdgeLine, Ended, Entry, GraphDetail, GraphLine, Head,
    InboxLine, JobDetail, JobLine, NodeLine, NodeRef, PatchLine, PauseLine, Peer, ProgressLine, QueueLine, RunHead,
    RunLine, Shown, StateCounts, StreamHead, StreamLine, Tombstone, Undecided, Upstream, VersionLine, Versions,
    WorkerLine,
};
use towpath_core::{
    Codec, Count, End, GraphRules, Guarded, JobRules, Kind, NodeCounters, Payload, RetryPolicy, Role, SkipKind, State,
    Timestamp, Undoing, Why,
};

use crate::names::Names;
use crate::span;

/// What it takes to read an answer.
pub(crate) struct Say<'a> {
    /// Names of ids.
    pub(crate) names: &'a Names,
    /// When the script started.
    pub(crate) start: Timestamp,
}

/// A line that grows: words are separated by one space, empty ones are left out.
#[derive(Default)]
pub(crate) struct Line(String);

impl Line {
    /// A line with a first word.
    pub(crate) fn new(word: impl AsRef<str>) -> Self {
        Self::default().word(word)
    }

    /// Adds a word.
    pub(crate) fn word(mut self, word: impl AsRef<str>) -> Self {
        let word = word.as_ref();
        if !word.is_empty() {
            if !self.0.is_empty() {
                self.0.push(' ');
            }
            self.0.push_str(word);
        }
        self
    }

    /// Adds `key=value`.
    pub(crate) fn pair(self, key: &str, value: impl ToString) -> Self {
        self.word(format!("{key}={}", value.to_string()))
    }

    /// Adds `key=value` if there is a value.
    pub(crate) fn maybe(self, key: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.pair(key, value),
            None => self,
        }
    }

    /// Adds `key=value` unless the value is zero.
    pub(crate) fn count(self, key: &str, value: impl Into<u64>) -> Self {
        match value.into() {
            0 => self,
            value => self.pair(key, value),
        }
    }

    /// The line.
    pub(crate) fn end(self) -> String {
        self.0
    }
}

/// A state as one word; the two kinds of skipped differ.
pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Ended(End::Skipped(SkipKind::Untaken)) => "skipped:untaken",
        State::Ended(End::Skipped(SkipKind::Upstream)) => "skipped:upstream",
        other => other.word(),
    }
}

/// A payload as scripts write it; long ones by their size.
pub(crate) fn payload(payload: &Payload) -> String {
    let bytes = &payload.bytes;
    if bytes.len() > 200 {
        return format!("big:{}", bytes.len());
    }
    match payload.codec {
        Codec::Json => String::from_utf8_lossy(bytes).into_owned(),
        _ => format!("raw:{}", String::from_utf8_lossy(bytes)),
    }
}

fn payload_maybe(given: Option<&Payload>) -> Option<String> {
    given.map(payload)
}

fn quoted(text: &str) -> String {
    if text.len() > 200 {
        return format!("big:{}", text.len());
    }
    format!("{text:?}")
}

fn marks(role: Role) -> String {
    let all = [
        (Role::MAY_FAIL, "may_fail"),
        (Role::SPARE, "spare"),
        (Role::AT_LEAST, "at_least"),
        (Role::END, "end"),
        (Role::UNDO, "undo"),
        (Role::GATE, "gate"),
        (Role::HANDLER, "handler"),
    ];
    all.iter().filter(|(mark, _)| role.has(*mark)).map(|(_, word)| *word).collect::<Vec<_>>().join("+")
}

fn counts(counts: &[Count]) -> String {
    let each = counts.iter().map(|count| {
        let marks = marks(count.role);
        let marks = if marks.is_empty() { marks } else { format!("({marks})") };
        format!("{}{marks}:{}", state(State::Ended(count.end)), count.nodes)
    });
    each.collect::<Vec<_>>().join(",")
}

/// The rules that differ from the defaults, jitter left out.
pub(crate) fn rules(line: Line, rules: &JobRules) -> Line {
    let plain = RetryPolicy::default();
    let differs =
        |value: u64, default: u64| (value != default).then(|| span::show(std::time::Duration::from_micros(value)));
    let span_of = |us: Option<u64>| us.map(|us| span::show(std::time::Duration::from_micros(us)));
    line.maybe("attempts", (rules.retry.attempts_max != plain.attempts_max).then_some(rules.retry.attempts_max))
        .maybe("base", differs(rules.retry.base_us, plain.base_us))
        .maybe("cap", differs(rules.retry.cap_us, plain.cap_us))
        .maybe("timeout", span_of(rules.timeout_us))
        .maybe("crash_limit", (rules.crash_limit != JobRules::default().crash_limit).then_some(rules.crash_limit))
        .maybe("keep", span_of(rules.keep_us))
        .maybe("keep_failed", span_of(rules.keep_failed_us))
        .maybe("parent", rules.parent.as_ref().map(|parent| &parent.run))
        .maybe("awaits", rules.parent.as_ref().and_then(|parent| parent.awaits.as_ref()))
}

fn graph_rules(line: Line, rules: &GraphRules) -> Line {
    let span_of = |us: Option<u64>| us.map(|us| span::show(std::time::Duration::from_micros(us)));
    let retry = rules.retry.map(|retry| format!("{},{}", retry.attempts, span::show(retry.delay())));
    line.maybe("keep", span_of(rules.keep_us)).maybe("keep_failed", span_of(rules.keep_failed_us)).maybe("retry", retry)
}

/// How the undos of a graph stand; those that wait by what they guard and its rank.
fn undos(line: Line, undoing: &Undoing) -> Line {
    let waiting = undoing.waiting.iter().map(|guard| {
        let stands = match guard.guarded {
            Guarded::Started => "",
            Guarded::NeverStarted => "(never)",
            Guarded::Committed => "(committed)",
        };
        format!("{}@{}{stands}", guard.node, guard.rank)
    });
    let mut waiting: Vec<String> = waiting.collect();
    if let ([first, .., last], 20..) = (waiting.as_slice(), waiting.len()) {
        waiting = vec![format!("{first}..{last}({})", waiting.len())];
    }
    line.maybe("undoing", undoing.verdict)
        .maybe("rank", undoing.rank)
        .count("running", undoing.running)
        .maybe("undoes", (!waiting.is_empty()).then(|| waiting.join(",")))
}

fn counters(line: Line, counters: Counters) -> Line {
    line.count("attempt", counters.attempt).count("failures", counters.failures).count("crashes", counters.crashes)
}

fn list(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| items.join(","))
}

fn headers(headers: &BTreeMap<String, String>) -> Option<String> {
    (!headers.is_empty()).then(|| headers.iter().map(|(k, v)| format!("{k}:{v}")).collect::<Vec<_>>().join(","))
}

impl Say<'_> {
    pub(crate) fn at(&self, at: Timestamp) -> String {
        span::show_instant(at, self.start)
    }

    fn at_maybe(&self, at: Option<Timestamp>) -> Option<String> {
        at.map(|at| self.at(at))
    }

    /// A job's place, only where it is not the one that its name says.
    fn node(&self, line: Line, job: &str, node: Option<&NodeRef>) -> Line {
        let place = node.map(|n| format!("{}/{}", self.names.of(n.graph), n.name));
        match place {
            Some(place) if place == job => line,
            None if !job.contains('/') => line,
            Some(place) => line.pair("node", place),
            None => line.pair("node", "none"),
        }
    }

    fn head(&self, line: Line, head: &Head) -> Line {
        let job = self.names.of(head.id);
        let kind = kind(&head.kind, head.version);
        let line = counters(line.word(&job).word(kind).word(head.queue.as_str()), head.counters);
        let line = rules(line, &head.rules).maybe("deadline", self.at_maybe(head.deadline));
        self.node(line, &job, head.node.as_ref())
    }

    /// A job that a worker has claimed.
    pub(crate) fn claimed(&self, claimed: &Claimed) -> String {
        let input = (!claimed.input.bytes.is_empty()).then(|| payload(&claimed.input));
        let enqueued = (claimed.enqueued_at != self.start).then(|| self.at(claimed.enqueued_at));
        self.head(Line::new("job"), &claimed.head)
            .maybe("input", input)
            .maybe("headers", headers(&claimed.headers))
            .maybe("enqueued", enqueued)
            .word(claimed.run.as_ref().map_or_else(String::new, run))
            .end()
    }

    /// A line of a run's journal.
    pub(crate) fn entry(&self, entry: &Entry) -> String {
        Line::new(entry.seq.to_string()).word(payload(&entry.payload)).pair("at", self.at(entry.at)).end()
    }

    /// A line of a run's inbox.
    pub(crate) fn inbox_line(&self, line: &InboxLine) -> String {
        Line::new(line.name.as_str()).word(payload(&line.payload)).pair("at", self.at(line.at)).end()
    }

    /// What a run shows.
    pub(crate) fn shown(&self, shown: &Shown) -> String {
        Line::new("shows").word(payload(&shown.payload)).pair("at", self.at(shown.at)).end()
    }

    /// Open work of a version.
    pub(crate) fn version(&self, line: &VersionLine) -> String {
        Line::new("version")
            .word(format!("{}@{}", line.kind, line.version))
            .pair("open", line.open)
            .pair("runs", line.runs)
            .pair("oldest", self.at(line.oldest))
            .end()
    }

    pub(crate) fn patch(&self, line: &PatchLine) -> String {
        Line::new("patch")
            .word(format!("{}@{} {}", line.kind, line.version, line.patch))
            .pair("runs", line.runs)
            .pair("first", self.at(line.first))
            .pair("others", line.others)
            .maybe("oldest", line.oldest_other.map(|at| self.at(at)))
            .end()
    }

    /// A line of a stream.
    pub(crate) fn stream_line(&self, line: &StreamLine) -> String {
        Line::new("line").word(line.number.to_string()).word(payload(&line.payload)).pair("at", self.at(line.at)).end()
    }

    pub(crate) fn tombstone(&self, left: &Tombstone) -> String {
        Line::new("tombstone")
            .word(left.run.as_str())
            .pair("job", self.names.of(left.job))
            .pair("kind", &left.kind)
            .pair("version", left.version)
            .word(State::Ended(left.end).to_string())
            .pair("ended", self.at(left.ended_at))
            .pair("until", self.at(left.until))
            .end()
    }

    pub(crate) fn stream_head(&self, head: &StreamHead) -> String {
        Line::new("stream").word(&head.name).pair("lines", head.lines).pair("at", self.at(head.at)).end()
    }

    /// A job that a worker has rescued.
    pub(crate) fn rescued(&self, head: &Head) -> String {
        self.head(Line::new("rescued"), head).end()
    }

    /// A job that came for a decision.
    pub(crate) fn undecided(&self, undecided: &Undecided) -> String {
        let job = self.names.of(undecided.id);
        let line = counters(Line::new("decision").word(&job), undecided.counters);
        let line = self.node(rules(line, &undecided.rules), &job, undecided.node.as_ref());
        match &undecided.why {
            Why::Parents { ok, untaken, spoiled, need, cause } => line
                .word("parents")
                .count("ok", *ok)
                .count("untaken", *untaken)
                .count("spoiled", *spoiled)
                .pair("need", need)
                .word(cause.as_ref().map_or_else(
                    || "nobody to blame".into(),
                    |c| format!("because {} is {}", c.node, state(State::Ended(c.end))),
                ))
                .end(),
            Why::Stopped { reason } => line.word(format!("stopped to {reason}")).end(),
            Why::Deadline => line.word("overdue").end(),
            Why::End { counts: ended, rules, undoing, tries } => {
                let line = undos(graph_rules(line.word(counts(ended)), rules), undoing);
                let line = line.maybe("generation", tries.map(|tries| tries.generation));
                let line = line.maybe("stop", tries.and_then(|tries| tries.stop));
                line.word(if tries.is_some_and(|tries| tries.is_barred) { "barred" } else { "" }).end()
            }
        }
    }

    /// A job in a list.
    pub(crate) fn job(&self, job: &JobLine) -> String {
        let name = self.names.of(job.id);
        let line = Line::new(&name).word(state(job.state)).word(kind(&job.kind, job.version)).word(job.queue.as_str());
        let line = line.maybe("priority", (job.priority != 0).then_some(job.priority));
        let line = counters(line, job.counters)
            .maybe("due", self.at_maybe(job.due))
            .word(if job.parked { "parked" } else { "" })
            .maybe("started", self.at_maybe(job.started_at))
            .maybe("ended", self.at_maybe(job.ended_at));
        self.node(line, &name, job.node.as_ref()).end()
    }

    /// A job with everything about it.
    pub(crate) fn detail(&self, job: &JobDetail) -> Vec<String> {
        let about = Line::new(" ").pair("enqueued", self.at(job.line.enqueued_at));
        let about = about.maybe("input", (!job.input.bytes.is_empty()).then(|| payload(&job.input)));
        let about = rules(about, &job.rules)
            .maybe("deadline", self.at_maybe(job.deadline))
            .maybe("tags", list(&job.tags))
            .maybe("progress", job.progress.as_ref().map(|line| self.progress(line)))
            .maybe("headers", headers(&job.headers));
        let stands = Line::new(" ")
            .maybe("output", payload_maybe(job.output.as_ref()))
            .maybe("worker", job.worker.map(|w| self.names.of(w)))
            .maybe("blocked", job.blocked.as_deref().map(quoted))
            .maybe("cause", job.cause.as_ref().map(|c| quoted(&c.to_string())))
            .maybe("cancel", job.cancel.as_ref().map(|c| quoted(&c.to_string())))
            .word(job.run.as_ref().map_or_else(String::new, run_line))
            .end();
        let mut lines = vec![self.job(&job.line), about.end()];
        if stands.trim() != "" {
            lines.push(stands);
        }
        lines
    }

    fn progress(&self, line: &ProgressLine) -> String {
        quoted(&format!("{}, attempt {}, {}", line.progress, line.attempt, self.at(line.at)))
    }

    /// An attempt that is kept.
    pub(crate) fn attempt(&self, attempt: &AttemptLine) -> String {
        Line::new(attempt.attempt.to_string())
            .word(attempt.outcome.word())
            .pair("started", self.at(attempt.started_at))
            .pair("ended", self.at(attempt.ended_at))
            .maybe("error", attempt.error.as_deref().map(|error| quoted(&self.names.within(error))))
            .maybe("log", attempt.log.as_deref().map(quoted))
            .end()
    }

    /// A graph in a list.
    pub(crate) fn graph(&self, graph: &GraphLine) -> String {
        let id = self.names.of(graph.id);
        let end = graph.end.map_or_else(|| "open".to_owned(), |end| end.to_string());
        Line::new(&id)
            .word(end)
            .pair("nodes", graph.nodes)
            .maybe("name", (graph.name.as_str() != id).then_some(&graph.name))
            .maybe("stop", graph.stop)
            .maybe("compensation", graph.compensation)
            .maybe("generation", (graph.generation != 1).then_some(graph.generation))
            .maybe("restart_of", graph.restart_of.map(|of| self.names.of(of)))
            .pair("created", self.at(graph.created_at))
            .maybe("ended", self.at_maybe(graph.ended_at))
            .end()
    }

    /// A graph with its nodes and edges.
    pub(crate) fn graph_detail(&self, graph: &GraphDetail) -> Vec<String> {
        let mut lines = vec![self.graph(&graph.line)];
        lines.extend(graph.input.as_ref().map(|input| format!("  input={}", payload(input))));
        lines.extend(graph.stopped.iter().map(|stop| {
            let line =
                Line::new("  stopped").word(stop.reason.to_string()).word(&stop.actor).pair("at", self.at(stop.at));
            let line = line.maybe("due", self.at_maybe(stop.due));
            line.maybe("why", (!stop.why.is_empty()).then(|| quoted(&stop.why))).end()
        }));
        lines.extend(graph.rules.retry.map(|_| graph_rules(Line::new(" "), &graph.rules).end()));
        lines.extend(graph.restarts.iter().map(|restart| format!("  restarted as {}", self.names.of(*restart))));
        lines.extend(graph.nodes.iter().map(|node| self.node_line(&graph.line, node)));
        lines.extend(graph.edges.iter().map(|edge| format!("  {}", edge_line(edge))));
        lines
    }

    fn node_line(&self, graph: &GraphLine, node: &NodeLine) -> String {
        let job = self.names.of(node.job);
        let expected = format!("{}/{}", self.names.of(graph.id), node.name);
        let roles = marks(node.role);
        let line = Line::new(" ").word(node.name.as_str()).word(state(node.state));
        let line = line.word(if roles.is_empty() { roles } else { format!("[{roles}]") });
        let line = line.maybe("job", (job != expected).then_some(job));
        let line = line
            .maybe("kind", (node.kind.as_str() != "echo").then_some(&node.kind))
            .maybe("queue", (node.queue.as_str() != "default").then_some(&node.queue));
        let line = line.maybe("undoes", node.guards.as_ref());
        let line = parents(line, &node.parents);
        counters(line, node.counters)
            .maybe("due", self.at_maybe(node.due))
            .word(if node.parked { "parked" } else { "" })
            .maybe("enqueued", (node.enqueued_at != graph.created_at).then(|| self.at(node.enqueued_at)))
            .maybe("started", self.at_maybe(node.started_at))
            .maybe("ended", self.at_maybe(node.ended_at))
            .maybe("cause", node.cause.as_ref().map(|c| quoted(&c.to_string())))
            .end()
    }

    /// A direct parent as its child sees it.
    pub(crate) fn upstream(&self, parent: &Upstream) -> String {
        Line::new(parent.node.as_str())
            .word(state(parent.state))
            .maybe("output", payload_maybe(parent.output.as_ref()))
            .maybe("error", parent.error.as_deref().map(quoted))
            .end()
    }

    /// A node above another one.
    pub(crate) fn ancestor(&self, found: &Ancestor) -> String {
        format!("{} of kind {}", self.upstream(&found.upstream), found.kind)
    }

    /// How a job ended.
    pub(crate) fn ended(&self, ended: &Ended) -> String {
        Line::new(self.names.of(ended.id))
            .word(state(ended.state))
            .pair("ended", self.at(ended.ended_at))
            .maybe("cause", ended.cause.as_ref().map(|c| quoted(&c.to_string())))
            .maybe("output", payload_maybe(ended.output.as_ref()))
            .maybe("error", ended.error.as_deref().map(quoted))
            .end()
    }

    /// A worker.
    pub(crate) fn worker(&self, worker: &WorkerLine) -> String {
        let id = self.names.of(worker.worker);
        let kinds: Vec<String> = worker.kinds.iter().map(|(kind, of)| format!("{kind}@{}", versions(of))).collect();
        Line::new(&id)
            .maybe("name", (worker.name != id).then_some(&worker.name))
            .maybe("queues", list(&worker.queues))
            .maybe("serves", list(&kinds))
            .count("running", worker.running)
            .pair("registered", self.at(worker.started_at))
            .pair("lease", self.at(worker.lease_until))
            .maybe("asked", worker.wish.as_ref().map(|line| format!("{}@{}", line.wish.word(), self.at(line.at))))
            .end()
    }

    /// A worker as its peers see it.
    pub(crate) fn peer(&self, peer: &Peer) -> String {
        Line::new(self.names.of(peer.worker))
            .pair("lease", self.at(peer.lease_until))
            .maybe("pid", (peer.host.pid != 0).then_some(peer.host.pid))
            .maybe("boot", (!peer.host.boot.is_empty()).then_some(&peer.host.boot))
            .end()
    }

    /// Something that an operator did.
    pub(crate) fn audit(&self, line: &AuditLine) -> String {
        Line::new(self.at(line.at))
            .word(&line.actor)
            .word(&line.action)
            .word(self.names.within(&line.target))
            .word(format!("-> {}", self.names.within(&line.outcome)))
            .word(if line.reason.is_empty() { String::new() } else { format!("({})", line.reason) })
            .end()
    }
}

/// What a worker is told of a run; its first chapter is not shown.
fn run(run: &RunHead) -> String {
    Line::default()
        .pair("run", &run.id)
        .maybe("chapter", (run.chapter != 1).then_some(run.chapter))
        .count("entries", run.entries)
        .maybe("paused", run.paused.then_some("yes"))
        .end()
}

fn parents(line: Line, counters: &NodeCounters) -> Line {
    let fault = counters.cause.map(|rank| {
        let ord = rank.stored() & i64::from(u32::MAX);
        if rank.stored() >> 32 == 0 { format!("spoil#{ord}") } else { format!("untaken#{ord}") }
    });
    line.count("left", counters.left)
        .count("ok", counters.ok)
        .count("untaken", counters.untaken)
        .count("spoiled", counters.spoiled)
        .count("need", counters.need)
        .word(if counters.eager { "eager" } else { "" })
        .maybe("fault", fault)
}

fn edge_line(edge: &EdgeLine) -> String {
    let condition = match edge.condition() {
        Some(condition) if condition.table() == edge.verdicts => condition.to_string(),
        _ => format!("{:?}", edge.verdicts),
    };
    format!("{} -> {} {condition}", edge.parent, edge.child)
}

/// A queue.
pub(crate) fn queue(queue: &QueueLine, start: Timestamp) -> String {
    let line = Line::new(queue.queue.as_str())
        .count("ready", queue.ready)
        .count("later", queue.later)
        .count("running", queue.running)
        .count("blocked", queue.blocked)
        .end();
    match &queue.paused {
        None => line,
        Some(PauseLine { at, actor, why }) => {
            format!("{line} paused={} by={actor} why={why:?}", span::show_instant(*at, start))
        }
    }
}

/// Jobs by state, what there is none of left out.
pub(crate) fn state_counts(counts: &StateCounts) -> String {
    Line::default()
        .count("ready", counts.ready)
        .count("later", counts.later)
        .count("running", counts.running)
        .count("blocked", counts.blocked)
        .count("dead", counts.dead)
        .count("quarantined", counts.quarantined)
        .count("cancelled", counts.cancelled)
        .count("skipped", counts.skipped)
        .count("open-graphs", counts.open_graphs)
        .end()
}

/// Rows by table, empty tables left out.
pub(crate) fn census(census: &Census) -> String {
    let line = Line::default()
        .count("jobs", census.jobs)
        .count("ready", census.ready)
        .count("later", census.later)
        .count("running", census.running)
        .count("blocked", census.blocked)
        .count("undecided", census.undecided)
        .count("ended", census.ended)
        .count("graphs", census.graphs)
        .count("nodes", census.nodes)
        .count("edges", census.edges)
        .count("stops", census.stops)
        .count("attempts", census.attempts)
        .count("outputs", census.outputs)
        .count("deadlines", census.deadlines)
        .count("workers", census.workers)
        .count("leases", census.leases)
        .count("runs", census.runs)
        .count("entries", census.entries)
        .count("arrivals", census.arrivals)
        .count("undos", census.undos)
        .count("keys", census.keys)
        .count("shown", census.shown)
        .count("tombstones", census.tombstones)
        .count("notes", census.notes)
        .end();
    if line.is_empty() { "nothing".into() } else { line }
}

/// Writes runs of lines about numbered jobs as one: `n1..n512 done`.
pub(crate) fn fold(lines: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let run = run_length(&lines[at..]);
        if run >= 3
            && let (Some(first), Some(last)) = (numbered(&lines[at]), numbered(&lines[at + run - 1]))
        {
            out.push(format!("{}{}..{}{}", first.before, first.number, last.number, first.after));
            at += run;
        } else {
            out.push(lines[at].clone());
            at += 1;
        }
    }
    out
}

/// A line around the number of its first word that ends in one.
struct Numbered<'a> {
    before: &'a str,
    number: u64,
    after: &'a str,
}

fn numbered(line: &str) -> Option<Numbered<'_>> {
    let mut from = 0;
    for word in line.split(' ') {
        let digits = word.bytes().rev().take_while(u8::is_ascii_digit).count();
        let letters = &word[..word.len() - digits];
        let end = from + word.len();
        let is_name = letters.ends_with(|c: char| c.is_ascii_alphabetic()) && !letters.contains('=');
        if digits > 0 && is_name {
            let number = line[end - digits..end].parse().ok()?;
            return Some(Numbered { before: &line[..end - digits], number, after: &line[end..] });
        }
        from = end + 1;
    }
    None
}

fn run_length(lines: &[String]) -> usize {
    let Some(first) = numbered(&lines[0]) else { return 1 };
    let same = |at: usize| {
        lines.get(at).and_then(|line| numbered(line)).is_some_and(|next| {
            next.before == first.before && next.after == first.after && next.number == first.number + at as u64
        })
    };
    (1..lines.len()).take_while(|at| same(*at)).count() + 1
}

/// As a script asks for them.
fn versions(versions: &Versions) -> String {
    match versions {
        Versions::UpTo(newest) => newest.to_string(),
        Versions::Only(list) => format!("={}", list.iter().map(u16::to_string).collect::<Vec<_>>().join("+")),
    }
}

/// A kind with its version, unless that is the first.
fn kind(kind: &Kind, version: u16) -> String {
    if version == 1 { kind.to_string() } else { format!("{kind}@{version}") }
}

/// A run's journal and inbox.
fn run_line(run: &RunLine) -> String {
    Line::default()
        .pair("run", &run.id)
        .maybe("chapter", (run.chapter != 1).then_some(run.chapter))
        .count("entries", run.entries)
        .count("arrived", run.arrived)
        .maybe("paused-by", run.paused.as_ref().map(|pause| &pause.actor))
        .maybe(
            "forked-from",
            run.origin.as_ref().map(|origin| format!("{}/{}/{}", origin.run, origin.chapter, origin.at)),
        )
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbered_lines_fold() {
        let lines = [
            "n1 done",
            "n2 done",
            "n3 done",
            "x done",
            "n5 done",
            "decision g/n7 q",
            "decision g/n8 q",
            "decision g/n9 q",
        ];
        let folded = fold(lines.iter().map(|l| (*l).to_owned()).collect());
        assert_eq!(folded, ["n1..3 done", "x done", "n5 done", "decision g/n7..9 q"]);
    }
}
