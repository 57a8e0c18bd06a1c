-- Says how a node ended, for the children that it spoiled.
-- ?1 job key number.
-- Returns name, state; one row or none.
-- Index: node (job), ended (job).
select n.name, e.state
from node n
join ended e on e.job = n.job
where n.job = ?1
