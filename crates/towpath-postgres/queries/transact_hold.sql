-- Holds the claim of a run while statements of its application run.
-- $1 bigint job (key), $2 uuid incarnation, $3 bigint turn, $4 int index.
-- Returns chapter, entries, now (us), attempt, failures, crashes, whether it is paused; no row if the claim is not held.
-- Locks: the running row, shared, until the transaction ends: nobody else can take or end the run meanwhile.
-- Index: running (job), worker (incarnation), run (job).
select u.chapter, u.entries, towpath.clock() as now, r.attempt, r.failures, r.crashes, u.paused is not null as paused
from towpath.running r
join towpath.worker w on w.worker = r.worker
join towpath.run u on u.job = r.job
where r.job = $1::bigint and r.turn = $3::bigint and r.idx = $4::int and r.decide = 0 and w.incarnation = $2::uuid
for share of r
