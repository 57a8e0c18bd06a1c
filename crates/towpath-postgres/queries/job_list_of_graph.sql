-- Jobs of a graph, newest first.
-- $1 bigint only before this key (null for the start), $2 int limit; $6 uuid graph; filters, null for all: $3 smallint state (place in
-- State::ALL), $4 text queue, $5 text kind; $7 bool runs
-- only; $8 bigint only keys above this.
-- Returns key, id, kind, queue, priority, state, due (us), attempt, failures, crashes, graph (id), node, enqueued_at,
-- started_at, ended_at (us), version, parked, by key, descending. No locks.
-- Index: run (job), job (key), ended (job), running (job), later (job), blocked (job), node (job), node (graph, name), ready (lane, turnout, seq),
-- ready (job), lane (lane), graph (graph), stop (graph).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from towpath.standing s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
-- As an array: joined, all jobs of the store would be looked at from the newest back.
where s.key = any (array(
    select n.job from towpath.node n join towpath.graph o on o.graph = n.graph where o.id = $6::uuid
  ))
  and ($1::bigint is null or s.key < $1::bigint) and s.key > $8::bigint and h.graph is null and l.kind <> concat('towpath', '.end')
  and ($3::smallint is null or s.state = $3::smallint)
  and ($4::text is null or l.queue = $4::text)
  and ($5::text is null or l.kind = $5::text)
  and (not $7::boolean or exists (select from towpath.run u where u.job = s.key))
order by s.key desc
limit $2::int
