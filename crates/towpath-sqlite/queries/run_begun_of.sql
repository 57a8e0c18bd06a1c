-- Lists the runs of a graph that have begun and not ended.
-- ?1 graph key, ?2 bits of the role that is spared: numbers.
-- Returns their ids, by job.
-- Index: node (graph, name), run (job), ended (job), running (job).
select u.id
from node n
join run u on u.job = n.job
where n.graph = ?1
    and n.role & ?2 = 0
    and (u.entries > 0 or exists (select 1 from running r where r.job = u.job and r.decide = 0))
    and not exists (select 1 from ended e where e.job = u.job)
order by n.job
