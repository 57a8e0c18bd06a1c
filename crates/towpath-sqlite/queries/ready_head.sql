-- Reads the head of a lane, behind a row that was read before.
-- ?1 lane, ?2 turnout, ?3 seq, ?4 most rows: numbers.
-- Returns turnout, seq, job, attempt, failures, crashes, and whether it is for a decision, its graph being stopped (not
-- if it is an undo, or for a failure that the job handles; a run that has begun obeys a cancel or a failure with its handler), by turnout and
-- seq.
-- Index: ready (lane, turnout, seq), job (key), stop (graph), node (job), run (job).
select
    r.turnout, r.seq, r.job, r.attempt, r.failures, r.crashes,
    exists (select 1 from stop)
        and exists (
            select 1
            from job j
            join stop s on s.graph = j.graph
            left join node n on n.job = case when s.reason in (0, 3) then j.key end
            where j.key = r.job
                and ifnull(n.role & case s.reason when 3 then 80 else 16 end, 0) = 0
                and (
                    s.reason not in (0, 3)
                    or not exists (select 1 from run u where u.job = j.key and u.entries > 0)
                )
        )
from ready r
where r.lane = ?1 and (r.turnout, r.seq) > (?2, ?3)
order by r.turnout, r.seq
limit ?4
