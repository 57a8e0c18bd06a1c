-- Jobs with tags, newest first. Each job of the first tag is looked at by itself, in the order of the index, until there are
-- enough.
-- $1 to $5 as in job_list, $6 text a tag, $7 text[] all that are asked for, $8 bool runs only, $9 uuid graph (or null), $10 bigint only keys
-- above this.
-- Returns what job_list returns. No locks.
-- Index: tag (tag, job), tag (job, tag), run (job), job (key), ended (job), running (job), later (job), blocked (job), node (job),
-- ready (lane, turnout, seq), ready (job), lane (lane), graph (graph), stop (graph).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at, l.version, s.parked
from towpath.tag x
cross join lateral (
  select y.key, y.id, y.lane, y.priority, y.graph, y.state, y.due, y.attempt, y.failures, y.crashes, y.node,
    y.enqueued_at, y.started_at, y.ended_at, y.parked
  from towpath.standing y where y.key = x.job offset 0
) s
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
where x.tag = $6::text and ($1::bigint is null or x.job < $1::bigint) and x.job > $10::bigint
  and ($3::smallint is null or s.state = $3::smallint)
  and not exists (
    select from unnest($7::text[]) as w(tag)
    where not exists (select from towpath.tag o where o.job = x.job and o.tag = w.tag))
  and (not $8::boolean or exists (select from towpath.run u where u.job = x.job))
  and ($9::uuid is null or g.id = $9::uuid)
  and h.graph is null and l.kind <> concat('towpath', '.end')
  and ($4::text is null or l.queue = $4::text)
  and ($5::text is null or l.kind = $5::text)
order by x.tag desc, x.job desc
limit $2::int
