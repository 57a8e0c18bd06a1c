-- Locks the row of a graph's `end` that waits for a decision, before its nodes.
-- $1 uuid id of the end's job. Returns nothing of use. Locks: that running row.
-- Index: job (id), running (job).
select r.job from towpath.running r
where r.job = (select key from towpath.job where id = $1::uuid)
for update
