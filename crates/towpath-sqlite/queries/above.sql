-- Looks at a node on the way up from one of its descendants.
-- ?1 job key number.
-- Returns name, kind, parents (8 bytes each, or NULL); one row.
-- Index: node (job), job (key), lane (lane).
select n.name, l.kind, j.parents
from node n
join job j on j.key = n.job
join lane l on l.lane = j.lane
where n.job = ?1
