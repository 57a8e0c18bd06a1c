-- The tables of version 1. Hot rows (ready, later, running) are narrow and only inserted and deleted;
-- payloads and ended jobs live apart. Times are microseconds since 1970, by towpath.clock().
-- `towpath.` stands for the schema's real name.

create table towpath.meta (
  version int not null,
  floor int not null,
  repaired bigint not null default 0,
  one boolean primary key default true check (one)
);

-- The one clock. Tests replace it; nothing else reads the time.
create function towpath.clock() returns bigint language sql volatile
  as $$ select (extract(epoch from clock_timestamp()) * 1000000)::bigint $$;

-- Stops a statement that has written what it may not. The code is one of this product's own.
create function towpath.must(holds boolean, otherwise text) returns boolean language plpgsql as $towpath$
begin
  if not holds then
    raise exception '%', otherwise using errcode = 'TP001';
  end if;
  return true;
end $towpath$;

-- Keys and orders of arrival. No cache: a cached block would make a later arrival look earlier.
create sequence towpath.key as bigint;

create table towpath.lane (
  lane int generated always as identity primary key,
  queue text collate "C" not null,
  kind text collate "C" not null,
  version int not null,
  unique (queue, kind, version)
);

-- Updated by orders only: edits (input, priority, times) and requeues (input, a deadline that has passed). `parents`: their keys, eight bytes little-endian each, in the order of the edges; empty
-- for a root, null for a lone job and for `end`.
create table towpath.job (
  key bigint primary key,
  enqueued_at bigint not null,
  graph bigint,
  delay_us bigint,
  due_at bigint,
  deadline bigint,
  id uuid not null,
  lane int not null,
  priority smallint not null,
  codec smallint not null,
  input bytea not null,
  rules text,
  tags text,
  headers text,
  parents bytea,
  run boolean check (run),
  constraint job_id unique (id),
  check (parents is null or graph is not null)
);
create index job_run on towpath.job (graph) where run and graph is not null;

