-- Writes a graph that has no nodes yet.
-- ?1 key number, ?2 id bytes, ?3 name text, ?4 rules JSON or NULL, ?5 codec number or NULL, ?6 input bytes or NULL,
-- ?7 created_at µs, ?8 id bytes of the graph that it is a restart of, or NULL.
insert into graph (graph, id, name, rules, codec, input, nodes, edges, created_at, restart_of)
values (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, ?7, ?8)
