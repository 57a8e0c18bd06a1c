-- Writes what the schema says of itself; the sequence begins at 1.
-- ?1 version number, ?2 floor: the oldest binary that it serves.
-- Index: meta (only).
insert into meta (only, version, floor, next) values (1, ?1, ?2, 1)
on conflict (only) do update set version = excluded.version, floor = excluded.floor
