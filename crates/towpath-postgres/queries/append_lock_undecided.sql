-- Locks the row of a graph's `end` that waits for somebody to decide it, waiting for whoever is taking it.
-- $1 uuid id of the end's job. Returns nothing of use. Locks: that row.
-- Index: job (id), undecided (job).
select job from towpath.undecided
where job = (select key from towpath.job where id = $1::uuid)
for update
