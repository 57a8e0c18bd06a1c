-- The tables of a store, version 1. docs/store.md says what each is for.
--
-- Times are microseconds since 1970, ids are 16 bytes. Rows that move (ready, later, running) are few,
-- narrow, and only inserted and deleted; payloads and ended jobs live apart.

-- One row. `next` is the sequence from which keys and arrivals are drawn.
create table meta (
    only integer primary key check (only = 1),
    version integer not null,
    floor integer not null,
    next integer not null,
    repaired integer not null default 0
) strict;

create table lane (
    lane integer primary key,
    queue text not null,
    kind text not null,
    version integer not null,
    unique (queue, kind, version)
) strict;

create table job (
    key integer primary key,
    id blob not null check (length(id) = 16),
    lane integer not null,
    priority integer not null,
    enqueued_at integer not null,
    delay_us integer,
    due_at integer,
    deadline integer,
    rules text,
    tags text,
    headers text,
    codec integer not null,
    graph integer,
    parents blob,
    run integer check (run = 1),
    input blob not null
) strict;
create unique index job_id on job (id);

create table ready (
    lane integer not null,
    turnout integer not null,
    seq integer not null,
    job integer not null,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    primary key (lane, turnout, seq)
) strict, without rowid;
-- A job that was never moved is found by its place; only the others need this.
create index ready_moved on ready (job) where seq <> job;

create table later (
    job integer primary key,
    due integer not null,
    lane integer not null,
    turnout integer not null,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    parked integer not null check (parked between 0 and 1)
) strict;
create index later_due on later (due, job);

create table running (
    job integer primary key,
    worker integer not null,
    turn integer not null,
    idx integer not null,
    decide integer not null check (decide between 0 and 4),
    lane integer not null,
    turnout integer not null,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    started_at integer not null,
    cancel text
) strict;
create unique index running_worker on running (worker, turn, idx);

create table blocked (
    job integer primary key,
    lane integer not null,
    turnout integer not null,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    build integer not null,
    reason text not null
) strict;

-- Nodes to be decided that nobody holds. What is to be decided is seen when one is claimed.
create table undecided (
    job integer primary key
) strict;

create table deadline (
    at integer not null,
    job integer not null,
    primary key (at, job)
) strict, without rowid;

-- `branches` are the labels that a gate chose, as JSON: an append or a recount needs them again.
create table ended (
    job integer primary key,
    state integer not null check (state between 0 and 5),
    cause text,
    branches text,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    started_at integer,
    ended_at integer not null,
    prune_at integer
) strict;
-- For lists of what did not succeed; a job that did pays nothing for it.
create index ended_other on ended (state, job) where state <> 0;
create index ended_prune on ended (prune_at, job) where prune_at is not null;

create table output (
    job integer primary key,
    codec integer not null,
    bytes blob not null
) strict;

create table attempt (
    job integer not null,
    attempt integer not null,
    outcome integer not null,
    started_at integer not null,
    ended_at integer not null,
    error text,
    log text,
    primary key (job, attempt)
) strict, without rowid;

-- How far jobs are, as their handlers say; the newest only. `body` is JSON.
create table progress (
    job integer primary key,
    attempt integer not null,
    at integer not null,
    body text not null
) strict;

-- Tags of jobs, those that they were given and those that handlers have added. A job without tags pays nothing for it.
create table tag (
    job integer not null,
    tag text not null,
    primary key (job, tag)
) strict, without rowid;
create index tag_text on tag (tag, job);

-- What jobs keep across their attempts: what their steps came to, and how far their cursors are.
create table mark (
    job integer not null,
    name text not null,
    codec integer not null,
    at integer not null,
    bytes blob not null,
    primary key (job, name)
) strict, without rowid;

-- Large payloads, where this store is their home. `name` is of a job and a content.
create table blob (
    name text primary key,
    at integer not null,
    bytes blob not null
) strict;

