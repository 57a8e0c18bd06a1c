-- Changes the counters of runs that stay with their worker.
-- One array element per run: $1 bigint[] jobs, $2 int[] attempts, $3 int[] failures, $4 int[] crashes.
-- Returns nothing. Locks: those rows, which the turn has locked.
-- Index: running (job).
update towpath.running r set attempt = s.attempt, failures = s.failures, crashes = s.crashes
from unnest($1::bigint[], $2::int[], $3::int[], $4::int[]) as s(job, attempt, failures, crashes)
where r.job = s.job
