-- Holds the claims under which handlers say something.
-- One array element per claim, none twice: $1 bigint[] jobs (keys), $2 uuid[] incarnations, $3 bigint[] turns, $4 int[] index.
-- Returns job, attempt, incarnation, turn, index of each claim that is held by a handler, by job.
-- Locks: the running rows, shared, until the transaction ends: nobody ends or takes those jobs meanwhile.
-- Index: running (job), worker (incarnation).
select r.job, r.attempt, i.incarnation, i.turn, i.idx
from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::int[]) as i(job, incarnation, turn, idx)
join towpath.running r on r.job = i.job and r.turn = i.turn and r.idx = i.idx and r.decide = 0
join towpath.worker w on w.worker = r.worker and w.incarnation = i.incarnation
order by r.job
for share of r
