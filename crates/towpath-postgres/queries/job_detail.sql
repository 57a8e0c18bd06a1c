-- One job with everything about it.
-- $1 uuid id. Returns what `job_list` returns, then codec, input, rules, deadline (us), tags, headers, cause,
-- output_codec, output, blocked, worker (incarnation), cancel, run (id),
-- chapter, entries, arrived (count), paused (JSON), origin (JSON), progress (JSON) with its attempt and at (us), tags_now (all that it has, by their text). No locks.
-- Index: job (id), ended (job), running (job), later (job), blocked (job), ready (lane, turnout, seq), ready (job),
-- node (job), job (key), lane (lane), graph (graph), stop (graph), output (job), worker (worker), run (job),
-- arrival (run, seq), progress (job), tag (job, tag).
select s.key, s.id, l.kind, l.queue, s.priority, s.state, s.due, s.attempt, s.failures, s.crashes, g.id as graph, s.node,
  s.enqueued_at, s.started_at, s.ended_at,
  l.version, s.parked, j.codec, j.input, j.rules, j.deadline, j.tags, j.headers, s.cause, o.codec as output_codec,
  o.bytes as output, s.blocked, w.incarnation as worker, s.cancel,
  u.id as run, u.chapter, u.entries, (select count(*) from towpath.arrival a where a.run = u.id) as arrived,
  u.paused, u.origin, p.body as progress, p.attempt as progress_attempt, p.at as progress_at,
  array(select t.tag from towpath.tag t where t.job = s.key order by t.tag) as tags_now
from towpath.standing s
join towpath.job j on j.key = s.key
join towpath.lane l on l.lane = s.lane
left join towpath.graph g on g.graph = s.graph
left join towpath.stop h on h.graph = s.graph and h.reason = 2
left join towpath.output o on o.job = s.key
left join towpath.worker w on w.worker = s.worker
left join towpath.progress p on p.job = s.key
left join towpath.run u on u.job = case when j.run then j.key end
where s.id = $1::uuid and h.graph is null
