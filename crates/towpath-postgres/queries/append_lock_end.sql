-- Locks the row of a graph's `end` that is with a worker for a decision, behind its node.
-- $1 uuid id of the end's job. Returns nothing of use. Index: job (id), running (job). Locks: that running row, without
-- waiting: a turn that settles it has it already, and waits for the node.
select r.job from towpath.running r
where r.job = (select key from towpath.job where id = $1::uuid)
for update nowait
