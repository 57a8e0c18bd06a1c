-- Notes what is asked of a worker.
-- ?1 incarnation bytes, ?2 wish JSON.
-- Index: worker (incarnation), lease (worker).
update lease set wish = ?2 where worker = (select worker from worker where incarnation = ?1)