create table towpath.ready (
  seq bigint not null,
  job bigint not null,
  lane int not null,
  turnout int not null,
  attempt int not null,
  failures int not null,
  crashes int not null,
  primary key (lane, turnout, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- A row that was never put back has seq = job and is found from the job.
create unique index ready_moved on towpath.ready (job) where seq <> job;

create table towpath.later (
  job bigint primary key,
  due bigint not null,
  lane int not null,
  turnout int not null,
  attempt int not null,
  failures int not null,
  crashes int not null,
  parked boolean not null default false
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index later_due on towpath.later (due, job);

-- decide: 0 with a handler, 1 parents, 2 stopped, 3 deadline, 4 end. `graph` and `id` repeat the job's, so
-- that settling a lone job reads nothing else.
create table towpath.running (
  job bigint primary key,
  worker bigint not null,
  turn bigint not null,
  started_at bigint not null,
  graph bigint,
  idx int not null,
  lane int not null,
  turnout int not null,
  attempt int not null,
  failures int not null,
  crashes int not null,
  decide smallint not null check (decide between 0 and 4),
  id uuid not null,
  cancel text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index running_turn on towpath.running (worker, turn);

create table towpath.blocked (
  job bigint primary key,
  build bigint not null,
  lane int not null,
  turnout int not null,
  attempt int not null,
  failures int not null,
  crashes int not null,
  reason text not null
);

-- Nodes of phase undecided that nobody holds. What is to be decided follows from the node and its graph.
create table towpath.undecided (
  job bigint primary key
);

create table towpath.deadline (
  job bigint primary key,
  at bigint not null
);
create index deadline_at on towpath.deadline (at, job);

-- `branches`: those that a gate chose, as JSON; appends and recounts look them up.
create table towpath.ended (
  job bigint primary key,
  ended_at bigint not null,
  started_at bigint,
  prune_at bigint,
  attempt int not null,
  failures int not null,
  crashes int not null,
  state smallint not null check (state between 0 and 5),
  cause text,
  branches text
);
-- For lists of what did not succeed; a job that did pays nothing for it.
create index ended_other on towpath.ended (state, job) where state <> 0;
create index ended_prune on towpath.ended (prune_at, job) where prune_at is not null;

create table towpath.output (
  job bigint primary key,
  codec smallint not null,
  bytes bytea not null
);

create table towpath.attempt (
  job bigint not null,
  started_at bigint not null,
  ended_at bigint not null,
  attempt int not null,
  outcome smallint not null,
  error text,
  log text,
  primary key (job, attempt)
);

-- How far jobs are, as their handlers say; the newest only. `body` is JSON.
create table towpath.progress (
  job bigint primary key,
  at bigint not null,
  attempt int not null,
  body text not null
) with (fillfactor = 70);

-- Tags of jobs, those that they were given and those that handlers have added. A job without tags pays nothing for it.
create table towpath.tag (
  job bigint not null,
  tag text collate "C" not null,
  primary key (job, tag)
);
create index tag_text on towpath.tag (tag, job);

-- What jobs keep across their attempts: what their steps came to, and how far their cursors are.
create table towpath.mark (
  job bigint not null,
  at bigint not null,
  codec smallint not null,
  name text collate "C" not null,
  bytes bytea not null,
  primary key (job, name)
);

-- Large payloads, where this store is their home. `name` is of a job and a content.
create table towpath.blob (
  name text collate "C" primary key,
  at bigint not null,
  bytes bytea not null
);

-- Of jobs with `run`. `entries` counts those of this chapter; it is updated in place. `keep_id_us` is how long the id stays taken
-- after the end.
create table towpath.run (
  job bigint primary key,
  keep_id_us bigint,
  chapter int not null,
  entries int not null,
  id text collate "C" not null unique,
  paused text,
  origin text
) with (fillfactor = 70);

-- Ids of runs that were pruned and stay taken until a prune forgets them, from `until_at` on.
create table towpath.tombstone (
  ended_at bigint not null,
  until_at bigint not null,
  job uuid not null,
  lane int not null,
  state smallint not null,
  run text collate "C" primary key
);
create index tombstone_until on towpath.tombstone (until_at, run);

create table towpath.entry (
  run bigint not null,
  at bigint not null,
  chapter int not null,
  seq int not null,
  codec smallint not null,
  bytes bytea not null,
  primary key (run, chapter, seq)
);
-- Lines that say that a patch is in: they begin so.
create index entry_patched on towpath.entry (run) where substring(bytes from 1 for 11) = '\x7b2270617463686564223a'::bytea;

-- What runs show to their clients. `name` is empty for what a run publishes; `seq` is 0, but for lines of streams, which count
-- from 1.
create table towpath.shown (
  run bigint not null,
  seq bigint not null,
  at bigint not null,
  codec smallint not null,
  name text collate "C" not null,
  bytes bytea not null,
  primary key (run, name, seq)
);

-- By the id of the run, which need not exist yet: `prune_at` is of one whose run was not there when it came.
create table towpath.arrival (
  seq bigint not null,
  at bigint not null,
  prune_at bigint,
  codec smallint not null,
  run text collate "C" not null,
  name text not null,
  dedup text collate "C",
  bytes bytea not null,
  primary key (run, seq)
);
create unique index arrival_dedup on towpath.arrival (run, dedup) where dedup is not null;
create index arrival_prune on towpath.arrival (prune_at, seq) where prune_at is not null;

create table towpath.graph (
  graph bigint primary key,
  id uuid not null unique,
  name text collate "C" not null,
  rules text,
  codec smallint,
  input bytea,
  nodes int not null,
  edges int not null,
  created_at bigint not null,
  "end" smallint check ("end" between 0 and 2),
  ended_at bigint,
  counts text,
  prune_at bigint,
  undoing smallint check (undoing between 0 and 2),
  undo_rank int,
  committed bigint not null default 0,
  generation int not null default 1,
  rearmed int not null default 0,
  restart_of uuid,
  check (("end" is null) = (ended_at is null))
) with (fillfactor = 70);
create index graph_restarts on towpath.graph (restart_of, graph) where restart_of is not null;
create index graph_named on towpath.graph (name, graph);
create index graph_open on towpath.graph (graph) where "end" is null;
create index graph_other on towpath.graph ("end", graph) where "end" <> 0;
create index graph_prune on towpath.graph (prune_at) where prune_at is not null;

create table towpath.stop (
  graph bigint primary key,
  reason smallint not null,
  at bigint not null,
  actor text not null,
  why text not null,
  due bigint
);
create index stop_due on towpath.stop (due, graph) where due is not null;

-- Of graphs that are being retried, each with a stop. `mode` is JSON; from `due` on, whoever looks carries it on.
create table towpath.retry (
  graph bigint primary key,
  since bigint not null,
  due bigint not null,
  mode text not null
);
create index retry_due on towpath.retry (due, graph);

-- phase: 0 waiting, 1 undecided, 2 released. Counters are updated in place: room for it is left.
create table towpath.node (
  job bigint primary key,
  graph bigint not null,
  cause_rank bigint,
  cause_parent bigint,
  need int not null,
  "left" int not null check ("left" >= 0),
  ok int not null default 0,
  untaken int not null default 0,
  spoiled int not null default 0,
  attempt int not null default 0,
  undone int not null default 0,
  role smallint not null,
  phase smallint not null check (phase between 0 and 2),
  eager boolean not null,
  started boolean not null default false,
  depth int not null,
  guards bigint,
  name text collate "C" not null,
  unique (graph, name)
) with (fillfactor = 70);

-- Undos that nobody has decided about.
create table towpath.undo (
  graph bigint not null,
  job bigint not null,
  rank int not null
);
create unique index undo_place on towpath.undo (graph, rank DESC, job);

-- Only ever read from the parent's side, so there is no index by child.
create table towpath.edge (
  parent bigint not null,
  child bigint not null,
  ord int not null,
  verdicts int not null,
  label text,
  primary key (parent, ord)
);

-- Who has a unique key. `scope` 0: of a kind, 1: of a graph's name. Whether it is still held is seen from its job.
create table towpath.unique_key (
  job bigint not null,
  at bigint not null,
  until_at bigint,
  id uuid not null,
  scope smallint not null check (scope between 0 and 1),
  hold smallint not null check (hold between 0 and 2),
  kind text collate "C" not null,
  key text collate "C" not null,
  primary key (scope, kind, key)
) with (fillfactor = 80);
create index unique_key_job on towpath.unique_key (job);
create index unique_key_until on towpath.unique_key (until_at, scope, kind, key) where until_at is not null;

-- `next` is when to look at it again, `body` all that the core knows of it.
create table towpath.schedule (
  revision bigint not null,
  next bigint,
  name text collate "C" primary key,
  body text not null
) with (fillfactor = 50);
create index schedule_next on towpath.schedule (next, name) where next is not null;

create table towpath.worker (
  worker bigint primary key,
  incarnation uuid not null unique,
  turn bigint not null default 0,
  settled bytea not null default '',
  name text not null,
  machine text not null,
  boot text not null,
  pid_namespace text not null,
  pid bigint not null,
  started bigint not null,
  build bigint not null,
  queues text not null,
  registered_at bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table towpath.lease (
  worker bigint primary key,
  until_at bigint not null,
  wish text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- What was done when, for charts: added up by workers every few seconds, and deleted when it is old.
create table towpath.tally (
  at bigint not null,
  width smallint not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  body text not null,
  primary key (width, at, queue, kind)
) with (fillfactor = 50);

-- Queues that nobody claims from. Read by every turn, so there is nothing in it but while people hold something back.
create table towpath.pause (
  at bigint not null,
  queue text collate "C" primary key,
  actor text not null,
  why text not null
);

create table towpath.audit (
  key bigint primary key,
  at bigint not null,
  actor text not null,
  reason text not null,
  action text not null,
  target text collate "C" not null,
  outcome text not null
);
create index audit_target on towpath.audit (target, key);

-- The advisory lock of a run's id, as its second number; the first is the oid of `run`, so that schemas do not meet. They
-- are few, since a server has room for so many locks only; runs that share one only wait a moment for nothing.
create function towpath.run_lock(id text) returns int language sql immutable
  as $$ select get_byte(sha256(convert_to(id, 'UTF8')), 0) $$;

-- Where each job stands. A `due` that never comes is none. `state` is the place in the core's `State::ALL`.
create view towpath.standing as
select j.key, j.id, j.lane, j.priority, j.graph, j.enqueued_at,
  (case
    when e.job is not null then 4 + e.state
    when r.job is not null then case r.decide when 0 then 3 when 2 then 1 when 3 then 1 else 0 end
    when l.job is not null then 1
    when b.job is not null then 2
    when n.job is null or n.phase = 2 then 1
    else 0
  end)::smallint as state,
  nullif(l.due, 9223372036854775807) as due,
  coalesce(e.attempt, r.attempt, l.attempt, b.attempt, h.attempt, m.attempt, 0) as attempt,
  coalesce(e.failures, r.failures, l.failures, b.failures, h.failures, m.failures, 0) as failures,
  coalesce(e.crashes, r.crashes, l.crashes, b.crashes, h.crashes, m.crashes, 0) as crashes,
  coalesce(e.started_at, case when r.decide = 0 then r.started_at end) as started_at,
  e.ended_at, e.cause, b.reason as blocked, r.cancel, r.decide,
  case when r.decide = 0 then r.worker end as worker, n.name as node, coalesce(l.parked, false) as parked
from towpath.job j
left join towpath.ended e on e.job = j.key
left join towpath.running r on r.job = j.key
left join towpath.later l on l.job = j.key
left join towpath.blocked b on b.job = j.key
left join towpath.ready h on h.lane = j.lane and h.turnout = -j.priority::int and h.seq = j.key
left join towpath.ready m on m.job = j.key and m.seq <> m.job
left join towpath.node n on n.job = j.key and j.graph is not null;