-- Of jobs with `run` 1. `entries` counts those of this chapter; `paused` is the JSON of who has paused it,
-- `origin` that of where it was forked from; `keep_id_us` is how long its id stays taken after its end.
create table run (
    job integer primary key,
    id text not null,
    chapter integer not null,
    entries integer not null,
    paused text,
    origin text,
    keep_id_us integer
) strict;
create unique index run_id on run (id);

-- Ids of runs that were pruned and stay taken until a prune forgets them, from `until_at` on.
create table tombstone (
    run text not null primary key,
    job blob not null check (length(job) = 16),
    lane integer not null,
    state integer not null,
    ended_at integer not null,
    until_at integer not null
) strict, without rowid;
create index tombstone_until on tombstone (until_at, run);

-- An append-only log with a narrow index: faster than keeping the rows in the order of the index.
create table entry (
    run integer not null,
    chapter integer not null,
    seq integer not null,
    codec integer not null,
    at integer not null,
    bytes blob not null
) strict;
create unique index entry_place on entry (run, chapter, seq);
-- Lines that say that a patch is in: they begin so.
create index entry_patched on entry (run) where substr(bytes, 1, 11) = x'7b2270617463686564223a';

-- What runs show to their clients. `name` is empty for what a run publishes; `seq` is 0, but for lines of streams, which count
-- from 1.
create table shown (
    run integer not null,
    name text not null,
    seq integer not null,
    codec integer not null,
    at integer not null,
    bytes blob not null,
    primary key (run, name, seq)
) strict, without rowid;

-- By the id of the run, which need not exist yet: `prune_at` is of one whose run was not there when it came.
create table arrival (
    run text not null,
    seq integer not null,
    name text not null,
    dedup text,
    codec integer not null,
    at integer not null,
    prune_at integer,
    bytes blob not null
) strict;
create unique index arrival_place on arrival (run, seq);
create unique index arrival_dedup on arrival (run, dedup) where dedup is not null;
create index arrival_prune on arrival (prune_at, seq) where prune_at is not null;

create table graph (
    graph integer primary key,
    id blob not null check (length(id) = 16),
    name text not null,
    rules text,
    codec integer,
    input blob,
    nodes integer not null,
    edges integer not null,
    created_at integer not null,
    "end" integer,
    ended_at integer,
    counts text,
    prune_at integer,
    undoing integer,
    undo_rank integer,
    committed integer not null default 0,
    generation integer not null default 1,
    rearmed integer not null default 0,
    restart_of blob check (length(restart_of) = 16)
) strict;
create unique index graph_id on graph (id);
create index graph_restarts on graph (restart_of, graph) where restart_of is not null;
create index graph_named on graph (name, graph);
create index graph_open on graph (graph) where "end" is null;
create index graph_other on graph ("end", graph) where "end" <> 0;
create index graph_prune on graph (prune_at, graph) where prune_at is not null;

create table stop (
    graph integer primary key,
    reason integer not null,
    at integer not null,
    actor text not null,
    why text not null,
    due integer
) strict;

create index stop_due on stop (due, graph) where due is not null;

-- Of graphs that are being retried, each with a stop. `mode` is JSON; from `due` on, whoever looks carries it on.
create table retry (
    graph integer primary key,
    mode text not null,
    since integer not null,
    due integer not null
) strict;
create index retry_due on retry (due, graph);

create table node (
    job integer primary key,
    graph integer not null,
    name text not null,
    role integer not null,
    need integer not null,
    eager integer not null,
    phase integer not null check (phase between 0 and 2),
    "left" integer not null check ("left" >= 0),
    ok integer not null,
    untaken integer not null,
    spoiled integer not null,
    cause_rank integer,
    cause_parent integer,
    depth integer not null,
    guards integer,
    started integer not null default 0 check (started between 0 and 1),
    attempt integer not null default 0,
    undone integer not null default 0
) strict;
create unique index node_name on node (graph, name);

