-- Reads what a worker's next turn is judged by.
-- ?1 incarnation bytes.
-- Returns worker, turn, settled, until_at; one row or none.
-- Index: worker (incarnation), lease (worker).
select w.worker, w.turn, w.settled, l.until_at
from worker w
join lease l on l.worker = w.worker
where w.incarnation = ?1
