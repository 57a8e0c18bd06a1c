-- Looks at a claim under which a handler says something.
-- ?1 job key number, ?2 worker's incarnation bytes, ?3 turn, ?4 idx: numbers.
-- Returns attempt; no row if the claim is not held by a handler.
-- Index: running (job), worker (incarnation).
select r.attempt
from running r
join worker w on w.worker = r.worker
where r.job = ?1 and r.turn = ?3 and r.idx = ?4 and r.decide = 0 and w.incarnation = ?2
