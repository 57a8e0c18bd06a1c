-- Gives a free unique key to a job or graph.
-- ?1 scope: 0 a kind's, 1 a graph name's, ?2 kind or name text, ?3 key text, ?4 job or graph key number, ?5 id bytes,
-- ?6 hold code, ?7 at µs, ?8 until_at µs or NULL.
-- Index: unique_key (scope, kind, key).
insert or replace into unique_key (scope, kind, key, job, id, hold, at, until_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
