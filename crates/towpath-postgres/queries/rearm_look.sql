-- Which nodes may be re-armed: they have ended.
-- $1 bigint[] jobs (keys). Returns job, has_journal (whether it is a run that has begun), is_undo, in no order. No locks.
-- Index: ended (job), run (job), node (job).
select x.job, coalesce(u.entries > 0, false) as has_journal, n.guards is not null as is_undo
from towpath.ended x
join towpath.node n on n.job = x.job
left join towpath.run u on u.job = x.job
where x.job = any($1::bigint[])