-- Undos that nobody has decided about.
create table undo (
    graph integer not null,
    rank integer not null,
    job integer not null,
    primary key (graph, rank desc, job)
) strict, without rowid;

create table edge (
    parent integer not null,
    ord integer not null,
    child integer not null,
    verdicts integer not null,
    label text,
    primary key (parent, ord)
) strict, without rowid;

-- Who has a unique key. `scope` 0: of a kind, 1: of a graph's name. Whether it is still held is seen from its job.
create table unique_key (
    scope integer not null check (scope between 0 and 1),
    kind text not null,
    key text not null,
    job integer not null,
    id blob not null check (length(id) = 16),
    hold integer not null check (hold between 0 and 2),
    at integer not null,
    until_at integer,
    primary key (scope, kind, key)
) strict, without rowid;
create index unique_key_job on unique_key (job);
create index unique_key_until on unique_key (until_at) where until_at is not null;

-- `next` is when to look at it again, `body` all that the core knows of it.
create table schedule (
    name text not null,
    revision integer not null,
    next integer,
    body text not null,
    primary key (name)
) strict, without rowid;
create index schedule_next on schedule (next, name) where next is not null;

create table worker (
    worker integer primary key,
    incarnation blob not null check (length(incarnation) = 16),
    turn integer not null,
    settled blob not null,
    name text not null,
    machine text not null,
    boot text not null,
    pid_namespace text not null,
    pid integer not null,
    started integer not null,
    build integer not null,
    queues text not null,
    registered_at integer not null
) strict;
create unique index worker_incarnation on worker (incarnation);

-- Apart from `worker`, which a turn writes. `wish`: what an operator has asked of the worker last, JSON.
create table lease (
    worker integer primary key,
    until_at integer not null,
    wish text
) strict;

-- What was done when, for charts: added up by workers every few seconds, and deleted when it is old.
create table tally (
    width integer not null,
    at integer not null,
    queue text not null,
    kind text not null,
    body text not null,
    primary key (width, at, queue, kind)
) strict, without rowid;

-- Queues that nobody claims from.
create table pause (
    queue text primary key,
    at integer not null,
    actor text not null,
    why text not null
) strict, without rowid;

create table audit (
    key integer primary key,
    at integer not null,
    actor text not null,
    reason text not null,
    action text not null,
    target text not null,
    outcome text not null
) strict;
create index audit_target on audit (target, key);

-- A job as people see it. A `due` that never comes is none. `state` is the code of its end, or 10 waiting, 11 ready, 12 blocked, 13 running.
create view job_line as
select
    j.key, j.id, l.kind, l.version, l.queue, j.priority,
    case
        when e.job is not null then e.state
        when r.decide = 0 then 13
        when r.decide in (2, 3) then 11
        when r.decide is not null then 10
        when b.job is not null then 12
        when t.job is not null or q.job is not null or m.job is not null then 11
        else 10
    end as state,
    nullif(t.due, 9223372036854775807) as due,
    coalesce(e.attempt, r.attempt, b.attempt, t.attempt, q.attempt, m.attempt, 0) as attempt,
    coalesce(e.failures, r.failures, b.failures, t.failures, q.failures, m.failures, 0) as failures,
    coalesce(e.crashes, r.crashes, b.crashes, t.crashes, q.crashes, m.crashes, 0) as crashes,
    n.name, n.role, g.id as graph_id, s.reason as stop,
    j.enqueued_at,
    case when e.job is not null then e.started_at when r.decide = 0 then r.started_at end as started_at,
    e.ended_at,
    ifnull(t.parked, 0) as parked
from job j
join lane l on l.lane = j.lane
left join ended e on e.job = j.key
left join running r on r.job = j.key
left join blocked b on b.job = j.key
left join later t on t.job = j.key
left join ready q on q.lane = j.lane and q.turnout = -j.priority and q.seq = j.key
left join ready m on m.job = j.key and m.seq <> m.job
left join node n on n.job = j.key
left join graph g on g.graph = j.graph
left join stop s on s.graph = j.graph;
