-- Lists what a job keeps across its attempts.
-- $1 uuid id. Returns name, codec, bytes, at (us), by name. No locks.
-- Index: job (id), stop (graph), mark (job, name).
select m.name, m.codec, m.bytes, m.at
from towpath.job j
join towpath.mark m on m.job = j.key
where j.id = $1::uuid and not exists (select from towpath.stop s where s.graph = j.graph and s.reason = 2)
order by m.name
