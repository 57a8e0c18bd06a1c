-- Finds runs by their ids.
-- $1 text[] ids. Returns job (key), in no order. No locks.
-- Index: run (id).
select job from towpath.run where id = any($1::text[])
