-- Renews a worker's lease.
-- ?1 worker key number, ?2 until_at µs.
-- Returns wish, JSON or NULL.
-- Index: lease (worker).
insert into lease (worker, until_at) values (?1, ?2) on conflict (worker) do update set until_at = excluded.until_at
returning wish
