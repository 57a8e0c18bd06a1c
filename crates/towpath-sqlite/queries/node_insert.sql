-- Writes a node that waits for all its parents.
-- ?1 job key, ?2 graph key: numbers; ?3 name text; ?4 role, ?5 need, ?6 eager (0 or 1), ?7 left, ?8 depth: numbers; ?9 key
-- of what it undoes, number or NULL.
insert into node (job, graph, name, role, need, eager, phase, "left", ok, untaken, spoiled, depth, guards)
values (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, 0, 0, 0, ?8, ?9)
